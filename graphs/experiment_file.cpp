#include "graphs/experiment_file.hpp"

#include <algorithm>
#include <cstdlib>

#include "graphs/experiment.pb.h"
#include "graphs/file/learned.hpp"
#include "graphs/file/print.hpp"
#include "graphs/file/setting.hpp"

namespace whorl {

namespace graphs {

namespace {

constexpr Range from_one_to(std::int64_t most) {
  return {.low = 1, .high = static_cast<double>(most)};
}

// Files that an experiment names are sought beside it, or with the data that were fetched.
std::string beside(const std::filesystem::path& directory, const std::string& path) {
  constexpr std::string_view fetched = "$WHORL_DATA/";
  if (path.starts_with(fetched)) return (data_directory() / path.substr(fetched.size())).string();
  return (directory / path).string();
}

// An environment variable that is set to something.
std::optional<std::filesystem::path> directory_in(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace

// The field lists stand outside of the unnamed namespace, where FieldReader and FieldWriter cannot
// find them.

template <class Io>
void describe(const Io& io, GaussianSettings& gaussian) {
  io.required("dimension");
  io.exactly_one({"correlated", "diagonal", "covariance"});
  io.value("dimension", gaussian.dimension, from_one_to(ExperimentLimits::dimension));
  io.value("mean", gaussian.mean);
  io.value("correlated", gaussian.correlated, positive);
  io.value("diagonal", gaussian.diagonal, positive);
  io.value("covariance", gaussian.covariance);
  io.value("seed", gaussian.seed);
  io.value("smallest_sd", gaussian.smallest_sd, not_negative);
  if constexpr (Io::reading) {
    if (gaussian.covariance.empty()) return;
    const auto n = static_cast<std::size_t>(gaussian.dimension), found = gaussian.covariance.size();
    if (found != n * n) io.refuse("covariance", "has {} numbers, expected {} by {}", found, n, n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (gaussian.covariance[i * n + j] != gaussian.covariance[j * n + i])
          io.refuse("covariance", "is not symmetric: {} in row {}, column {}, and {} across",
                    gaussian.covariance[i * n + j], i + 1, j + 1, gaussian.covariance[j * n + i]);
  }
}

// An entry of a map. Sampler files describe pairs of texts in another way, so it is no pair.
template <class T>
struct MapEntry {
  std::string name;
  T value;
};
template <class Io>
void describe(const Io& io, MapEntry<std::int64_t>& size) {
  io.required("name");
  io.required("value");
  io.value("name", size.name);
  io.value("value", size.value, count);
}
template <class Io>
void describe(const Io& io, MapEntry<std::string>& op) {
  io.required("name");
  io.required("op");
  io.value("name", op.name);
  io.value("op", op.value);
}
template <class Io, class T>
void describe_map(const Io& io, std::string_view field, std::map<std::string, T>& map) {
  std::vector<MapEntry<T>> list;
  for (const auto& [name, value] : map) list.push_back({name, value});
  io.part(field, list);
  if constexpr (Io::reading) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (!map.emplace(list[i].name, list[i].value).second)
        io.entry(field, static_cast<int>(i)).refuse("name", "'{}' is given twice", list[i].name);
  }
}

template <class Io>
void describe(const Io& io, TargetSettings& target, const std::filesystem::path& directory) {
  io.exactly_one({"gaussian", "graph"});
  io.part("gaussian", target.gaussian);
  std::optional<std::string> graph;
  if (!target.graph.empty()) graph = target.graph.string();
  io.value("graph", graph);
  if constexpr (Io::reading) {
    if (graph && graph->empty()) io.refuse("graph", "is empty, expected the name of a file");
    if (graph) target.graph = beside(directory, *graph);
  }
  io.value("gradient_noise", target.gradient_noise, not_negative);
  if (Io::reading || target.count > 1)
    io.value("count", target.count, from_one_to(ExperimentLimits::targets));
  if constexpr (Io::reading) {
    if (io.has("count") && graph) io.refuse("count", "is for Gaussians, which are drawn");
    for (const char* field : {"sizes", "ops"})
      if (io.has(field) && !graph) io.refuse(field, "are for a graph");
  }
  describe_map(io, "sizes", target.sizes);
  describe_map(io, "ops", target.ops);
}

template <class Io>
void describe(const Io& io, std::pair<std::string, std::vector<std::string>>& columns) {
  io.required("input");
  io.required("columns");
  io.value("input", columns.first);
  io.value("columns", columns.second);
}

template <class Io>
void describe(const Io& io, ScalingSettings& scaling) {
  io.required("input");
  io.value("input", scaling.input);
  io.value("divisor", scaling.divisor, positive);
  io.value("mean", scaling.mean);
  io.value("sd", scaling.sd, positive);
}

template <class Io>
void describe(const Io& io, LabelSettings& labels) {
  io.required("input");
  io.required("keep");
  io.value("input", labels.input);
  io.value("keep", labels.keep, not_negative);
}

template <class Io>
void describe(const Io& io, SequenceSettings& sequences, const std::filesystem::path& directory) {
  using Weighting = SequenceSettings::Weighting;
  io.required("input");
  io.required("train");
  io.value("input", sequences.input);
  io.value("train", sequences.train);
  io.value("validation", sequences.validation);
  io.value("test", sequences.test);
  io.value("window", sequences.window, count);
  if (Io::reading || sequences.weighting != Weighting::sequence)
    io.choice("weighting", sequences.weighting,
              Names<Weighting>{{"sequence", Weighting::sequence}, {"frame", Weighting::frame}});
  if constexpr (Io::reading) {
    const auto find = [&](std::string_view field, std::string& path) {
      if (path.empty()) io.refuse(field, "is empty, expected FILE.mat:VARIABLE or a directory");
      path = beside(directory, path);
    };
    find("train", sequences.train);
    if (sequences.validation) find("validation", *sequences.validation);
    if (sequences.test) find("test", *sequences.test);
  }
}

template <class Io>
void find_files(const Io& io, std::string_view field, std::vector<std::string>& files,
                const std::filesystem::path& directory) {
  for (std::string& file : files) {
    const auto equals = file.find('=');
    // A '=' behind a '/' is part of a path, and so is one in the name of a file that is there.
    std::error_code fault;
    const bool whole = equals == std::string::npos || file.find('/') < equals ||
                       std::filesystem::is_regular_file(beside(directory, file), fault);
    const std::size_t path = whole ? 0 : equals + 1;
    if (path == file.size()) io.refuse(field, "has '{}', expected FILE or INPUT=FILE", file);
    file = file.substr(0, path) + beside(directory, file.substr(path));
  }
}

template <class Io>
void describe(const Io& io, DataSettings& data, const std::filesystem::path& directory) {
  std::optional<std::string> separator;
  if (!data.separator.empty()) separator = data.separator;
  io.value("files", data.files);
  io.part("columns", data.columns);
  io.value("standardise", data.standardise);
  io.value("batch", data.batch, count);
  io.value("separator", separator);
  io.value("test", data.test);
  io.part("scaling", data.scaling);
  io.part("labels", data.labels);
  io.value("validation", data.validation, count);
  io.part("sequences", data.sequences, directory);
  if constexpr (Io::reading) {
    if (data.sequences)
      for (const char* field : {"files", "columns", "standardise", "batch", "separator", "test",
                                "scaling", "labels", "validation"})
        if (io.has(field)) io.refuse(field, "is given beside sequences, which have their own");
    find_files(io, "files", data.files, directory);
    find_files(io, "test", data.test, directory);
    for (std::size_t i = 0; i < data.columns.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (data.columns[i].first == data.columns[j].first)
          io.entry("columns", static_cast<int>(i))
              .refuse("input", "'{}' is given twice", data.columns[i].first);
    if (separator && separator->size() != 1)
      io.refuse("separator", "is '{}', expected one character", *separator);
    data.separator = separator.value_or("");
  }
}

template <class Io>
void describe(const Io& io, std::pair<std::string, double>& setting) {
  io.required("name");
  io.required("value");
  io.value("name", setting.first);
  io.value("value", setting.second);
}

template <class Io>
void describe(const Io& io, ScheduleSettings::Phase& phase) {
  io.exactly_one({"from", "epoch"});
  io.required("value");
  io.value("from", phase.from, not_negative);
  io.value("epoch", phase.epoch, not_negative);
  io.value("value", phase.value, positive);
}

template <class Io>
void describe(const Io& io, ScheduleSettings::Polynomial& polynomial) {
  for (const char* field : {"a", "b", "gamma"}) io.required(field);
  io.value("a", polynomial.a, positive);
  io.value("b", polynomial.b, positive);
  io.value("gamma", polynomial.gamma, not_negative);
}

template <class Io>
void describe(const Io& io, ScheduleSettings::Cosine& cosine) {
  io.required("highest");
  io.required("period");
  io.value("highest", cosine.highest, positive);
  io.value("period", cosine.period, count);
}

template <class Io>
void describe(const Io& io, ScheduleSettings& schedule) {
  io.exactly_one({"constant", "phases", "polynomial", "cosine"});
  io.value("constant", schedule.constant, positive);
  io.part("phases", schedule.phases);
  io.part("polynomial", schedule.polynomial);
  io.part("cosine", schedule.cosine);
  if constexpr (Io::reading) {
    for (std::size_t i = 0; i < schedule.phases.size(); ++i) {
      const ScheduleSettings::Phase& now = schedule.phases[i];
      const auto phase = io.entry("phases", static_cast<int>(i));
      const std::string_view field = now.from ? "from" : "epoch";
      const double from = now.from ? static_cast<double>(*now.from) : *now.epoch;
      if (i == 0 && from != 0) phase.refuse(field, "is {}, expected 0 for the first phase", from);
      if (i == 0) continue;
      const ScheduleSettings::Phase& before = schedule.phases[i - 1];
      if (now.from.has_value() != before.from.has_value())
        phase.refuse(field,
                     "is given, but not for the phase before: expected one of from and "
                     "epoch for all phases");
      const double last = before.from ? static_cast<double>(*before.from) : *before.epoch;
      if (from <= last)
        phase.refuse(field, "is {}, expected more than {} of the phase before", from, last);
    }
  }
}

template <class Io>
void describe(const Io& io, SamplerSettings& choice, const std::filesystem::path& directory) {
  io.required("name");
  io.value("name", choice.name);
  io.part("settings", choice.settings);
  io.part("step_size", choice.step_size);
  io.part("learning_rate", choice.learning_rate);
  if constexpr (Io::reading) {
    if (choice.name.empty()) io.refuse("name", "is empty, expected a sampler");
    if (choice.step_size && choice.learning_rate)
      io.refuse("learning_rate", "is given beside step_size, expected one of them");
    if (choice.name.ends_with(".pbtxt")) choice.name = beside(directory, choice.name);
    for (std::size_t i = 0; i < choice.settings.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (choice.settings[i].first == choice.settings[j].first)
          io.entry("settings", static_cast<int>(i))
              .refuse("name", "'{}' is given twice", choice.settings[i].first);
  }
}

template <class Io>
void describe(const Io& io, StorageSettings& storage) {
  std::optional<std::string> precision;
  if (storage.precision) precision = std::string(name(*storage.precision));
  io.value("keep", storage.keep);
  io.value("precision", precision);
  io.value("checkpoint_seconds", storage.checkpoint_seconds, positive);
  if constexpr (Io::reading) {
    if (!precision) return;
    storage.precision = dtype_from_name(*precision);
    if (!storage.precision || !is_float(*storage.precision))
      io.refuse("precision", "is '{}', expected f32 or f64", *precision);
  }
}

template <class Io>
void describe(const Io& io, EvaluationSettings& evaluation) {
  io.value("every", evaluation.every, from_one_to(ExperimentLimits::steps));
}

template <class Io>
void describe(const Io& io, StopSettings& stop) {
  io.value("ess", stop.ess, positive);
  io.value("rhat", stop.rhat, Range{.low = 1, .above = true});
  io.value("seconds", stop.seconds, not_negative);
}

template <class Io>
void describe(const Io& io, RunSettings& run) {
  io.value("chains", run.chains, from_one_to(ExperimentLimits::chains));
  io.value("steps", run.steps, from_one_to(ExperimentLimits::steps));
  io.value("thin", run.thin, count);
  io.value("burn_in", run.burn_in, not_negative);
  io.value("seed", run.seed);
  io.part("step_size", run.step_size);
  io.part("position", run.position);
  io.part("momentum", run.momentum);
  if (Io::reading || run.drop_diverged)
    io.choice("on_divergence", run.drop_diverged, Names<bool>{{"stop", false}, {"drop", true}});
  if constexpr (Io::reading) {
    if (run.steps && run.thin > run.steps)
      io.refuse("thin", "is {}, expected at most the {} steps", *run.thin, *run.steps);
    if (run.steps && run.burn_in >= run.steps)
      io.refuse("burn_in", "is {}, expected less than the {} steps", *run.burn_in, *run.steps);
  }
}

template <class Io>
void describe(const Io& io, TrainingSettings::CrossChain& loss) {
  io.value("every", loss.every, from_one_to(ExperimentLimits::rollout_steps));
  io.value("ridge", loss.ridge, positive);
  io.value("weight", loss.weight, positive);
}

template <class Io>
void describe(const Io& io, TrainingSettings::InChain& loss) {
  io.value("from", loss.from, not_negative);
  io.value("every", loss.every, from_one_to(ExperimentLimits::rollout_steps));
  io.value("chains", loss.chains, count);
  io.value("pooled", loss.pooled);
  io.value("ridge", loss.ridge, positive);
  io.value("weight", loss.weight, positive);
}

template <class Io>
void describe(const Io& io, TrainingSettings::Adam& adam) {
  constexpr Range momentum{.low = 0, .high = 1, .below = true};
  io.value("rate", adam.rate, positive);
  if constexpr (Io::reading) adam.final_rate = adam.rate;
  io.value("final_rate", adam.final_rate, not_negative);
  io.value("beta1", adam.beta1, momentum);
  io.value("beta2", adam.beta2, momentum);
  io.value("epsilon", adam.epsilon, positive);
  io.value("clip", adam.clip, not_negative);
}

template <class Io>
void check(const Io& io, const TrainingSettings& training) {
  if (!training.cross_chain && !training.in_chain)
    load_error(io.place(), "training has no loss: give cross_chain {{ }}, in_chain {{ }} or both");
  if (training.all_steps() > ExperimentLimits::steps)
    load_error(io.place(),
               "training is {} epochs of {} rollouts of {} steps, expected at most {} steps",
               training.epochs, training.rollouts, training.steps, ExperimentLimits::steps);
  if (training.diffusion_start && *training.diffusion_start <= training.start.c)
    io.refuse("diffusion_start",
              "is {}, expected more than c of start, {}: what the network adds to c is positive",
              *training.diffusion_start, training.start.c);
  if (io.has("step_size") && io.has("learning_rate"))
    io.refuse("learning_rate", "is given beside step_size, expected one of them");
  if (io.has("truncate") && training.truncate > training.steps)
    io.refuse("truncate", "is {}, expected at most the {} steps of a roll-out", training.truncate,
              training.steps);
  if (training.cross_chain && training.cross_chain->every > training.steps)
    io.entry("cross_chain")
        .refuse("every", "is {}, expected at most the {} steps of a roll-out",
                training.cross_chain->every, training.steps);
  if (!training.in_chain) return;
  const auto in_chain = io.entry("in_chain");
  if (training.in_chain->chains > training.chains)
    in_chain.refuse("chains", "is {}, expected at most the {} chains", training.in_chain->chains,
                    training.chains);
  if (training.in_chain->from >= training.steps)
    in_chain.refuse("from", "is {}, expected less than the {} steps of a roll-out",
                    training.in_chain->from, training.steps);
}

template <class Io>
void describe(const Io& io, TrainingSettings& training) {
  io.required("start");
  io.part("start", training.start, Weights::absent);
  io.value("curl_output", training.curl_output);
  io.value("curl_start", training.curl_start);
  io.value("diffusion_start", training.diffusion_start, positive);
  io.value("epochs", training.epochs, from_one_to(ExperimentLimits::epochs));
  io.value("rollouts", training.rollouts, from_one_to(ExperimentLimits::rollouts));
  io.value("steps", training.steps, from_one_to(ExperimentLimits::rollout_steps));
  io.value("truncate", training.truncate, not_negative);
  io.part("cross_chain", training.cross_chain);
  io.part("in_chain", training.in_chain);
  io.value("separate_updates", training.separate_updates);
  io.part("adam", training.adam);
  io.value("chains", training.chains,
           Range{.low = 2, .high = static_cast<double>(ExperimentLimits::chains)});
  io.value("seed", training.seed);
  if (Io::reading || !training.learning_rate) io.value("step_size", training.step_size, positive);
  io.value("learning_rate", training.learning_rate, positive);
  io.part("position", training.position);
  io.part("momentum", training.momentum);
  io.value("through_gradient", training.through_gradient);
  io.value("curl_decay", training.curl_decay, not_negative);
  if constexpr (Io::reading) check(io, training);
}

template <class Io>
void describe(const Io& io, PublishedValue& published) {
  // A value that does not say where it is from is worth nothing.
  for (const char* field : {"sampler", "quantity", "value", "source"}) io.required(field);
  io.value("sampler", published.sampler);
  io.value("quantity", published.quantity);
  io.value("value", published.value);
  io.value("spread", published.spread, not_negative);
  io.value("step", published.step, not_negative);
  io.value("source", published.source);
}

template <class Io>
void describe(const Io& io, ExperimentFile& experiment, const std::filesystem::path& directory) {
  io.value("experiment", experiment.name);
  io.part("targets", experiment.targets, directory);
  io.part("data", experiment.data, directory);
  io.part("sampler", experiment.samplers, directory);
  if constexpr (Io::reading) {
    for (std::size_t i = 0; i < experiment.samplers.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (experiment.samplers[i].name == experiment.samplers[j].name)
          io.entry("sampler", static_cast<int>(i))
              .refuse("name", "'{}' is given twice", experiment.samplers[i].name);
  }
  io.part("run", experiment.run);
  io.part("training", experiment.training);
  io.part("storage", experiment.storage);
  io.part("stop", experiment.stop);
  io.part("published", experiment.published);
  io.part("evaluation", experiment.evaluation);
}

namespace {

ExperimentFile load(Source source, const std::vector<std::string>& settings = {}) {
  source.what = "an experiment";
  file::Experiment message;
  Places places;
  read_text(source, message, places);
  for (const std::string& setting : settings) {
    if (setting.starts_with("sampler.") && message.sampler().empty()) message.add_sampler();
    change_setting(message, setting);
  }
  const FieldReader io(source, message, &places);
  check_version(message, experiment_format_version, io.place("format_version"));
  ExperimentFile experiment;
  describe(io, experiment, source.directory);
  return experiment;
}

}  // namespace

}  // namespace graphs

std::filesystem::path data_directory() {
  using graphs::directory_in;
  if (const auto given = directory_in("WHORL_DATA")) return *given;
  if (const auto cache = directory_in("XDG_CACHE_HOME")) return *cache / "whorl" / "data";
  return directory_in("HOME").value_or("/") / ".cache" / "whorl" / "data";
}

ExperimentFile load_experiment(const std::filesystem::path& path,
                               const std::vector<std::string>& settings) {
  const LoadLimits limits;
  return graphs::load({path.string(), path.parent_path(), graphs::read_file(path, limits), limits},
                      settings);
}

ExperimentFile parse_experiment(std::string text, std::string_view origin,
                                const std::filesystem::path& directory) {
  return graphs::load({std::string(origin), directory, std::move(text), {}});
}

std::string to_pbtxt(const ExperimentFile& experiment) {
  file::Experiment message;
  message.set_format_version(experiment_format_version);
  ExperimentFile copy = experiment;
  const graphs::FieldWriter io(message);
  graphs::describe(io, copy, std::filesystem::path());
  return graphs::many_lines(message);
}

FileKind kind_of_file(const std::filesystem::path& path) {
  const LoadLimits limits;
  graphs::Source source{path.string(), {}, graphs::read_file(path, limits), limits};
  graphs::Lines lines;
  try {
    graphs::check_form(source, lines);
  } catch (const Error&) {
    // Loading it as what it seems to be says the same again.
  }
  const auto has = [&](const google::protobuf::Descriptor* message) {
    return message->FindFieldByName(std::string(lines.first_field)) != nullptr;
  };
  const bool sampler = has(file::Sampler::descriptor()),
             experiment = has(file::Experiment::descriptor());
  if (sampler && experiment) return lines.first_is_text ? FileKind::sampler : FileKind::experiment;
  return sampler ? FileKind::sampler : experiment ? FileKind::experiment : FileKind::graph;
}

}  // namespace whorl
