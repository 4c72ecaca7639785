// constant: nodes whose inputs are all known are computed now.
//
// What is known: constants, and the generators fill, iota and broadcast of them. Generators stay
// generators, because a big constant costs memory traffic at every run and a fill costs none:
// a constant whose elements are all the same becomes a fill, and an elementwise op on fills a fill.
// Other results become constants when they are small (1 MiB each, 64 MiB in all) or smaller than
// the constants they come from. The values come from the ops' own kernels, so no bit changes. A
// node that fails (assert_finite of a NaN) is left to fail at run time, with its name.
#include <cstring>

#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "engine/passes.hpp"
#include "engine/passes/known_ops.hpp"
#include "engine/rewrite.hpp"

namespace whorl {

namespace {

constexpr std::int64_t small_bytes = std::int64_t{1} << 20;
constexpr std::int64_t total_bytes = std::int64_t{64} << 20;

// The value of all elements, when they have the same bits and a fill can stand for them.
std::optional<double> uniform_value(const Tensor& tensor) {
  if (tensor.elements() == 0) return std::nullopt;
  return dispatch(tensor.dtype(), [&](auto zero) -> std::optional<double> {
    using T = decltype(zero);
    const T* x = tensor.data<T>();
    for (std::int64_t i = 1; i < tensor.elements(); ++i)
      if (std::memcmp(x, x + i, sizeof(T)) != 0) return std::nullopt;
    const double wide = static_cast<double>(x[0]);
    const T back = static_cast<T>(wide);  // a NaN may lose its payload
    if (std::memcmp(&back, x, sizeof(T)) != 0) return std::nullopt;
    // The one integer whose negative does not exist is refused by fill.
    if (std::is_same_v<T, std::int32_t> && wide < -2147483647.0) return std::nullopt;
    return wide;
  });
}

class Folding {
 public:
  explicit Folding(const Graph& graph) : old_(graph), rewrite_(graph), graph_(rewrite_.graph()) {}

  Graph run() {
    for (NodeId id = 0; id < old_.size(); ++id)
      if (!fold(id)) note_generator(rewrite_.copy(id));
    return rewrite_.finish();
  }

 private:
  bool fold(NodeId id) {
    const OpDef& op = old_.op(id);
    if (&op == known_ops().constant) {
      place_value(id, attribute<Tensor>(old_.attributes(id), "value"));
      return true;
    }
    if (op.is(Traits::source) || op.is(Traits::generator) || op.is(Traits::random)) return false;
    const auto inputs = rewrite_.inputs(id);
    if (inputs.empty()) return false;
    for (NodeId in : inputs)
      if (!is_known(in)) return false;
    try {
      return op.is(Traits::elementwise) && all_fills(inputs) ? fold_fills(id) : fold_values(id);
    } catch (const Error&) {
      return false;
    }
  }

  // f(fill) is a fill of f(value): one element is computed, however many there are.
  bool fold_fills(NodeId id) {
    std::vector<Tensor> values;
    for (NodeId in : rewrite_.inputs(id))
      values.push_back(evaluate_op(*known_ops().fill, {},
                                   scalar_fill(graph_.type(in).dtype, *fill_value(graph_, in))));
    const auto result = uniform_value(evaluate_op(old_.op(id), values, old_.attributes(id)));
    if (!result) return false;
    const NodeId node = fill(graph_, old_.type(id), *result).id;
    rewrite_.place(id, node);
    note_known(node);
    return true;
  }

  bool fold_values(NodeId id) {
    const std::int64_t bytes = old_.type(id).bytes();
    std::int64_t stored = 0;  // bytes that may be given up
    for (NodeId in : rewrite_.inputs(id))
      if (&graph_.op(in) == known_ops().constant) stored += graph_.type(in).bytes();
    const bool affordable = bytes <= small_bytes && made_bytes_ + bytes <= total_bytes;
    if (!affordable && bytes >= stored) return false;
    std::vector<Tensor> values;
    for (NodeId in : rewrite_.inputs(id)) {
      const Type& type = graph_.type(in);
      if (&graph_.op(in) != known_ops().constant && type.bytes() > small_bytes) return false;
      values.push_back(known_value(in));
    }
    made_bytes_ += bytes;
    place_value(id, evaluate_op(old_.op(id), values, old_.attributes(id)));
    return true;
  }

  void place_value(NodeId id, const Tensor& value) {
    const auto uniform = uniform_value(value);
    const bool was_constant = &old_.op(id) == known_ops().constant;
    const NodeId node = uniform        ? fill(graph_, value.type(), *uniform).id
                        : was_constant ? graph_.append(old_.op(id), {}, old_.attributes(id))
                                       : constant(graph_, value).id;
    rewrite_.place(id, node);
    note_known(node);
  }

  // A generator is known too, but only made into a tensor where that is needed. A broadcast of a
  // broadcast is not: `algebra` makes it one.
  void note_generator(NodeId node) {
    const OpDef* op = &graph_.op(node);
    const KnownOps& ops = known_ops();
    const bool of_source = op == ops.broadcast && is_known(graph_.inputs(node)[0]) &&
                           &graph_.op(graph_.inputs(node)[0]) != ops.broadcast;
    if (op == ops.fill || op == ops.iota || of_source) note_known(node);
  }
  Tensor known_value(NodeId node) const {
    std::vector<Tensor> inputs;
    for (NodeId in : graph_.inputs(node)) inputs.push_back(source_value(in));
    return inputs.empty() ? source_value(node)
                          : evaluate_op(graph_.op(node), inputs, graph_.attributes(node));
  }
  Tensor source_value(NodeId node) const {
    if (&graph_.op(node) == known_ops().constant)
      return attribute<Tensor>(graph_.attributes(node), "value");
    return evaluate_op(graph_.op(node), {}, graph_.attributes(node));
  }

  bool all_fills(std::span<const NodeId> nodes) const {
    for (NodeId node : nodes)
      if (&graph_.op(node) != known_ops().fill) return false;
    return true;
  }
  static Attributes scalar_fill(DType dtype, double value) {
    return make_attributes(
        "fill", known_ops().fill->attrs(),
        {{"dtype", dtype}, {"shape", std::vector<std::int64_t>{}}, {"value", value}});
  }
  void note_known(NodeId node) {
    known_.resize(graph_.size(), 0);
    known_[node] = 1;
  }
  bool is_known(NodeId node) const { return node < known_.size() && known_[node]; }

  const Graph& old_;
  Rewrite rewrite_;
  Graph& graph_;
  std::vector<char> known_;  // of the new graph
  std::int64_t made_bytes_ = 0;
};

}  // namespace

Graph fold_constants(const Graph& graph) { return Folding(graph).run(); }

}  // namespace whorl
