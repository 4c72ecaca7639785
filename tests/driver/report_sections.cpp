// What sections of reports are computed from: networks on a grid, energies on a grid, the clock of
// a run that was killed, and what is said of draws.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "driver/report/energy_grid.hpp"
#include "driver/report/learned_grid.hpp"
#include "driver/report/verdict.hpp"

using namespace whorl;
using namespace whorl::driver;
using namespace whorl::driver::report;

namespace {

// Q = relu(u) + 1/2 and D = softplus(p - g), one hidden unit each.
SamplerFile simple_sampler() {
  LearnedSampler sampler;
  sampler.curl.hidden = {1};
  sampler.curl.inputs.resize(2);
  sampler.curl.weights = {1, 0, 0, 1, 0.5};
  sampler.diffusion.hidden = {2};
  sampler.diffusion.inputs.resize(3);
  // p - g = relu(p - g) - relu(g - p)
  sampler.diffusion.weights = {0, 1, -1, 0, -1, 1, 0, 0, 1, -1, 0};
  sampler.diffusion.transform = Transform::softplus;
  SamplerFile file;
  file.name = "simple";
  file.learned = sampler;
  return file;
}

RunRecord simple_run() {
  RunRecord record;
  record.directory = "run";
  record.experiment.run.step_size.emplace().constant = 0.1;
  record.experiment.samplers = {{"sampler.pbtxt"}};
  record.sampler = simple_sampler();
  for (int i = -50; i <= 50; ++i)
    record.metrics.push_back({{"step", 100.0 * (i + 51)}, {"energy", 0.04 * i}});
  return record;
}

RunEvent event(const char* kind, double step, double seconds) {
  return {kind, {}, {{"step", step}, {"seconds", seconds}}};
}

// One number with these qualities.
DrawsQuality quality_of(double rhat, double bulk, double tail) {
  DrawsQuality quality;
  quality.chains = 4;
  quality.draws = 1000;
  quality.numbers = 1;
  JudgedNumber number{"w", DrawnNumber{0, 0}, {}};
  number.summary.rhat = rhat;
  number.summary.ess_bulk = bulk;
  number.summary.ess_tail = tail;
  quality.judged.push_back(number);
  return quality;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report_sections)

BOOST_AUTO_TEST_CASE(networks_are_evaluated_by_the_samplers_own_graph) {
  const RunRecord record = simple_run();
  RunView view;
  view.record = &record;
  const LearnedGrid grids = learned_grid(view);
  BOOST_TEST(grids.curl.x.low == -2, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(grids.curl.x.high == 2, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(grids.ranges.find("seen on the way") != std::string::npos);
  const std::vector<report::Point> points = grids.curl.points();
  for (std::size_t i = 0; i < points.size(); i += 97) {
    BOOST_TEST(grids.curl.values[i] == std::max(points[i].x, 0.0) + 0.5,
               boost::test_tools::tolerance(1e-9));
    BOOST_TEST(grids.diffusion.values[i] == std::log1p(std::exp(points[i].y)),
               boost::test_tools::tolerance(1e-6));
  }
  const std::vector<report::Point> others = grids.diffusion_by_gradient.points();
  for (std::size_t i = 0; i < others.size(); i += 97)
    BOOST_TEST(
        grids.diffusion_by_gradient.values[i] == std::log1p(std::exp(others[i].x - others[i].y)),
        boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(an_energy_on_a_grid_is_that_of_its_graph) {
  TargetSettings settings;
  settings.graph = std::string(WHORL_SOURCE_DIR) + "/graphs/energies/banana.pbtxt";
  const Target target = load_target(settings, {}, 1 << 30);
  const Grid grid = energy_grid(target, {-4, 4}, {-3, 5}, 2);
  const std::vector<report::Point> points = grid.points();
  BOOST_REQUIRE(grid.values.size() == points.size());
  for (std::size_t i = 0; i < points.size(); i += 101) {
    const double x = points[i].x, across = points[i].y - (x * x - 4) / 4;
    BOOST_TEST(grid.values[i] == -(x * x / 8 + across * across / 2),
               boost::test_tools::tolerance(1e-4));
  }
}

BOOST_AUTO_TEST_CASE(a_plane_of_a_gaussian_has_the_law_of_two_coordinates) {
  const std::vector<double> mean{0, 1, 2}, covariance{2, 0.5, 0.3, 0.5, 1, 0.2, 0.3, 0.2, 3};
  const Grid grid = gaussian_grid(Gaussian(mean, covariance), 0, 2, {-3, 3}, {-1, 5});
  // At the mean plus a vector along the first coordinate: half of its square over the variance,
  // less what the second one explains.
  const auto value = [&](double u, double v) {
    const double d = 2 * 3 - 0.3 * 0.3;
    return -(3 * u * u - 2 * 0.3 * u * v + 2 * v * v) / (2 * d);
  };
  const std::vector<report::Point> points = grid.points();
  for (std::size_t i = 0; i < points.size(); i += 101)
    BOOST_TEST(grid.values[i] == value(points[i].x, points[i].y - 2),
               boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(steps_that_were_made_again_have_their_later_time) {
  RunRecord record;
  RunView view;
  view.record = &record;
  BOOST_TEST(view.clock().empty());
  record.events = {event("begin", 0, 0),    event("progress", 100, 1), event("progress", 200, 2),
                   event("resume", 100, 2), event("progress", 200, 3), event("end", 300, 4)};
  const auto clock = view.clock();
  BOOST_REQUIRE(clock.size() == 4U);
  BOOST_TEST(clock[1].first == 100);
  BOOST_TEST(clock[1].second == 2);
  BOOST_TEST(clock[2].second == 3);
  BOOST_TEST(clock[3].second == 4);
}

BOOST_AUTO_TEST_CASE(fluctuating_quantities_are_averaged_after_burn_in) {
  RunRecord record;
  record.experiment.run.burn_in = 200;
  record.metrics = {{{"step", 100}, {"energy", 1000}, {"kl", 5}},
                    {{"step", 300}, {"energy", 10}, {"kl", 2}},
                    {{"step", 400}, {"energy", 20}, {"kl", 1}}};
  RunView view;
  view.record = &record;
  BOOST_TEST(view.final_value("energy") == 15);
  BOOST_TEST(view.final_value("kl") == 1);
  BOOST_TEST(std::isnan(view.final_value("none")));
}

BOOST_AUTO_TEST_CASE(verdicts_are_as_good_as_the_worst_number) {
  RunRecord record;
  record.experiment.samplers = {{"sghmc"}};
  record.experiment.run.burn_in = 100;
  RunView view;
  view.record = &record;
  const auto judged = [&](double rhat, double bulk, double tail) {
    view.quality = quality_of(rhat, bulk, tail);
    return judge(view);
  };
  BOOST_TEST(judged(1.002, 900, 800).head == "converged");
  BOOST_CHECK(judged(1.002, 900, 800).mood == Verdict::Mood::good);
  BOOST_TEST(judged(1.0104, 900, 800).head == "not converged");
  BOOST_TEST(judged(1.0104, 900, 800).sentence.find("worst R-hat 1.0104 (w)") != std::string::npos);
  BOOST_TEST(judged(1.002, 99, 800).head == "not converged");
  BOOST_TEST(judged(1.002, 900, 99).head == "not converged");
  BOOST_TEST(judged(1.002, 900, std::nan("")).head == "converged");  // a discrete number
  const Verdict still = judged(std::nan(""), std::nan(""), std::nan(""));
  BOOST_CHECK(still.mood == Verdict::Mood::bad);
  BOOST_TEST(still.sentence.find("w never moved") != std::string::npos);

  view.quality = quality_of(1.002, 900, 800);
  view.quality->temperatures.configurational = temperature_of(std::vector{1.5, 1.5, 1.5, 1.5});
  BOOST_CHECK(judge(view).mood == Verdict::Mood::caution);
  BOOST_TEST(judge(view).head == "converged, but at a wrong temperature");
  view.quality = quality_of(1.002, 900, 800);
  view.quality->lost = 1;
  BOOST_TEST(judge(view).sentence.find("1 of 4 chains diverged and are left out") !=
             std::string::npos);
  record.experiment.samplers = {{"adam"}};
  BOOST_TEST(judge(view).head.starts_with("an optimiser"));
}

BOOST_AUTO_TEST_SUITE_END()
