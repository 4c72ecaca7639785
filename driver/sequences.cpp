#include "driver/sequences.hpp"

#include <algorithm>
#include <cstring>

#include "data/minibatch.hpp"
#include "driver/data_sources.hpp"
#include "engine/attributes.hpp"
#include "engine/file.hpp"
#include "engine/passes.hpp"
#include "engine/plan.hpp"
#include "engine/role.hpp"
#include "graphs/graph_file.hpp"
#include "storage/checkpoint.hpp"

namespace whorl::driver {

namespace {

// The dimensions of the input that takes the frames, as they are written.
std::vector<std::string> frames_dimensions(const Graph& graph, const DeclaredSizes& declared,
                                           const std::string& input) {
  std::vector<std::string_view> names;
  for (NodeId id : graph.input_nodes()) {
    if (is_parameter(graph, id)) continue;
    names.push_back(graph.name(id));
    if (graph.name(id) != input && graph.name(id) != length_input)
      fail(ErrorKind::usage, "sample",
           "the data input '{}' has no data: sequences feed '{}', and '{}' with their lengths",
           graph.name(id), input, length_input);
  }
  if (std::find(names.begin(), names.end(), input) == names.end())
    fail(ErrorKind::usage, "sample", "sequences: the energy has no data input '{}'{}", input,
         did_you_mean(input, names));
  const auto written = declared.inputs.find(input);
  if (written == declared.inputs.end() || written->second.size() < 2 ||
      !declared.values.contains(written->second[0]))
    fail(ErrorKind::usage, "sample",
         "sequences: the input '{}' is {}; expected [frames, ...] with a name for its first size, "
         "which changes from sequence to sequence",
         input, to_string(graph.type(*graph.find(input))));
  return written->second;
}

}  // namespace

SequenceTask load_sequence_task(const TargetSettings& target, const SequenceSettings& settings) {
  LoadReport report;
  LoadOptions options;
  options.report = &report;
  options.sizes = target.sizes;
  options.ops = target.ops;
  const Graph graph = load_graph(target.graph, options);
  const DeclaredSizes declared = declared_sizes(target.graph);
  const std::vector<std::string> dims = frames_dimensions(graph, declared, settings.input);
  const Type type = graph.type(*graph.find(settings.input));

  const auto load = [&](const std::string& source) {
    check_fetched(source.substr(0, source.rfind(':')));
    Sequences sequences = load_sequences(source, type.dtype);
    const Shape row = sequences.tensor().shape().without_front();
    if (row.rank() + 1 != static_cast<int>(dims.size()))
      fail(ErrorKind::data, "sample", "{}: a frame is {}, and the input '{}' is {}", source,
           to_string(row), settings.input, to_string(type));
    for (std::size_t axis = 1; axis < dims.size(); ++axis) {
      const std::int64_t found = row[static_cast<int>(axis) - 1];
      const bool open = declared.values.contains(dims[axis]) && !target.sizes.contains(dims[axis]);
      if (open) options.sizes.try_emplace(dims[axis], found);
      const std::int64_t wanted =
          open ? options.sizes.at(dims[axis]) : type.shape[static_cast<int>(axis)];
      if (found != wanted)
        fail(ErrorKind::data, "sample", "{}: frames have {} numbers along axis {}; expected {}",
             source, found, axis, wanted);
    }
    return sequences;
  };
  Sequences train = load(settings.train);
  if (settings.window) train = cut(train, *settings.window);
  SequenceTask task{.input = settings.input,
                    .energy = {},
                    .graph_file = whole_file("sample", target.graph.string()),
                    .train = std::move(train),
                    .lengths = {},
                    .energies = {},
                    .validation = {},
                    .test = {},
                    .notes = report.warnings};
  if (settings.validation) task.validation = load(*settings.validation);
  if (settings.test) task.test = load(*settings.test);

  options.report = nullptr;
  const auto frames = static_cast<double>(task.train.frames());
  task.energy = [path = target.graph, options, name = dims[0], frames](std::int64_t length) {
    LoadOptions sized = options;
    sized.sizes[name] = length;
    // A scale of its own for every sequence takes the place of this one.
    return Energy(load_graph(path, sized), frames / static_cast<double>(length));
  };
  task.lengths = bucket_lengths(task.train);
  const bool by_frame = settings.weighting == SequenceSettings::Weighting::frame;
  for (std::int64_t length : task.lengths)
    task.energies.push_back({task.energy(length),
                             {target.gradient_noise,
                              {.rows = task.train.frames(),
                               .size = length,
                               .inputs = {settings.input},
                               .length = length_input,
                               .sequences = by_frame ? task.train.count() : 0}}});
  return task;
}

TaskData SequenceTask::data(std::uint64_t seed) const {
  struct Order {
    MinibatchOrder order;
    const Sequences train;
    const std::vector<std::int64_t> lengths;
    std::int64_t at(std::int64_t step) { return order.batch_of(step).rows[0]; }
  };
  const auto order =
      std::make_shared<Order>(MinibatchOrder(seed, train.count(), 1), train, lengths);
  TaskData task;
  task.bind = [order, name = input](Chains& chains) {
    chains.bind(name, order->train.tensor());
    chains.choose([order](std::int64_t step) {
      return bucket_of(order->lengths, order->train.length(order->at(step)));
    });
  };
  task.batch = [order](std::int64_t step, std::span<std::int32_t> into) {
    const std::int64_t sequence = order->at(step);
    const auto length = static_cast<std::int32_t>(order->train.length(sequence));
    const auto start = static_cast<std::int32_t>(order->train.start(sequence));
    into[0] = length;
    for (std::size_t t = 1; t < into.size(); ++t)
      into[t] = start + std::min(static_cast<std::int32_t>(t), length) - 1;
  };
  return task;
}

std::string hash(const Sequences& sequences) {
  std::vector<double> starts(sequences.starts().begin(), sequences.starts().end());
  return tensors_hash(std::map<std::string, Tensor>{
      {"frames", sequences.tensor()},
      {"starts", Tensor::from({DType::f64, {static_cast<std::int64_t>(starts.size())}}, starts)}});
}

SequencePredictor::SequencePredictor(const SequenceTask& task, const Sequences& sequences,
                                     std::int64_t chains, int threads)
    : sequences_(sequences),
      input_(task.input),
      chains_(chains),
      lengths_(bucket_lengths(sequences)) {
  std::vector<std::shared_ptr<const Plan>> plans;
  std::int64_t arena_bytes = 0;
  for (std::int64_t length : lengths_) {
    const Graph one = task.energy(length).prediction(losses_output);
    const Type& type = one.type(one.outputs()[0].node);
    if (type.shape != Shape{length} || !is_float(type.dtype))
      graph_error("energy", "output '{}' is {}; expected a number for each of the {} frames",
                  losses_output, to_string(type), length);
    plans.push_back(compile(batch(one, {"theta"}, chains)));
    arena_bytes = std::max(arena_bytes, plans.back()->arena_bytes);
  }
  // One program runs at a time.
  const Arena arena = allocate_arena(arena_bytes);
  memory_bytes_ = arena_bytes;
  const Shape row = sequences.tensor().shape().without_front();
  for (std::size_t i = 0; i < plans.size(); ++i) {
    memory_bytes_ += plans[i]->memory_bytes(threads) - plans[i]->arena_bytes;
    programs_.push_back(
        {std::make_unique<Executor>(plans[i], ExecutorOptions{.threads = threads, .arena = arena}),
         Tensor({sequences.tensor().dtype(), row.with_front(lengths_[i])})});
    programs_.back().executor->bind(length_input, length_);
  }
}

void SequencePredictor::predict(const Tensor& positions, const std::vector<bool>& counts,
                                PredictiveDensity& into) {
  for (Program& program : programs_) program.executor->bind("theta", positions);
  for (std::int64_t s = 0; s < sequences_.count(); ++s) {
    const std::int64_t first = sequences_.start(s), length = sequences_.length(s);
    const std::size_t which = bucket_of(lengths_, length);
    Program& program = programs_[which];
    const std::int64_t size = lengths_[which];
    if (first + size <= sequences_.frames()) {
      // What follows is another sequence, which the graph leaves out.
      program.executor->bind(input_, rows_of(sequences_.tensor(), first, size));
    } else {
      const Tensor part = rows_of(sequences_.tensor(), first, length);
      std::memcpy(program.padded.raw(), part.raw(), static_cast<std::size_t>(part.bytes()));
      program.executor->bind(input_, program.padded);
    }
    *length_.data<std::int32_t>() = static_cast<std::int32_t>(length);
    program.executor->run();
    const Tensor& losses = program.executor->output(losses_output);
    for (std::int64_t chain = 0; chain < chains_; ++chain) {
      if (!counts[static_cast<std::size_t>(chain)]) continue;
      dispatch(losses.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>)
          into.add(
              std::span<const T>(losses.data<T>() + chain * size, static_cast<std::size_t>(length)),
              first);
      });
    }
  }
}

