#include "driver/evaluation.hpp"

#include <algorithm>
#include <cstring>

#include "engine/algorithms.hpp"
#include "engine/passes.hpp"
#include "engine/plan.hpp"

namespace whorl::driver {

namespace {

bool needs_input(const Graph& graph, NodeId output, std::string_view name) {
  const auto node = graph.find(name);
  return node && needed_for(graph, {output})[*node];
}

}  // namespace

Tensor rows_of(const Tensor& table, std::int64_t first, std::int64_t count) {
  const Shape row = table.shape().without_front();
  const std::int64_t bytes = row.elements() * static_cast<std::int64_t>(size_of(table.dtype()));
  return Tensor::borrow({table.dtype(), row.with_front(count)},
                        static_cast<char*>(const_cast<void*>(table.raw())) + first * bytes);
}

std::string label_input(const Energy& energy, const std::vector<std::string>& row_inputs) {
  const Graph prediction = energy.prediction();
  std::vector<std::string> found;
  for (const std::string& name : row_inputs)
    if (!needs_input(prediction, prediction.outputs()[0].node, name)) found.push_back(name);
  if (found.size() != 1)
    fail(ErrorKind::usage, "predict",
         "the logits are to be compared with the one data input that they do not depend on, and "
         "there are {}",
         found.size());
  return found[0];
}

std::vector<std::int32_t> labels_of(const Tensor& tensor, std::string_view input) {
  if (tensor.shape().rank() != 1)
    fail(ErrorKind::data, "predict", "input '{}' is {}; expected one label for each row", input,
         to_string(tensor.type()));
  std::vector<std::int32_t> labels;
  for (std::int64_t row = 0; row < tensor.elements(); ++row) {
    const double label = tensor.at(row);
    if (is_float(tensor.dtype()) && label != 0 && label != 1)
      fail(ErrorKind::data, "predict", "input '{}', row {}: {} is no label; expected 0 or 1", input,
           row, label);
    labels.push_back(static_cast<std::int32_t>(label));
  }
  return labels;
}

Predictor::Predictor(const Energy& energy, const std::vector<std::string>& row_inputs,
                     const std::map<std::string, Tensor>& data, std::int64_t chains, int threads)
    : chains_(chains) {
  const Graph one = energy.prediction();
  const NodeId output = one.outputs()[0].node;
  const Shape shape = one.type(output).shape;
  if (shape.rank() < 1 || shape.rank() > 2 || !is_float(one.type(output).dtype))
    graph_error("energy", "output 'logits' is {}; expected [rows] or [rows, classes]",
                to_string(one.type(output)));
  block_ = shape[0];
  columns_ = shape.rank() == 2 ? shape[1] : 1;
  executor_ = std::make_unique<Executor>(compile(batch(one, {"theta"}, chains)),
                                         ExecutorOptions{threads, false});
  for (NodeId id : one.input_nodes()) {
    const std::string name(one.name(id));
    if (name == "theta") continue;
    const bool needed = needs_input(one, output, name);
    const bool with_rows =
        std::find(row_inputs.begin(), row_inputs.end(), name) != row_inputs.end();
    const auto given = data.find(name);
    if (!with_rows && given != data.end()) {
      executor_->bind(name, given->second);
      continue;
    }
    const Tensor zeros(one.type(id));
    executor_->bind(name, zeros);
    if (!needed) continue;
    if (one.type(id).shape.rank() == 0 || one.type(id).shape[0] != block_)
      graph_error("energy", "the logits have {} rows and input '{}' is {}", block_, name,
                  to_string(one.type(id)));
    inputs_.push_back(name);
    padded_.emplace(name, zeros);
  }
}

void Predictor::predict(const Tensor& positions, const HeldOut& rows,
                        const std::vector<bool>& counts, PredictiveMean& mean) {
  executor_->bind("theta", positions);
  for (std::int64_t first = 0; first < rows.rows; first += block_) {
    const std::int64_t count = std::min(block_, rows.rows - first);
    for (const std::string& name : inputs_) {
      const Tensor part = rows_of(rows.tensors.at(name), first, count);
      Tensor& padded = padded_.at(name);
      if (count < block_)
        std::memcpy(padded.raw(), part.raw(), static_cast<std::size_t>(part.bytes()));
      executor_->bind(name, count < block_ ? padded : part);
    }
    executor_->run();
    const Tensor& logits = executor_->output(logits_output);
    for (std::int64_t chain = 0; chain < chains_; ++chain) {
      if (!counts[static_cast<std::size_t>(chain)]) continue;
      dispatch(logits.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>)
          mean.add(std::span<const T>(logits.data<T>() + chain * block_ * columns_,
                                      static_cast<std::size_t>(count * columns_)),
                   first);
      });
    }
  }
}

void Evaluation::load(std::span<const double> saved) {
  try {
    take(saved);
  } catch (const Error& error) {
    throw Error(ErrorKind::checkpoint, "checkpoint", bare_text(error));
  }
}

ClassifierEvaluation::ClassifierEvaluation(const Energy& energy,
                                           const std::vector<std::string>& row_inputs,
                                           const std::map<std::string, Tensor>& data,
                                           const HeldOut& rows, std::string prefix,
                                           std::int64_t chains, int threads)
    : Evaluation(std::move(prefix)),
      rows_(rows),
      predictor_(energy, row_inputs, data, chains, threads),
      now_(rows.rows, predictor_.columns()),
      average_(rows.rows, predictor_.columns()) {
  const std::string input = label_input(energy, row_inputs);
  labels_ = labels_of(rows.tensors.at(input), input);
}

void ClassifierEvaluation::look(const Tensor& positions, const std::vector<bool>& alive,
                                bool count) {
  now_.clear();
  predictor_.predict(positions, rows_, alive, now_);
  current_ = now_.scores(labels_);
  if (count) average_.add(now_);
}

std::optional<ClassificationScores> ClassifierEvaluation::average() const {
  if (average_.draws() == 0) return std::nullopt;
  return average_.scores(labels_);
}

std::vector<std::pair<std::string, double>> ClassifierEvaluation::numbers() const {
  std::vector<std::pair<std::string, double>> all;
  const auto add = [&](std::string_view kind, const ClassificationScores& scores) {
    all.emplace_back(fmt::format("{}{}error", prefix(), kind), scores.error);
    all.emplace_back(fmt::format("{}{}nll", prefix(), kind), scores.nll);
    all.emplace_back(fmt::format("{}{}nll_sum", prefix(), kind), scores.nll_sum);
  };
  add("", current_);
  if (const auto found = average()) add("average_", *found);
  return all;
}

std::vector<EnsembleScores> ClassifierEvaluation::scores() const {
  const std::string data = prefix().empty() ? "test" : "validation";
  std::vector<EnsembleScores> all{{data, "current", current_}};
  if (const auto found = average()) all.push_back({data, "average", *found});
  return all;
}

std::int64_t ClassifierEvaluation::memory_bytes() const {
  return predictor_.memory_bytes() + 2 * static_cast<std::int64_t>(average_.sums().size_bytes());
}

}  // namespace whorl::driver
