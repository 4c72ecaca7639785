// The KL surrogates: their gradients, their clouds, and what they refuse.
#include "losses/kl.hpp"

#include <boost/test/unit_test.hpp>

#include "autodiff/numeric.hpp"
#include "autodiff/tape.hpp"
#include "tests/losses/clouds.hpp"
#include "tests/support/errors.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

// Three snapshots of 6 chains in 2 dimensions that depend on w; U(x) = sum cosh-like energy.
struct Fixture {
  Graph graph;
  Value w = input(graph, "w", {DType::f64, {2}});
  std::vector<Snapshot> snapshots;
  Feeds feeds{{"w", Tensor::of<double>({2}, {0.7, -0.4})}};

  Fixture() {
    for (std::uint64_t t = 0; t < 3; ++t) {
      const Value noise = constant(graph, normal_tensor(6, 2, t));
      const Value x = tanh(noise * w) + 0.3 * noise + w;
      const Value energy = sum(softplus(2.0 * x) - 0.5 * x + square(x), {1});
      snapshots.push_back({x, gradient(sum(energy), x)});
    }
  }
  Tensor value(Value v) const { return evaluate(graph, feeds, {v.id}).front(); }
  // The score plus the model's gradient, as numbers.
  Tensor direction(const Tensor& position, const Tensor& slope) const {
    Tensor sum = score_of(position);
    for (std::int64_t i = 0; i < sum.elements(); ++i) sum.data<double>()[i] += slope.at(i);
    return sum;
  }
};

Tensor rows_of(const std::vector<Tensor>& tensors, const std::vector<int>& rows) {
  Tensor all({DType::f64, {static_cast<std::int64_t>(tensors.size() * rows.size()), 2}});
  double* to = all.data<double>();
  for (const Tensor& x : tensors)
    for (int row : rows) to = std::copy_n(x.data<double>() + 2 * row, 2, to);
  return all;
}

double inner_product(const Tensor& a, const Tensor& b) {
  double total = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) total += a.at(i) * b.at(i);
  return total;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(kl, Fixture)

BOOST_AUTO_TEST_CASE(the_gradient_by_a_point_is_score_and_slope_over_k) {
  const Snapshot& at = snapshots[0];
  const Tensor g = value(gradient(kl_surrogate(at.position, at.gradient), at.position));
  const Tensor expected = direction(value(at.position), value(at.gradient));
  for (std::int64_t i = 0; i < g.elements(); ++i)
    BOOST_TEST(g.at(i) == expected.at(i) / 6, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(gradients_are_frozen_differences) {
  const Value chains = constant(graph, Tensor::of<std::int32_t>({2}, {4, 1}));
  for (const Value loss : {cross_chain_loss(snapshots), in_chain_loss(snapshots, chains),
                           in_chain_loss(snapshots, chains, {.pooled = false})})
    BOOST_TEST(check_gradient(graph, feeds, loss.id, {w.id}).worst < 1e-9);
}

BOOST_AUTO_TEST_CASE(a_cross_chain_loss_is_the_mean_over_times) {
  double expected = 0;
  for (const Snapshot& at : snapshots) {
    const Tensor x = value(at.position);
    expected += inner_product(direction(x, value(at.gradient)), x) / 6 / 3;
  }
  BOOST_TEST(value(cross_chain_loss(snapshots)).at(0) == expected,
             boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(an_in_chain_loss_sees_the_chosen_chains_in_one_cloud_or_in_many) {
  std::vector<Tensor> positions, slopes;
  for (const Snapshot& at : snapshots) {
    positions.push_back(value(at.position));
    slopes.push_back(value(at.gradient));
  }
  const auto loss_of = [&](const std::vector<int>& rows) {
    const Tensor x = rows_of(positions, rows);
    return inner_product(direction(x, rows_of(slopes, rows)), x) /
           static_cast<double>(x.shape()[0]);
  };
  const Value chains = constant(graph, Tensor::of<std::int32_t>({2}, {4, 1}));
  BOOST_TEST(value(in_chain_loss(snapshots, chains)).at(0) == loss_of({4, 1}),
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(value(in_chain_loss(snapshots, chains, {.pooled = false})).at(0) ==
                 (loss_of({4}) + loss_of({1})) / 2,
             boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(the_ridge_reaches_the_score) {
  const Value a = cross_chain_loss(snapshots), b = cross_chain_loss(snapshots, {.ridge = 0.5});
  BOOST_TEST(std::abs(value(a).at(0) - value(b).at(0)) > 1e-3);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  const std::vector<Snapshot> none;
  BOOST_TEST(error_text([&] { cross_chain_loss(none); }) ==
             "[cross_chain_loss] there are no snapshots; expected at least one");
  BOOST_TEST(error_text([&] { in_chain_loss(snapshots, w); }) ==
             "[in_chain_loss] the chosen chains are f64[2]; expected at least one i32 in a vector");
  BOOST_TEST(error_text([&] { kl_surrogate(snapshots[0].position, w); }) ==
             "[kl_surrogate] the gradient is f64[2]; expected f64[6,2], as the positions are");
}

BOOST_AUTO_TEST_SUITE_END()
