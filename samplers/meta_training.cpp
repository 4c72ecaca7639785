#include "samplers/meta_training.hpp"

#include "autodiff/tape.hpp"
#include "engine/ops.hpp"

namespace whorl {

namespace {

// min(1, limit / |g|) for the gradient g of all weights together.
Value clip_factor(const std::vector<Value>& gradients, double limit) {
  Value squares;
  for (Value g : gradients) squares = squares ? squares + sum(square(g)) : sum(square(g));
  // 1e-30, far below any |g|^2 that matters, keeps 0/0 away; a gradient of zero is left as it is.
  return minimum(fill_like(squares, 1), limit * rsqrt(squares + 1e-30));
}

// The trained parameters and Adam's memory of them.
class Weights {
 public:
  Weights(Graph& graph, const MetaTrainingOptions& options, const NamedValues& parameters)
      : graph_(graph), options_(options) {
    for (const std::string& name : options.trained) {
      const auto found = parameters.find(name);
      if (found == parameters.end())
        fail(ErrorKind::usage, "train", "the sampler has no parameter '{}'", name);
      const Value w = found->second;
      current_.push_back(
          {name, w, input(graph, name + "/m", w.type()), input(graph, name + "/v", w.type())});
      first_.push_back(w);
    }
    count_ = input(graph, "adam/count", {first_.front().dtype(), {}});
    rate_ = input(graph, "adam/rate", {first_.front().dtype(), {}});
  }

  // One Adam step down the gradient of the loss, which is taken at the first weights.
  void descend(Value loss) {
    std::vector<Value> gradients = gradient(loss, first_);
    if (options_.clip > 0) {
      const Value factor = clip_factor(gradients, options_.clip);
      for (Value& g : gradients) g = g * factor;
    }
    count_ = count_ + 1;
    for (std::size_t i = 0; i < current_.size(); ++i) {
      auto& [name, w, m, v] = current_[i];
      const AdamStep next = adam_update(w, gradients[i], m, v, count_, rate_, options_.adam);
      const auto decay = options_.decay.find(name);
      w = decay == options_.decay.end()
              ? next.parameter
              : next.parameter - rate_ * constant(graph_, decay->second) * w;
      m = next.m;
      v = next.v;
    }
  }

  void add_outputs() {
    for (const auto& [name, w, m, v] : current_) {
      graph_.add_output(name, w.id);
      graph_.add_output(name + "/m", m.id);
      graph_.add_output(name + "/v", v.id);
    }
    graph_.add_output("adam/count", count_.id);
  }

 private:
  struct Entry {
    std::string name;
    Value w, m, v;
  };

  Graph& graph_;
  const MetaTrainingOptions& options_;
  std::vector<Entry> current_;
  std::vector<Value> first_;
  Value count_, rate_;
};

void add_mean(Graph& graph, const std::vector<Moment>& moments, const std::string& name) {
  std::vector<Value> values;
  for (const Moment& moment : moments) values.push_back(mean(moment.statistics.at(name)));
  graph.add_output("mean/" + name, mean(stack(values, 0)).id);
}

}  // namespace

Graph meta_training_graph(const Step& step, const MetaTrainingOptions& options,
                          const MetaLosses& losses) {
  if (options.trained.empty()) fail(ErrorKind::usage, "train", "there is nothing to train");
  Graph graph;
  const Unrolled unrolled = unroll(graph, step, options.unroll);
  Weights weights(graph, options, unrolled.parameters);
  const std::vector<MetaLoss> found = losses(graph, unrolled.moments);
  if (found.empty()) fail(ErrorKind::usage, "train", "there is no loss to train by");

  Value total;
  for (const MetaLoss& loss : found) {
    total = total ? total + loss.value : loss.value;
    graph.add_output("loss/" + loss.name, loss.value.id);
    if (options.separate_updates) weights.descend(loss.value);
  }
  if (!options.separate_updates) weights.descend(total);

  for (const auto& [name, value] : unrolled.state) graph.add_output(name, value.id);
  weights.add_outputs();
  for (const std::string& name : options.statistics) add_mean(graph, unrolled.moments, name);
  return graph;
}

std::vector<std::string> carried_inputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const Graph::Output& output : graph.outputs()) {
    const auto node = graph.find(output.name);
    if (node && graph.op(*node).is(Traits::source)) names.push_back(output.name);
  }
  return names;
}

}  // namespace whorl
