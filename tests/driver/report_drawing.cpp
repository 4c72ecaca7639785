// The drawings of reports: numbers, scales, curves and contours, and what is never in them.
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <sstream>

#include "driver/report/bar_chart.hpp"
#include "driver/report/contour_chart.hpp"
#include "driver/report/decimate.hpp"
#include "driver/report/labels.hpp"
#include "driver/report/line_chart.hpp"
#include "driver/report/numbers.hpp"

using namespace whorl::driver::report;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

boost::property_tree::ptree parsed(const std::string& markup) {
  std::istringstream stream(markup);
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(stream, tree);
  return tree;
}

// Well-formed, and no number in it that is none.
void check_drawing(const std::string& svg) {
  BOOST_CHECK_NO_THROW(parsed(svg));
  for (const char* word : {"\"nan", " nan", "Mnan", "Lnan", "\"inf", " inf", "-inf", "e+"})
    BOOST_CHECK_MESSAGE(svg.find(word) == std::string::npos, word << " is in " << svg);
}

std::size_t count(const std::string& text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> found;
  for (const Tick& tick : ticks)
    if (!tick.label.empty()) found.push_back(tick.label);
  return found;
}

using Words = std::vector<std::string>;

Grid grid_of(double (*f)(double, double), std::int64_t n = 41) {
  Grid grid{{-2, 2}, {-2, 2}, n, n, {}};
  for (const Point& point : grid.points()) grid.values.push_back(f(point.x, point.y));
  return grid;
}

double area(const std::vector<Point>& ring) {
  double twice = 0;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Point &a = ring[i], &b = ring[(i + 1) % ring.size()];
    twice += a.x * b.y - b.x * a.y;
  }
  return twice / 2;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report_drawing)

BOOST_AUTO_TEST_CASE(numbers_have_few_digits_and_thousands_apart) {
  BOOST_TEST(grouped(0) == "0");
  BOOST_TEST(grouped(1234567) == "1,234,567");
  BOOST_TEST(grouped(-1000) == "\u22121,000");
  BOOST_TEST(number_text(12345.678) == "12,346");
  BOOST_TEST(number_text(0.0123456) == "0.01235");
  BOOST_TEST(number_text(2.50) == "2.5");
  BOOST_TEST(number_text(9.99999) == "10");
  BOOST_TEST(number_text(-0.25, 3) == "\u22120.25");
  BOOST_TEST(number_text(0) == "0");
  BOOST_TEST(number_text(1.25e-7, 3) == "1.25\u00d710\u207b\u2077");
  BOOST_TEST(number_text(3e12) == "3\u00d710\u00b9\u00b2");
  BOOST_TEST(number_text(nan_value) == "\u2013");
  BOOST_TEST(number_text(infinity) == "\u221e");
  BOOST_TEST(fixed_text(1.0005, 2) == "1.00");
  BOOST_TEST(tick_text(0.3, 0.1) == "0.3");
  BOOST_TEST(tick_text(1.0, 0.5) == "1.0");
  BOOST_TEST(tick_text(1e-17, 0.5) == "0");
}

