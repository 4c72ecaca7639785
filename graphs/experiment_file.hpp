// Experiment files: what to sample or to train on, and how, in protobuf text.
//
// The structs mirror graphs/experiment.proto; a field that a file leaves out is empty here, and the
// driver's defaults fill it. Loading checks names, kinds and ranges and throws graph Errors with
// file and line; unknown fields are refused with the nearest one offered. Files that an experiment
// names are sought in its own directory: their paths here have it in front.
// Thread safety: free functions; values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "samplers/learned.hpp"
#include "samplers/step.hpp"

namespace whorl {

inline constexpr int experiment_format_version = 1;

// What a run can be at most, by file or by flag. Steps are numbered by an i32; the other limits
// only have to stop a slip of the pen before it asks for all memory.
struct ExperimentLimits {
  static constexpr std::int64_t chains = 1'000'000;
  static constexpr std::int64_t steps = 2'147'483'647;  // of a run, or of a whole training
  static constexpr std::int64_t dimension = 100'000;
  static constexpr std::int64_t targets = 10'000;  // by one count
  static constexpr std::int64_t epochs = 1'000'000, rollouts = 1'000'000;
  static constexpr std::int64_t rollout_steps = 100'000;
};

struct GaussianSettings {
  std::int64_t dimension = 0;
  double mean = 0;
  std::optional<double> correlated, diagonal;
  std::vector<double> covariance;
  std::uint64_t seed = 0;
  double smallest_sd = 0;
};

struct TargetSettings {
  std::optional<GaussianSettings> gaussian;
  std::filesystem::path graph;  // "" when it is a gaussian
  double gradient_noise = 0;
  std::int64_t count = 1;                     // so many, with seeds from the Gaussian's on
  std::map<std::string, std::int64_t> sizes;  // of the graph, where its data do not decide them
  std::map<std::string, std::string> ops;     // that the graph leaves open
};

struct ScalingSettings {  // x' = (x / divisor - mean) / sd
  std::string input;
  double divisor = 1, mean = 0, sd = 1;
};
struct LabelSettings {
  std::string input;
  std::vector<std::int64_t> keep;
};

// Each of the first four is "FILE.mat:VARIABLE", a directory, or an NPY file.
struct SequenceSettings {
  std::string input, train;
  std::optional<std::string> validation, test;
  std::optional<std::int64_t> window;
  enum class Weighting { sequence, frame };
  Weighting weighting = Weighting::sequence;
};

struct DataSettings {
  std::vector<std::string> files;  // "dir/d.csv", or "x=dir/x.npy"
  std::vector<std::pair<std::string, std::vector<std::string>>> columns;
  std::vector<std::string> standardise;
  std::optional<std::int64_t> batch;
  std::string separator;
  std::vector<std::string> test;  // as `files`
  std::vector<ScalingSettings> scaling;
  std::optional<LabelSettings> labels;
  std::optional<std::int64_t> validation;     // the last rows, set aside
  std::optional<SequenceSettings> sequences;  // instead of `files`
};

struct ScheduleSettings {
  struct Phase {
    std::optional<std::int64_t> from;  // a step
    double value = 0;
    std::optional<double> epoch = {};  // instead of `from`: passes over the data
  };
  std::optional<double> constant;
  std::vector<Phase> phases;
  struct Polynomial {
    double a, b, gamma;
  };
  std::optional<Polynomial> polynomial;
  struct Cosine {
    double highest;
    std::int64_t period;
  };
  std::optional<Cosine> cosine;
};

// A sampler and what it is to run with.
struct SamplerSettings {
  std::string name;  // a file's name ends in .pbtxt
  std::vector<std::pair<std::string, double>> settings = {};
  std::optional<ScheduleSettings> step_size = {};      // instead of the run's
  std::optional<ScheduleSettings> learning_rate = {};  // instead of a step size
};

struct EvaluationSettings {
  std::optional<std::int64_t> every;  // steps
};

struct StorageSettings {
  std::vector<std::string> keep;
  std::optional<DType> precision;
  std::optional<double> checkpoint_seconds;  // 30, or more where one takes long
};

struct StopSettings {
  std::optional<double> ess, rhat, seconds;
};

struct RunSettings {
  std::optional<std::int64_t> chains, steps, thin, burn_in;
  std::optional<std::uint64_t> seed;
  std::optional<ScheduleSettings> step_size;
  std::optional<Start> position, momentum;
  bool drop_diverged = false;
};

struct TrainingSettings {
  LearnedSampler start;
  double curl_output = 1;
  std::optional<double> curl_start;
  std::optional<double> diffusion_start;
  std::int64_t epochs = 100, rollouts = 4, steps = 100, truncate = 20;
  struct CrossChain {
    std::int64_t every = 2;
    double ridge = 0.03, weight = 1;
  };
  std::optional<CrossChain> cross_chain;
  struct InChain {
    std::int64_t from = 50, every = 3, chains = 7;
    bool pooled = true;
    double ridge = 0.03, weight = 1;
  };
  std::optional<InChain> in_chain;
  bool separate_updates = false;
  struct Adam {
    double rate = 5e-4, final_rate = 5e-4, beta1 = 0.5, beta2 = 0.99, epsilon = 1e-8, clip = 0;
  };
  Adam adam;
  std::int64_t chains = 50;
  std::uint64_t seed = 0;
  double step_size = 0.01;
  std::optional<double> learning_rate;  // instead of it: sqrt(this / N)
  Start position{Start::Kind::normal, 0, 1}, momentum;
  bool through_gradient = false;
  double curl_decay = 0;

  std::int64_t all_steps() const { return epochs * rollouts * steps; }
};

// What others found for such an experiment, to be set beside ours.
struct PublishedValue {
  std::string sampler, quantity;
  double value = 0;
  std::optional<double> spread;      // a standard deviation
  std::optional<std::int64_t> step;  // the last one when left out
  std::string source;
};

struct ExperimentFile {
  std::string name;
  std::vector<TargetSettings> targets;
  DataSettings data;
  std::vector<SamplerSettings> samplers;  // those the file has settings for, the usual one first
  RunSettings run;
  std::optional<TrainingSettings> training;
  StorageSettings storage;
  StopSettings stop;
  std::vector<PublishedValue> published;
  EvaluationSettings evaluation;

  // The sampler of a run; "" when there is none.
  const std::string& sampler() const {
    static const std::string none;
    return samplers.empty() ? none : samplers.front().name;
  }
  const std::vector<std::pair<std::string, double>>& sampler_settings() const {
    static const std::vector<std::pair<std::string, double>> none;
    return samplers.empty() ? none : samplers.front().settings;
  }
};

// Where fetched data are: $WHORL_DATA, or whorl/data in the user's cache directory.
std::filesystem::path data_directory();

// `settings` replace what the file says, as in "training.adam.rate=0.001": every field can be
// given, by its path. A list of messages stands for all its entries, a list of values has commas.
ExperimentFile load_experiment(const std::filesystem::path& path,
                               const std::vector<std::string>& settings = {});
// `origin` stands for the file in messages.
ExperimentFile parse_experiment(std::string text, std::string_view origin,
                                const std::filesystem::path& directory = {});
std::string to_pbtxt(const ExperimentFile& experiment);

// What a file of ours holds, judged by its first field beside the version; a graph when nothing
// else fits. A file that cannot be read is an io Error.
enum class FileKind { graph, sampler, experiment };
FileKind kind_of_file(const std::filesystem::path& path);

}  // namespace whorl
