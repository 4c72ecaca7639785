#include "autodiff/numeric.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "autodiff/tape.hpp"
#include "engine/ops.hpp"

namespace whorl {

namespace {

// y as a function of a few nodes, with everything that they do not move, and every stop_gradient,
// held at the base point.
class FrozenFunction {
 public:
  FrozenFunction(const Graph& graph, const Feeds& feeds, NodeId y, const std::vector<NodeId>& xs)
      : graph_(graph), feeds_(feeds), y_(y) {
    check_f64(y);
    std::vector<char> moves(graph.size(), 0);
    for (NodeId x : xs) {
      check_f64(x);
      moves[x] = 1;
    }
    for (NodeId id = 0; id <= y; ++id)
      for (NodeId input : graph.inputs(id))
        if (moves[input] && !graph.op(id).is(Traits::stops_gradient)) moves[id] = 1;

    EvaluateOptions options;
    options.observe = [&](NodeId id, const Tensor& value) {
      if (moves[id] && value.dtype() == DType::f32) check_f64(id);
      if (!moves[id] || std::find(xs.begin(), xs.end(), id) != xs.end()) frozen_.emplace(id, value);
      return true;
    };
    std::vector<NodeId> wanted{y};
    wanted.insert(wanted.end(), xs.begin(), xs.end());
    base_ = evaluate(graph, feeds, wanted, options);
  }

  const Tensor& value() const { return base_[0]; }
  const Tensor& point(std::size_t i) const { return base_[i + 1]; }
  // From now on x has the value that `to` holds at the time of a call.
  void move(NodeId x, const Tensor& to) { frozen_.at(x) = to; }
  Tensor operator()() const {
    EvaluateOptions options;
    options.frozen = &frozen_;
    return evaluate(graph_, feeds_, {y_}, options).front();
  }

 private:
  void check_f64(NodeId id) const {
    if (graph_.type(id).dtype != DType::f64)
      graph_error("numeric", "{} is {}; differences need f64 from end to end", graph_.label(id),
                  name(graph_.type(id).dtype));
  }

  const Graph& graph_;
  const Feeds& feeds_;
  NodeId y_;
  std::unordered_map<NodeId, Tensor> frozen_;
  std::vector<Tensor> base_;
};

constexpr std::array<double, 4> offsets{-2, -1, 1, 2};
constexpr std::array<double, 4> weights{1, -8, 8, -1};

double weighted_sum(const Tensor& values, const Tensor* seed) {
  double sum = 0;
  for (std::int64_t i = 0; i < values.elements(); ++i)
    sum += values.data<double>()[i] * (seed ? seed->data<double>()[i] : 1.0);
  return sum;
}

// The difference of sum(seed * f) along a path; to(offset) moves to that many steps from the base.
template <class MoveTo>
double difference(const FrozenFunction& f, const Tensor* seed, double h, MoveTo&& to) {
  Tensor total(f.value().type());
  for (std::size_t k = 0; k < offsets.size(); ++k) {
    to(offsets[k] * h);
    const Tensor value = f();
    for (std::int64_t i = 0; i < total.elements(); ++i)
      total.data<double>()[i] += weights[k] * value.data<double>()[i];
  }
  return weighted_sum(total, seed) / (12 * h);
}

double largest(const Tensor& values) {
  double result = 0;
  for (std::int64_t i = 0; i < values.elements(); ++i)
    result = std::max(result, std::abs(values.at(i)));
  return result;
}

// Numbers in [0.5, 1.5) that follow no pattern an op could have.
Tensor uneven_weights(const Type& type) {
  Tensor result(type);
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    const double turn = static_cast<double>(i + 1) * 0.6180339887498949;
    result.data<double>()[i] = 0.5 + turn - std::floor(turn);
  }
  return result;
}

}  // namespace

Tensor numeric_gradient(const Graph& graph, const Feeds& feeds, NodeId y, NodeId x,
                        const Tensor* seed, const DifferenceOptions& options) {
  if (seed == nullptr && graph.type(y).shape.rank() != 0)
    graph_error("numeric", "{} is {}, not a scalar; give a seed", graph.label(y),
                to_string(graph.type(y)));
  if (seed != nullptr && seed->type() != graph.type(y))
    graph_error("numeric", "the seed of {} is {}; expected {}", graph.label(y),
                to_string(seed->type()), to_string(graph.type(y)));
  FrozenFunction f(graph, feeds, y, {x});
  Tensor moved = f.point(0).clone();
  f.move(x, moved);
  Tensor result(graph.type(x));
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    const double at = f.point(0).data<double>()[i];
    const double h = options.step * std::max(1.0, std::abs(at));
    result.data<double>()[i] =
        difference(f, seed, h, [&](double offset) { moved.data<double>()[i] = at + offset; });
    moved.data<double>()[i] = at;
  }
  return result;
}

double numeric_slope(const Graph& graph, const Feeds& feeds, NodeId y,
                     const std::vector<NodeId>& xs, const std::vector<Tensor>& directions,
                     const DifferenceOptions& options) {
  if (graph.type(y).shape.rank() != 0)
    graph_error("numeric", "{} is {}, not a scalar", graph.label(y), to_string(graph.type(y)));
  FrozenFunction f(graph, feeds, y, xs);
  std::vector<Tensor> moved;
  for (std::size_t k = 0; k < xs.size(); ++k) {
    moved.push_back(f.point(k).clone());
    f.move(xs[k], moved[k]);
  }
  return difference(f, nullptr, options.step, [&](double offset) {
    for (std::size_t k = 0; k < xs.size(); ++k)
      for (std::int64_t i = 0; i < moved[k].elements(); ++i)
        moved[k].data<double>()[i] =
            f.point(k).data<double>()[i] + offset * directions[k].data<double>()[i];
  });
}

double relative_error(const Tensor& symbolic, const Tensor& numeric, double scale) {
  double error = 0;
  for (std::int64_t i = 0; i < symbolic.elements(); ++i) {
    const double apart = std::abs(symbolic.at(i) - numeric.at(i));
    // A NaN on either side is as wrong as can be.
    error = std::isnan(apart) ? HUGE_VAL : std::max(error, apart);
  }
  constexpr double resolution = 1e-3;
  const double size = std::max({largest(symbolic), largest(numeric), resolution * scale});
  if (error == 0 || !std::isfinite(error)) return error;
  return error / size;
}

GradientCheck check_gradient(const Graph& graph, const Feeds& feeds, NodeId y,
                             const std::vector<NodeId>& xs, const DifferenceOptions& options) {
  Graph copy = graph;
  const Tensor seed = uneven_weights(graph.type(y));
  std::vector<Value> wrt;
  for (NodeId x : xs) wrt.push_back(copy.value(x));
  const auto adjoints =
      gradient(copy.value(y), wrt, {.seed = constant(copy, seed), .allow_unused = true});
  std::vector<NodeId> wanted{y};
  for (const Value& adjoint : adjoints) wanted.push_back(adjoint.id);
  const auto values = evaluate(copy, feeds, wanted);

  GradientCheck result;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Tensor numeric = numeric_gradient(graph, feeds, y, xs[i], &seed, options);
    const double error = relative_error(values[i + 1], numeric, largest(values[0]));
    if (i == 0 || error > result.worst) result = {error, xs[i], values[i + 1], numeric};
  }
  return result;
}

}  // namespace whorl