BOOST_AUTO_TEST_CASE(what_markup_means_is_escaped) {
  BOOST_TEST(escaped("<a href=\"x\">&'") == "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  BOOST_TEST(escaped("\u00e9\u2192") == "\u00e9\u2192");
  BOOST_TEST(escaped(std::string_view("a\0b\x1b", 4)) == "a\ufffdb\ufffd");
  BOOST_TEST(escaped("\xff\xc0\x80") == "\ufffd\ufffd\ufffd");
  BOOST_TEST(escaped("\xe2\x82") == "\ufffd\ufffd");             // cut short
  BOOST_TEST(escaped("\xed\xa0\x80").substr(0, 3) == "\ufffd");  // half of a pair
}

BOOST_AUTO_TEST_CASE(long_texts_are_cut_at_whole_characters) {
  BOOST_TEST(shortened("short", 200, 12) == "short");
  const std::string cut = shortened(std::string(100, 'x') + "\u00e9", 60, 12);
  BOOST_TEST(cut.ends_with("\u2026"));
  BOOST_TEST(text_width(cut, 12) <= 60);
}

BOOST_AUTO_TEST_CASE(ticks_are_round_numbers_inside_of_the_limits) {
  const Scale scale(Scale::Kind::linear, {0, 12000}, 0, 500);
  BOOST_TEST(labels(scale.ticks(6)) ==
                 (Words{"0", "2,000", "4,000", "6,000", "8,000", "10,000", "12,000"}),
             boost::test_tools::per_element());
  const Scale small(Scale::Kind::linear, {0.013, 0.0174}, 0, 500);
  BOOST_TEST(labels(small.ticks(5)) == (Words{"0.013", "0.014", "0.015", "0.016", "0.017"}),
             boost::test_tools::per_element());
  const Scale decades(Scale::Kind::logarithmic, {0.004, 20}, 0, 500);
  BOOST_TEST(labels(decades.ticks(6)) == (Words{"0.01", "0.1", "1", "10"}),
             boost::test_tools::per_element());
  const Scale wide(Scale::Kind::logarithmic, {1e-9, 1e9}, 0, 500);
  BOOST_TEST(wide.ticks(6).size() <= 8U);
  for (const Tick& tick : scale.ticks(6)) {
    BOOST_TEST(scale(tick.value) >= -1e-9);
    BOOST_TEST(scale(tick.value) <= 500 + 1e-9);
  }
}

BOOST_AUTO_TEST_CASE(any_limits_make_a_scale) {
  for (const Limits limits : {Limits{}, Limits{5, 5}, Limits{0, 0}, Limits{-1e308, 1e308},
                              Limits{1e15, 1e15 + 1}, Limits{-3, -1}, Limits{0, 1e-300}})
    for (const auto kind : {Scale::Kind::linear, Scale::Kind::logarithmic}) {
      const Scale scale = Scale::rounded(kind, limits, 0, 100, 5);
      BOOST_TEST(scale.limits().low < scale.limits().high);
      BOOST_TEST(scale.ticks(5).size() <= 101U);
      BOOST_TEST(std::isfinite(scale(scale.limits().high)));
    }
  const Scale decades(Scale::Kind::logarithmic, {1, 10}, 0, 100);
  BOOST_TEST(std::isnan(decades(0)));
  BOOST_TEST(std::isnan(decades(-1)));
  BOOST_TEST(std::isnan(decades(nan_value)));
}

BOOST_AUTO_TEST_CASE(a_few_wild_values_do_not_stretch_an_axis) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(std::sin(i));
  values[0] = 1e6;
  BOOST_TEST(robust_limits(values).high < 10);
  values[0] = 2;
  BOOST_TEST(robust_limits(values).high == 2);
  BOOST_TEST(robust_limits({nan_value, infinity}).empty());
}

