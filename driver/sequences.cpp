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

// The dimensions of the input that takes the frames, as they are written: [frames, columns].
std::vector<std::string> frames_dimensions(const Graph& graph, const DeclaredSizes& declared,
                                           const std::string& input) {
  std::vector<std::string_view> names;
  for (NodeId id : graph.input_nodes())
    if (!is_parameter(graph, id)) names.push_back(graph.name(id));
  if (std::find(names.begin(), names.end(), input) == names.end())
    fail(ErrorKind::usage, "sample", "sequences: the energy has no data input '{}'{}", input,
         did_you_mean(input, names));
  for (std::string_view name : names)
    if (name != input && name != length_input)
      fail(ErrorKind::usage, "sample",
           "the data input '{}' has no data: sequences feed '{}', and '{}' with their lengths",
           name, input, length_input);
  const auto written = declared.inputs.find(input);
  if (written == declared.inputs.end() || written->second.size() != 2 ||
      !declared.values.contains(written->second[0]))
    fail(ErrorKind::usage, "sample",
         "sequences: the input '{}' is {}; expected [frames,columns] with a name for its first "
         "size, which changes from sequence to sequence",
         input, to_string(graph.type(*graph.find(input))));
  return written->second;
}

// Where frames are what Bernoulli variables came to be, other numbers than 0 to 1 have no
// probability, and a likelihood of them any value.
void check_probabilities(const Graph& graph, const std::string& input, const std::string& source,
                         const Sequences& sequences) {
  const NodeId frames = *graph.find(input);
  bool bernoulli = false;
  for (NodeId id = 0; id < graph.size(); ++id)
    bernoulli |= graph.op(id).name == "bernoulli_cross_entropy" && graph.inputs(id)[1] == frames;
  if (!bernoulli) return;
  const Tensor& tensor = sequences.tensor();
  const std::int64_t columns = sequences.columns();
  for (std::int64_t s = 0; s < sequences.count(); ++s)
    for (std::int64_t i = columns * sequences.start(s); i < columns * sequences.start(s + 1); ++i) {
      const double value = tensor.at(i);
      if (value >= 0 && value <= 1) continue;
      fail(
          ErrorKind::data, "sample",
          "{}: sequence {}, frame {}, column {} is {}; expected 0 to 1, as bernoulli_cross_entropy "
          "has it",
          source, s + 1, i / columns - sequences.start(s) + 1, i % columns + 1, value);
    }
}

}  // namespace

SequenceTask load_sequence_task(const TargetSettings& target, const SequenceSettings& settings) {
  LoadReport report;
  LoadOptions options;
  options.report = &report;
  options.sizes = target.sizes;
  options.ops = target.ops;
  const DeclaredSizes declared = declared_sizes(target.graph);
  // The run's directory keeps this text for graphs of other lengths, and no tensors from beside it:
  // parsed without a directory, a graph that has such is refused.
  const std::string origin = target.graph.string(), text = whole_file("sample", origin);
  const Graph graph = parse_graph(text, origin, options);
  const std::vector<std::string> dims = frames_dimensions(graph, declared, settings.input);
  const Type type = graph.type(*graph.find(settings.input));

  const auto load = [&](const std::string& source) {
    check_fetched(source.substr(0, source.rfind(':')));
    Sequences sequences = load_sequences(source, type.dtype);
    const std::int64_t found = sequences.columns();
    const bool open = declared.values.contains(dims[1]) && !target.sizes.contains(dims[1]);
    if (open) options.sizes.try_emplace(dims[1], found);
    const std::int64_t wanted = open ? options.sizes.at(dims[1]) : type.shape[1];
    if (found != wanted)
      fail(ErrorKind::data, "sample", "{}: frames have {} numbers; expected {}", source, found,
           wanted);
    check_probabilities(graph, settings.input, source, sequences);
    return sequences;
  };
  Sequences train = load(settings.train);
  const std::string trained = hash(train);
  if (settings.window) train = cut(train, *settings.window);
  SequenceTask task{.input = settings.input,
                    .energy = {},
                    .graph_file = text,
                    .train = std::move(train),
                    .lengths = {},
                    .energies = {},
                    .validation = {},
                    .test = {},
                    .notes = report.warnings};
  const auto load_other = [&](const std::optional<std::string>& source,
                              std::optional<Sequences>& into) {
    if (!source) return;
    into = load(*source);
    if (hash(*into) == trained)
      task.notes.push_back(
          fmt::format("{} and {} have the same sequences: what is learned is judged by itself",
                      settings.train, *source));
  };
  load_other(settings.validation, task.validation);
  load_other(settings.test, task.test);

  options.report = nullptr;
  const auto frames = static_cast<double>(task.train.frames());
  task.energy = [text, origin, options, name = dims[0], frames](std::int64_t length) {
    LoadOptions sized = options;
    sized.sizes[name] = length;
    // A scale of its own for every sequence takes the place of this one.
    return Energy(parse_graph(text, origin, sized), frames / static_cast<double>(length));
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
  const RunMemory memory = allocate_run_memory(arena_bytes);
  memory_bytes_ = arena_bytes;
  const Shape row = sequences.tensor().shape().without_front();
  for (std::size_t i = 0; i < plans.size(); ++i) {
    memory_bytes_ += plans[i]->memory_bytes(worker_count(threads)) - plans[i]->arena_bytes;
    programs_.push_back({std::make_unique<Executor>(
                             plans[i], ExecutorOptions{.threads = threads, .memory = memory}),
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
