#include "generator.hpp"

#include <cmath>

#include "autodiff/tape.hpp"
#include "recipes.hpp"

namespace whorl::testing {

namespace {

// Evaluates nodes as they are appended.
class Watch {
 public:
  Watch(const Graph& graph, const Feeds& feeds) : graph_(graph), feeds_(feeds) {}

  // Whether all nodes since the last call, and so the new values, are sane.
  bool catch_up() {
    bool sane = true;
    for (auto id = static_cast<NodeId>(values_.size()); id < graph_.size(); ++id) {
      values_.push_back(value(id));
      sane = sane && is_moderate(values_.back());
    }
    return sane;
  }
  bool is_sane(NodeId id) const { return is_moderate(values_[id]); }

 private:
  Tensor value(NodeId id) const {
    const OpDef& op = graph_.op(id);
    if (op.name == "input") return checked_feed(graph_, id, feeds_);
    if (op.name == "constant") return std::get<Tensor>(graph_.attributes(id).value(0));
    std::vector<Tensor> inputs;
    for (NodeId in : graph_.inputs(id)) inputs.push_back(values_[in]);
    return evaluate_op(op, inputs, graph_.attributes(id));
  }
  static bool is_moderate(const Tensor& tensor) {
    constexpr double most = 20;
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      if (is_float(tensor.dtype()) && !(std::abs(tensor.at(i)) <= most)) return false;
    return true;
  }

  const Graph& graph_;
  const Feeds& feeds_;
  std::vector<Tensor> values_;
};

const Recipe& draw(RandomSource& random) {
  static const std::vector<Recipe> usable = [] {
    std::vector<Recipe> found;
    for (const Recipe& recipe : all_recipes())
      if (find_op(recipe.needs) != nullptr) found.push_back(recipe);
    return found;
  }();
  double total = 0;
  for (const Recipe& recipe : usable) total += recipe.weight;
  double at = random.uniform(0, total);
  for (const Recipe& recipe : usable)
    if ((at -= recipe.weight) < 0) return recipe;
  return usable.back();
}

void add_inputs(RandomGraph& g, Growth& growth, const RandomGraphOptions& options) {
  RandomSource& random = growth.random();
  const std::int64_t count = random.integer(1, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> dims;
    for (std::int64_t rank = random.integer(0, 4); rank > 0; --rank) {
      const auto pick = random.integer(0, static_cast<std::int64_t>(options.sizes.size()));
      dims.push_back(options.sizes[static_cast<std::size_t>(pick)]);
      if (Shape(std::span<const std::int64_t>(dims)).elements() > options.most_elements)
        dims.back() = 1;
    }
    const std::string name = fmt::format("in{}", i);
    const Type type{options.dtype, Shape(std::span<const std::int64_t>(dims))};
    Tensor tensor(type);
    dispatch(type.dtype, [&](auto zero) {
      using T = decltype(zero);
      for (T& x : tensor.values<T>()) x = static_cast<T>(random.uniform(-1.5, 1.5));
    });
    g.inputs.push_back(input(*g.graph, name, type));
    g.feeds.emplace(name, tensor);
    growth.offer(g.inputs.back());
  }
}

// A scalar of everything that nothing else uses, and of the last values.
Value loss_of(Growth& growth) {
  const Graph& graph = growth.graph();
  std::vector<char> used(graph.size(), 0);
  for (const Value& value : growth.values())
    for (NodeId in : graph.inputs(value.id)) used[in] = 1;
  Value total;
  const auto values = growth.values();
  for (const Value& value : values) {
    if (used[value.id] || value.type().elements() == 0) continue;
    const Value term = mean(value);
    total = total ? total + term : term;
  }
  return total;
}

}  // namespace

RandomGraph random_graph(std::uint64_t seed, const RandomGraphOptions& options) {
  RandomGraph g;
  g.seed = seed;
  RandomSource random(seed * 7919 + 13);
  Growth growth(*g.graph, random, options.dtype, options.most_elements);
  Watch watch(*g.graph, g.feeds);
  add_inputs(g, growth, options);
  watch.catch_up();
  for (int grown = 0, attempts = 0; grown < options.nodes && attempts < 20 * options.nodes;
       ++attempts) {
    const Value value = draw(random).grow(growth);
    if (!watch.catch_up() || !value || value.dtype() != options.dtype) continue;
    growth.offer(value);
    ++grown;
  }
  g.y = loss_of(growth);
  g.graph->add_output("y", g.y.id);
  for (int i = 0; i < 3; ++i) g.graph->add_output(fmt::format("v{}", i), growth.any().id);
  const auto gradients = gradient(g.y, g.inputs, {.allow_unused = true});
  for (std::size_t i = 0; i < gradients.size(); ++i)
    g.graph->add_output(fmt::format("d{}", i), gradients[i].id);
  g.graph->set_name(g.y.id, "loss");
  g.graph->metadata()["title"] = fmt::format("random graph {}", seed);
  for (NodeId id = 0; id < g.graph->size(); ++id)
    g.draws = g.draws || g.graph->op(id).is(Traits::random);
  return g;
}

RandomGraphOptions small_options(std::uint64_t seed, DType dtype) {
  return {.dtype = dtype, .nodes = static_cast<int>(5 + seed % 31)};
}

RandomGraphOptions large_options(std::uint64_t seed, DType dtype) {
  return {.dtype = dtype,
          .nodes = static_cast<int>(5 + seed % 31),
          .sizes = {1, 3, 17, 130, 1025},
          .most_elements = 40000};
}

}  // namespace whorl::testing