BOOST_AUTO_TEST_CASE(decimation_keeps_extremes_and_ends) {
  std::vector<Point> points;
  for (int i = 0; i < 100'000; ++i) points.push_back({double(i), std::sin(0.001 * i)});
  points[31'415].y = 99;
  points[77'777].y = -99;
  const std::vector<Point> few = decimate(points, 600);
  BOOST_TEST(few.size() <= 600U);
  BOOST_TEST(few.front().x == 0);
  BOOST_TEST(few.back().x == 99'999);
  Limits y;
  for (std::size_t i = 0; i < few.size(); ++i) {
    y.add(few[i].y);
    if (i > 0) BOOST_TEST(few[i].x > few[i - 1].x);
  }
  BOOST_TEST(y.low == -99);
  BOOST_TEST(y.high == 99);
  points[50'000].y = nan_value;
  const std::vector<Point> gap = decimate(points, 600);
  BOOST_TEST(
      std::count_if(gap.begin(), gap.end(), [](const Point& p) { return std::isnan(p.y); }) == 1);
  BOOST_TEST(decimate(std::vector<Point>{{1, 2}}, 600).size() == 1U);
}

BOOST_AUTO_TEST_CASE(labels_are_moved_apart_and_keep_their_order) {
  const std::vector<double> moved = spread_apart({50, 10, 51, 52, 200}, 14, 0, 100);
  BOOST_TEST(moved[1] == 10);
  BOOST_TEST(moved[2] - moved[0] >= 14 - 1e-9);
  BOOST_TEST(moved[3] - moved[2] >= 14 - 1e-9);
  BOOST_TEST(moved[4] == 100);
  BOOST_TEST(spread_apart({}, 14, 0, 100).empty());
}

BOOST_AUTO_TEST_CASE(a_chart_is_well_formed_whatever_it_is_given) {
  LineChart chart;
  check_drawing(draw(chart));
  chart.title = "<&\"\x01";
  chart.x_label = chart.y_label = "a < b & \"c\" \xff";
  chart.curves.push_back({"<script>alert(1)</script>", {{0, 1}, {1, nan_value}, {2, 3}}, 0, {}});
  chart.curves.push_back({"infinite", {{0, infinity}, {infinity, 1}, {2, -infinity}}, 1, {}});
  chart.curves.push_back({"nothing", {}, 9, {}});
  chart.curves.push_back({"alone", {{nan_value, 1}, {1, 1}}, 17, Stroke::thin});
  chart.marks.push_back({{nan_value, 1}, "m", 0, ""});
  chart.marks.push_back({{1, 1e308}, "far", 1e308, "'"});
  chart.bands.push_back({nan_value, 1, ""});
  chart.levels.push_back({infinity, ""});
  for (bool logarithmic : {false, true}) {
    chart.logarithmic_y = logarithmic;
    const std::string svg = draw(chart);
    check_drawing(svg);
    BOOST_TEST(svg.find("<script") == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(names_stand_beside_curves_or_above_them) {
  LineChart chart;
  for (int i = 0; i < 3; ++i)
    chart.curves.push_back({"run " + std::to_string(i), {{0, 1}, {1, 1}}, i, {}});
  std::string svg = draw(chart);
  BOOST_TEST(count(svg, "class=\"label ") == 3U);
  BOOST_TEST(count(svg, "class=\"leader ") == 3U);
  for (int i = 3; i < 40; ++i)
    chart.curves.push_back({"run " + std::to_string(i), {{0, 1}, {1, 1}}, i, {}});
  svg = draw(chart);
  BOOST_TEST(count(svg, "class=\"label ") == 0U);
  BOOST_TEST(count(svg, ">run 3</text>") == 1U);
  BOOST_TEST(count(svg, ">run 39</text>") == 1U);
  check_drawing(svg);
}

BOOST_AUTO_TEST_CASE(published_values_are_marks_with_labels_and_error_bars) {
  LineChart chart;
  chart.curves.push_back({"ours", {{0, 1}, {100, 0.1}}, 0, {}});
  chart.marks.push_back({{50, 0.5}, "SGHMC, published", 0.2, "a paper"});
  const std::string svg = draw(chart);
  check_drawing(svg);
  BOOST_TEST(count(svg, "class=\"mark\"") == 1U);
  BOOST_TEST(count(svg, ">SGHMC, published</text>") == 1U);
  BOOST_TEST(count(svg, "class=\"whisker\"") == 1U);
  BOOST_TEST(count(svg, "<title>a paper</title>") == 1U);
}

BOOST_AUTO_TEST_CASE(an_axis_that_leaves_values_out_says_so) {
  LineChart chart;
  Curve curve{"energy", {}, 0, {}};
  for (int i = 0; i < 500; ++i) curve.points.push_back({double(i), i == 0 ? 1e6 : std::cos(i)});
  chart.curves.push_back(curve);
  BOOST_TEST(draw(chart).find("\u25b2 up to 1,000,000") != std::string::npos);
  chart.y_limits = Limits{0, 1};
  BOOST_TEST(draw(chart).find("\u25b2") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(contours_are_closed_rings_around_what_is_high) {
  const Grid hill = grid_of([](double x, double y) { return 1 - x * x - y * y; });
  const auto rings = rings_at(hill, 0);
  BOOST_REQUIRE(rings.size() == 1U);
  BOOST_TEST(area(rings[0]) == std::acos(-1.0), boost::test_tools::tolerance(0.01));
  const Grid ring = grid_of([](double x, double y) {
    const double r = std::hypot(x, y) - 1;
    return 0.25 - r * r;
  });
  BOOST_TEST(rings_at(ring, 0).size() == 2U);  // outside and the hole
  BOOST_TEST(rings_at(hill, 2).empty());
  // What is high everywhere is bounded by the grid.
  const auto all = rings_at(hill, -100);
  BOOST_REQUIRE(all.size() == 1U);
  BOOST_TEST(area(all[0]) == 16, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(rings_at(hill, nan_value).empty());
}

BOOST_AUTO_TEST_CASE(saddles_and_holes_in_the_data_make_no_trouble) {
  const Grid saddle = grid_of([](double x, double y) { return x * y; }, 8);
  double sum = 0;
  for (const auto& ring : rings_at(saddle, 0.01)) sum += area(ring);
  BOOST_TEST(sum > 6);
  BOOST_TEST(sum < 8);
  Grid holes = grid_of([](double x, double y) { return std::hypot(x, y) < 0.5 ? nan_value : 1; });
  BOOST_TEST(rings_at(holes, 0).size() == 2U);
  std::fill(holes.values.begin(), holes.values.end(), nan_value);
  BOOST_TEST(rings_at(holes, 0).empty());
  BOOST_TEST(round_contours(holes).empty());
}

BOOST_AUTO_TEST_CASE(the_level_of_a_share_bounds_that_share) {
  Grid normal{{-5, 5}, {-5, 5}, 201, 201, {}};
  for (const Point& p : normal.points()) normal.values.push_back(-(p.x * p.x + p.y * p.y) / 2);
  // Of a Gaussian in the plane, 1 - exp(-r^2 / 2) lies within r.
  for (double share : {0.25, 0.5, 0.9, 0.99})
    BOOST_TEST(level_of_share(normal, share) == std::log(1 - share),
               boost::test_tools::tolerance(0.02));
}

BOOST_AUTO_TEST_CASE(contour_charts_are_well_formed) {
  ContourChart chart;
  chart.title = "<t>";
  chart.grid = grid_of([](double x, double y) { return x + y * y; });
  chart.contours = round_contours(chart.grid);
  BOOST_TEST(chart.contours.size() >= 4U);
  chart.bar_label = "Q & D";
  chart.paths.push_back({"<chain>", {{0, 0}, {nan_value, 1}, {infinity, 2}, {1, 1}}, 0});
  check_drawing(draw(chart));
  const Grid flat = grid_of([](double, double) { return 1.5; });
  BOOST_TEST(round_contours(flat).empty());
  chart.grid = flat;
  chart.contours.clear();
  check_drawing(draw(chart));
}

BOOST_AUTO_TEST_CASE(a_histogram_is_a_density) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(0.001 * i);
  values.push_back(nan_value);
  const std::vector<double> heights = density_of(values, {0, 1}, 10);
  double sum = 0;
  for (double height : heights) sum += height / 10;
  BOOST_TEST(sum == 1, boost::test_tools::tolerance(1e-9));
  BarChart chart;
  chart.x = {0, 1};
  chart.heights = heights;
  chart.heights[3] = nan_value;
  chart.curve = {{0, 1}, {0.5, infinity}, {1, 1}};
  chart.mean = nan_value;
  chart.sd = 1;
  check_drawing(draw(chart));
}

BOOST_AUTO_TEST_CASE(ranks_have_a_row_for_each_chain) {
  RankChart chart;
  check_drawing(draw(chart));
  chart.rows = {{"chain 0", {1, 2, 3}, 0}, {"chain 1", {3, 2, 1}, 1}};
  chart.expected = 2;
  chart.band = {0.5, 3.5};
  const std::string svg = draw(chart);
  check_drawing(svg);
  BOOST_TEST(count(svg, "class=\"bar c") == 6U);
  BOOST_TEST(count(svg, "class=\"band\"") == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
