#include "driver/target.hpp"

#include <algorithm>
#include <cmath>

#include "data/labels.hpp"
#include "data/minibatch.hpp"
#include "driver/data_sources.hpp"
#include "engine/ops.hpp"
#include "graphs/graph_file.hpp"

namespace whorl::driver {

namespace {

constexpr int covariance_attempts = 10'000;

// Every direction of a covariance has at least this sd when what is left without it still is one.
bool wide_enough(const std::vector<double>& mean, std::vector<double> covariance, double sd) {
  if (sd == 0) return true;
  for (std::size_t i = 0; i < mean.size(); ++i) covariance[i * (mean.size() + 1)] -= sd * sd;
  try {
    Gaussian(mean, covariance);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return false;
  }
}

// The rows that the graph is to be loaded for: those of a batch, or all.
std::int64_t rows_of_step(const Graph& graph, const LoadedData& loaded, const DataSettings& data) {
  if (loaded.rows == 0) {
    if (data.batch)
      fail(ErrorKind::usage, "sample", "a batch of {} rows is asked for, but there are no rows",
           *data.batch);
    return 0;
  }
  const std::int64_t rows = data.batch.value_or(loaded.rows);
  const std::string& first = loaded.row_inputs.front();
  const Type& written = graph.type(*graph.find(first));
  if (loaded.rows_size.empty() && written.shape[0] != rows)
    fail(ErrorKind::data, "sample",
         "input '{}' is {}, but a step has {} rows; write a named size into the graph, as in "
         "sizes {{ name: \"rows\" value: {} }}, to use it for any number",
         first, to_string(written), rows, written.shape[0]);
  return rows;
}

// A parameter that has an element for each row would shrink to the rows of a batch.
void check_parameters(const DeclaredSizes& declared, const Energy& energy,
                      const std::string& rows_size) {
  for (const Parameter& parameter : energy.parameters()) {
    const auto written = declared.inputs.find(parameter.name);
    if (written == declared.inputs.end() || rows_size.empty()) continue;
    if (std::find(written->second.begin(), written->second.end(), rows_size) !=
        written->second.end())
      fail(ErrorKind::usage, "sample",
           "parameter '{}' has the size '{}', which minibatches change; sample without --batch",
           parameter.name, rows_size);
  }
}

// Labels that the logits have no column for would be found in the middle of a run.
void check_labels(Target& target) {
  const std::string input = label_input(target.energy, target.row_inputs);
  const Graph& graph = target.energy.graph();
  std::int64_t classes = 2;
  for (const Graph::Output& output : graph.outputs())
    if (output.name == logits_output && graph.type(output.node).shape.rank() == 2)
      classes = graph.type(output.node).shape[1];
  const auto check = [&](const std::map<std::string, Tensor>& tensors, std::string_view which) {
    Dataset labels;
    labels.add({input, tensors.at(input), std::string(which), {}});
    if (tensors.at(input).dtype() != DType::i32) return;
    for (const std::string& warning : check_labels(labels, input, classes))
      target.notes.push_back(warning);
  };
  check(target.data, "the data");
  if (target.test) check(target.test->tensors, "the test data");
  if (target.validation) check(target.validation->tensors, "the validation data");
}

Target load_sequence_target(const TargetSettings& settings, const DataSettings& data) {
  // What a file says beside sequences was refused where it was read.
  if (data.batch || !data.files.empty() || !data.columns.empty() || !data.standardise.empty())
    fail(ErrorKind::usage, "sample",
         "the data are sequences, one a step: files, columns and batches of rows cannot be used");
  SequenceTask task = load_sequence_task(settings, *data.sequences);
  Target target{.energy = task.energies.back().energy,
                .gradient = task.energies.back().gradient,
                .data = {{task.input, task.train.tensor()}},
                .rows = task.train.frames(),
                .gaussian = {},
                .notes = task.notes,
                .row_inputs = {task.input},
                .test = {},
                .validation = {}};
  target.sequences = std::move(task);
  return target;
}

Target load_graph_target(const TargetSettings& settings, const DataSettings& data) {
  LoadReport report;
  LoadOptions options;
  options.report = &report;
  options.sizes = settings.sizes;
  options.ops = settings.ops;
  Graph graph = load_graph(settings.graph, options);
  // Whether there is anything to sample is known before data are read.
  const Energy as_written(graph);
  DeclaredSizes declared = declared_sizes(settings.graph);
  for (const auto& [name, value] : settings.sizes) declared.values.at(name) = value;
  LoadedData loaded = load_data(graph, declared, data);
  std::vector<std::string> notes = report.warnings;
  notes.insert(notes.end(), loaded.notes.begin(), loaded.notes.end());

  const std::int64_t rows = rows_of_step(graph, loaded, data);
  GradientSource gradient{settings.gradient_noise, {}};
  double scale = 1;
  if (rows > 0 && !MinibatchOrder(0, loaded.rows, rows).full_batch()) {
    check_parameters(declared, as_written, loaded.rows_size);
    gradient.minibatch = {loaded.rows, rows, loaded.row_inputs};
    scale = static_cast<double>(loaded.rows) / static_cast<double>(rows);
  }
  options.report = nullptr;
  for (const auto& [name, value] : loaded.sizes) {
    const auto given = settings.sizes.find(name);
    if (given != settings.sizes.end() && given->second != value)
      fail(ErrorKind::usage, "sample", "size '{}' is to be {}, and is {} by the data", name,
           given->second, value);
    options.sizes[name] = value;
  }
  if (!loaded.rows_size.empty()) options.sizes[loaded.rows_size] = rows;
  if (!options.sizes.empty()) graph = load_graph(settings.graph, options);
  Target target{Energy(std::move(graph), scale),
                std::move(gradient),
                std::move(loaded.tensors),
                loaded.rows,
                std::nullopt,
                std::move(notes),
                std::move(loaded.row_inputs),
                std::move(loaded.test),
                std::move(loaded.validation)};
  if (target.test || target.validation) check_labels(target);
  return target;
}

}  // namespace

std::vector<TargetSettings> one_by_one(const std::vector<TargetSettings>& targets) {
  std::vector<TargetSettings> all;
  for (const TargetSettings& target : targets)
    for (std::int64_t i = 0; i < target.count; ++i) {
      all.push_back(target);
      all.back().count = 1;
      if (target.gaussian) all.back().gaussian->seed += static_cast<std::uint64_t>(i);
    }
  return all;
}

TaskData Target::task_data(std::uint64_t seed) const {
  if (sequences) return sequences->data(seed);
  TaskData task;
  task.bind = [tensors = data](Chains& chains) {
    for (const auto& [name, tensor] : tensors) chains.bind(name, tensor);
  };
  if (gradient.minibatch.rows > 0) {
    auto order =
        std::make_shared<MinibatchOrder>(seed, gradient.minibatch.rows, gradient.minibatch.size);
    task.batch = [order](std::int64_t step, std::span<std::int32_t> into) {
      std::ranges::copy(order->batch_of(step).rows, into.begin());
    };
  }
  return task;
}

std::vector<SizedEnergy> Target::energies() const {
  if (sequences) return sequences->energies;
  return {{energy, gradient}};
}

std::int64_t Target::steps_per_pass() const {
  if (sequences) return sequences->train.count();
  const Minibatch& batch = gradient.minibatch;
  return batch.rows > 0 ? batch.rows / batch.size : 0;
}

bool Target::is_evaluated() const {
  return test || validation || (sequences && (sequences->test || sequences->validation));
}

std::vector<std::unique_ptr<Evaluation>> make_evaluations(const Target& target, std::int64_t chains,
                                                          int threads) {
  std::vector<std::unique_ptr<Evaluation>> all;
  const auto add = [&](const std::optional<HeldOut>& rows,
                       const std::optional<Sequences>& sequences, const char* prefix) {
    if (rows)
      all.push_back(std::make_unique<ClassifierEvaluation>(
          target.energy, target.row_inputs, target.data, *rows, prefix, chains, threads));
    if (sequences)
      all.push_back(std::make_unique<SequenceEvaluation>(*target.sequences, *sequences, prefix,
                                                         chains, threads));
  };
  const std::optional<Sequences> none;
  add(target.test, target.sequences ? target.sequences->test : none, "");
  add(target.validation, target.sequences ? target.sequences->validation : none, "validation_");
  return all;
}

Target load_target(const TargetSettings& target, const DataSettings& data,
                   std::int64_t memory_budget) {
  if (!std::isfinite(target.gradient_noise) || target.gradient_noise < 0)
    fail(ErrorKind::usage, "sample", "the gradient noise is {}; expected 0 or more",
         target.gradient_noise);
  if (!target.gaussian)
    return data.sequences ? load_sequence_target(target, data) : load_graph_target(target, data);
  if (!data.files.empty() || data.batch || data.sequences)
    fail(ErrorKind::usage, "sample", "the target is a Gaussian, which has no data");
  return make_gaussian_target(*target.gaussian, target.gradient_noise, memory_budget);
}

TaskStatistics measure(const Target& target, const Pilot& pilot, const Start& position,
                       std::uint64_t seed, int threads, std::int64_t memory_budget) {
  return measure_task(target.energies(), pilot, position, seed, target.task_data(seed), threads,
                      memory_budget);
}

Target make_gaussian_target(const GaussianSettings& settings, double gradient_noise,
                            std::int64_t memory_budget) {
  // Covariance, its factor and the precision in f64, and the precision in f32.
  const std::int64_t bytes = settings.dimension * settings.dimension * (3 * 8 + 4);
  if (bytes > memory_budget)
    fail(ErrorKind::memory, "gaussian",
         "the matrices of a Gaussian of dimension {} need {} bytes, the budget is {}",
         settings.dimension, bytes, memory_budget);
  Gaussian gaussian = make_gaussian(settings);
  Target target{gaussian_energy(settings.dimension),
                {gradient_noise, {}},
                gaussian_data(gaussian),
                0,
                std::nullopt,
                {},
                {},
                std::nullopt,
                std::nullopt};
  target.gaussian.emplace(std::move(gaussian));
  return target;
}

Gaussian make_gaussian(const GaussianSettings& settings) {
  const std::int64_t d = settings.dimension;
  const std::vector<double> mean(static_cast<std::size_t>(d), settings.mean);
  if (!settings.correlated && !settings.diagonal) return Gaussian(mean, settings.covariance);
  for (std::uint64_t attempt = 0; attempt < covariance_attempts; ++attempt) {
    const std::uint64_t seed = settings.seed + attempt;
    const std::vector<double> covariance = settings.correlated
                                               ? random_covariance(d, *settings.correlated, seed)
                                               : diagonal_covariance(d, *settings.diagonal, seed);
    if (wide_enough(mean, covariance, settings.smallest_sd)) return Gaussian(mean, covariance);
  }
  fail(ErrorKind::usage, "gaussian",
       "none of {} random covariances of dimension {} has a standard deviation of {} or more in "
       "every direction",
       covariance_attempts, d, settings.smallest_sd);
}

Energy gaussian_energy(std::int64_t dimension) {
  Graph graph;
  const Value theta = input(graph, "theta", {DType::f32, {dimension}}, "parameter");
  const Value mean = input(graph, "mean", {DType::f32, {dimension}});
  const Value precision = input(graph, "precision", {DType::f32, {dimension, dimension}});
  const Value normaliser = input(graph, "normaliser", {DType::f32, {}});
  const Value delta = theta - mean;
  graph.add_output("U", (0.5 * sum(delta * matmul(delta, precision)) + normaliser).id);
  return Energy(std::move(graph));
}

std::map<std::string, Tensor> gaussian_data(const Gaussian& gaussian) {
  const std::int64_t d = gaussian.dimension();
  const auto as_float = [](const Shape& shape, std::span<const double> values) {
    return Tensor::from({DType::f32, shape}, values);
  };
  const double normaliser = gaussian.normaliser();
  return {{"mean", as_float({d}, gaussian.mean())},
          {"precision", as_float({d, d}, gaussian.precision())},
          {"normaliser", as_float({}, std::span(&normaliser, 1))}};
}

}  // namespace whorl::driver