SequenceEvaluation::SequenceEvaluation(const SequenceTask& task, const Sequences& sequences,
                                       std::string prefix, std::int64_t chains, int threads)
    : Evaluation(std::move(prefix)),
      predictor_(task, sequences, chains, threads),
      now_(sequences.starts()),
      average_(sequences.starts()) {}

void SequenceEvaluation::look(const Tensor& positions, const std::vector<bool>& alive, bool count) {
  now_.clear();
  predictor_.predict(positions, alive, now_);
  if (count) average_.add(now_);
}

std::vector<std::pair<std::string, double>> SequenceEvaluation::numbers() const {
  std::vector<std::pair<std::string, double>> all;
  const auto add = [&](std::string_view kind, const PredictiveDensity& density) {
    if (density.draws() == 0) return;
    const SequenceScores scores = density.scores();
    all.emplace_back(fmt::format("{}{}nll", prefix(), kind), scores.nll);
    all.emplace_back(fmt::format("{}{}nll_after_first", prefix(), kind), scores.nll_after_first);
    all.emplace_back(fmt::format("{}{}nll_by_sequence", prefix(), kind), scores.nll_by_sequence);
  };
  add("", now_);
  add("average_", average_);
  return all;
}

std::int64_t SequenceEvaluation::memory_bytes() const {
  return predictor_.memory_bytes() + 2 * static_cast<std::int64_t>(average_.sums().size_bytes());
}

}  // namespace whorl::driver
