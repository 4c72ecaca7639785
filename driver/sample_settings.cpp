#include "driver/sample_settings.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "driver/sampler_choice.hpp"
#include "driver/target.hpp"
#include "engine/error.hpp"

namespace whorl::driver {

namespace {

double parse_number(std::string_view option, std::string_view word) {
  double value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, fault] = std::from_chars(word.data(), end, value);
  if (fault != std::errc{} || stop != end || !std::isfinite(value))
    fail(ErrorKind::usage, "sample", "{}: '{}' is not a number", option, word);
  return value;
}

std::int64_t parse_count(std::string_view option, std::string_view word) {
  std::int64_t value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, fault] = std::from_chars(word.data(), end, value);
  if (fault != std::errc{} || stop != end || value < 0)
    fail(ErrorKind::usage, "sample", "{}: '{}' is not a number of steps", option, word);
  return value;
}

// "kind:a,b" where that is the kind; exactly `count` numbers.
std::optional<std::vector<double>> parse_kind(std::string_view option, std::string_view text,
                                              std::string_view kind, std::size_t count) {
  if (!text.starts_with(kind) || text.substr(kind.size(), 1) != ":") return std::nullopt;
  std::vector<double> numbers;
  for (const std::string& word : split(text.substr(kind.size() + 1), ','))
    numbers.push_back(parse_number(option, word));
  if (numbers.size() != count)
    fail(ErrorKind::usage, "sample", "{}: '{}' has {} number{}; expected {}", option, text,
         numbers.size(), numbers.size() == 1 ? "" : "s", count);
  return numbers;
}

ScheduleSettings parse_phases(std::string_view option, std::string_view text) {
  ScheduleSettings schedule;
  for (const std::string& phase : split(text, ',')) {
    const std::size_t equals = phase.find('=');
    if (equals == std::string::npos)
      fail(ErrorKind::usage, "sample", "{}: the phase '{}' is not STEP=SIZE", option, phase);
    schedule.phases.push_back({parse_count(option, std::string_view(phase).substr(0, equals)),
                               parse_number(option, std::string_view(phase).substr(equals + 1)),
                               {}});
  }
  return schedule;
}

void take_target(const Arguments& arguments, ExperimentFile& experiment) {
  experiment.targets = one_by_one(experiment.targets);
  const std::int64_t count = static_cast<std::int64_t>(experiment.targets.size());
  if (count > 1 && !arguments.has("target"))
    fail(ErrorKind::usage, "sample", "the experiment has {} targets; choose one with --target N",
         count);
  if (count == 0) fail(ErrorKind::usage, "sample", "the experiment has no target");
  const std::int64_t chosen = arguments.integer("target", 1, 1, count);
  experiment.targets = {experiment.targets[static_cast<std::size_t>(chosen - 1)]};
  if (arguments.has("gradient-noise"))
    experiment.targets[0].gradient_noise =
        parse_number("--gradient-noise", arguments.text("gradient-noise"));
}

void take_data(const Arguments& arguments, DataSettings& data) {
  if (arguments.has("data") && data.sequences)
    fail(ErrorKind::usage, "sample",
         "--data is for tables and arrays, and the experiment has sequences; as in --with "
         "data.sequences.train=songs.mat:pieces");
  if (arguments.has("data")) {
    data = {};
    data.files = arguments.texts("data");
  }
  if (arguments.has("columns")) data.columns.clear();
  for (const auto& [input, columns] : arguments.assignments("columns")) {
    if (columns.empty())
      fail(ErrorKind::usage, "sample", "--columns '{}' names no columns; as in --columns {}=a,b",
           input, input);
    data.columns.emplace_back(input, split(columns, ','));
  }
  if (arguments.has("standardise")) data.standardise = split(arguments.text("standardise"), ',');
  if (arguments.has("separator")) {
    data.separator = arguments.text("separator");
    if (data.separator == "tab") data.separator = "\t";
  }
  if (arguments.has("batch"))
    data.batch = arguments.integer("batch", 0, 1, std::numeric_limits<std::int32_t>::max());
}

// The settings that the experiment has for a sampler: those of its name, or of the first file for
// another file.
SamplerSettings settings_for(const std::string& name, const std::vector<SamplerSettings>& all) {
  for (const SamplerSettings& known : all)
    if (known.name == name) return known;
  for (const SamplerSettings& known : all)
    if (is_sampler_file(name) && is_sampler_file(known.name)) {
      SamplerSettings settings = known;
      settings.name = name;
      return settings;
    }
  return {name};
}

void take_sampler(const Arguments& arguments, ExperimentFile& experiment) {
  std::string name = experiment.sampler();
  if (arguments.has("sampler")) name = arguments.text("sampler");
  if (name.empty()) name = "sghmc";
  SamplerSettings chosen = settings_for(name, experiment.samplers);
  for (const auto& [setting, word] : arguments.assignments("set")) {
    const auto choice = setting_choice(setting, word);
    const double value = choice ? *choice : parse_number(fmt::format("--set {}", setting), word);
    bool there = false;
    for (auto& [known, old] : chosen.settings)
      if (known == setting) {
        old = value;
        there = true;
      }
    if (!there) chosen.settings.emplace_back(setting, value);
  }
  if (arguments.has("step-size")) {
    chosen.step_size.reset();
    chosen.learning_rate.reset();
  }
  experiment.samplers = {std::move(chosen)};
}

void take_run(const Arguments& arguments, RunSettings& run) {
  constexpr std::int64_t most = ExperimentLimits::steps;
  run.chains = arguments.integer("chains", run.chains.value_or(4), 1, ExperimentLimits::chains);
  run.steps = arguments.integer("steps", run.steps.value_or(2000), 1, most);
  run.thin = arguments.integer("thin", run.thin.value_or(1), 1, most);
  run.burn_in = arguments.integer("burn-in", run.burn_in.value_or(*run.steps / 2), 0, most);
  if (arguments.has("seed") || !run.seed) run.seed = arguments.seed();
  if (arguments.has("step-size"))
    run.step_size = parse_schedule("--step-size", arguments.text("step-size"));
  if (arguments.has("start")) run.position = parse_start("--start", arguments.text("start"));
  if (!run.position) run.position = Start{Start::Kind::normal, 0, 1};
}

void take_storage(const Arguments& arguments, ExperimentFile& experiment) {
  StorageSettings& storage = experiment.storage;
  if (arguments.has("keep")) storage.keep = split(arguments.text("keep"), ',');
  if (arguments.has("precision")) {
    storage.precision = dtype_from_name(arguments.text("precision"));
    if (!storage.precision || !is_float(*storage.precision))
      fail(ErrorKind::usage, "sample", "--precision is '{}'; expected f32 or f64",
           arguments.text("precision"));
  }
  if (arguments.has("on-divergence")) {
    const std::string word = arguments.text("on-divergence");
    if (word != "stop" && word != "drop")
      fail(ErrorKind::usage, "sample", "--on-divergence is '{}'; expected stop or drop", word);
    experiment.run.drop_diverged = word == "drop";
  }
  std::set<std::string> goals;
  for (const std::string& goal : split(arguments.text("until"), ',')) {
    if (!arguments.has("until")) break;
    const std::size_t equals = goal.find('=');
    const std::string name = goal.substr(0, equals);
    const double value =
        equals == std::string::npos ? 0 : parse_number("--until " + name, goal.substr(equals + 1));
    if (!goals.insert(name).second)
      fail(ErrorKind::usage, "sample", "--until names '{}' twice", name);
    if (name == "ess" && value > 0) {
      experiment.stop.ess = value;
    } else if (name == "rhat" && value > 1) {
      experiment.stop.rhat = value;
    } else {
      fail(ErrorKind::usage, "sample",
           "--until: '{}' is no goal; expected ess=N, above 0, and rhat=R, above 1", goal);
    }
  }
}

void check_run(const RunSettings& run) {
  if (*run.burn_in >= *run.steps)
    fail(ErrorKind::usage, "sample", "the burn-in of {} steps leaves nothing of {} steps",
         *run.burn_in, *run.steps);
  if (*run.thin > *run.steps - *run.burn_in)
    fail(ErrorKind::usage, "sample",
         "one state in {} is kept, but only {} steps follow the burn-in: there would be no draw",
         *run.thin, *run.steps - *run.burn_in);
}

}  // namespace

Start parse_start(std::string_view option, std::string_view text) {
  if (const auto normal = parse_kind(option, text, "normal", 2)) {
    if ((*normal)[1] < 0)
      fail(ErrorKind::usage, "sample", "{}: the standard deviation is {}; expected 0 or more",
           option, (*normal)[1]);
    return {Start::Kind::normal, (*normal)[0], (*normal)[1]};
  }
  if (const auto uniform = parse_kind(option, text, "uniform", 2)) {
    if ((*uniform)[0] > (*uniform)[1])
      fail(ErrorKind::usage, "sample", "{}: the range from {} to {} is empty", option,
           (*uniform)[0], (*uniform)[1]);
    return {Start::Kind::uniform, (*uniform)[0], (*uniform)[1]};
  }
  if (text.find(':') != std::string_view::npos)
    fail(ErrorKind::usage, "sample",
         "{}: '{}' is not a start; expected normal:MEAN,SD, uniform:LOW,HIGH or a number", option,
         text);
  return {Start::Kind::constant, parse_number(option, text), 0};
}

ScheduleSettings parse_schedule(std::string_view option, std::string_view text) {
  constexpr std::string_view phases = "phases:";
  if (text.starts_with(phases)) return parse_phases(option, text.substr(phases.size()));
  ScheduleSettings schedule;
  if (const auto polynomial = parse_kind(option, text, "polynomial", 3)) {
    schedule.polynomial = {(*polynomial)[0], (*polynomial)[1], (*polynomial)[2]};
  } else if (const auto cosine = parse_kind(option, text, "cosine", 2)) {
    if ((*cosine)[1] < 1 || (*cosine)[1] > 1e15 || (*cosine)[1] != std::floor((*cosine)[1]))
      fail(ErrorKind::usage, "sample", "{}: the period of {} is not a number of steps", option,
           (*cosine)[1]);
    schedule.cosine = {(*cosine)[0], static_cast<std::int64_t>((*cosine)[1])};
  } else if (text.find(':') != std::string_view::npos) {
    fail(ErrorKind::usage, "sample",
         "{}: '{}' is not a schedule; expected a number, phases:STEP=SIZE,..., "
         "polynomial:A,B,GAMMA or cosine:HIGHEST,PERIOD",
         option, text);
  } else {
    schedule.constant = parse_number(option, text);
  }
  return schedule;
}

ScheduleSettings by_steps(ScheduleSettings schedule, std::int64_t steps_per_epoch) {
  for (ScheduleSettings::Phase& phase : schedule.phases)
    if (phase.epoch)
      phase.from = static_cast<std::int64_t>(std::ceil(*std::exchange(phase.epoch, std::nullopt) *
                                                       static_cast<double>(steps_per_epoch)));
  return schedule;
}

ScheduleSettings mapped(ScheduleSettings schedule, const std::function<double(double)>& rule) {
  if (schedule.constant) schedule.constant = rule(*schedule.constant);
  for (ScheduleSettings::Phase& phase : schedule.phases) phase.value = rule(phase.value);
  if (schedule.cosine) schedule.cosine->highest = rule(schedule.cosine->highest);
  if (schedule.polynomial)
    fail(ErrorKind::usage, "sample",
         "a polynomial learning rate is no polynomial step size; give it as one");
  return schedule;
}

Schedule make_schedule(const ScheduleSettings& settings) {
  if (settings.constant) return Schedule::constant(*settings.constant);
  if (settings.polynomial)
    return Schedule::polynomial(settings.polynomial->a, settings.polynomial->b,
                                settings.polynomial->gamma);
  if (settings.cosine) return Schedule::cyclical(settings.cosine->period, settings.cosine->highest);
  std::vector<Schedule::Phase> phases;
  for (const ScheduleSettings::Phase& phase : settings.phases)
    phases.push_back({*phase.from, phase.value});
  return Schedule::phases(std::move(phases));
}

double parse_duration(std::string_view option, std::string_view text) {
  const std::string_view units = "smhd";
  const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  constexpr std::array seconds{1.0, 60.0, 3600.0, 86400.0};
  const bool named = unit != std::string_view::npos;
  double value = 0;
  const char* end = text.data() + text.size() - (named ? 1 : 0);
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc{} || stop != end || !(value >= 0) || !std::isfinite(value))
    fail(ErrorKind::usage, "time", "{}: '{}' is no time; expected as in 90s, 15m, 2h or 1d", option,
         text);
  return value * (named ? seconds[unit] : 1);
}

SampleExperiment sample_experiment(const Arguments& arguments) {
  const std::string& path = arguments.positional()[0];
  ExperimentFile experiment;
  switch (kind_of_file(path)) {
    case FileKind::experiment:
      experiment = load_experiment(path, arguments.texts("with"));
      break;
    case FileKind::sampler:
      fail(ErrorKind::usage, "sample",
           "{} is a sampler; expected an experiment or an energy, with --sampler {}", path, path);
    case FileKind::graph:
      if (arguments.has("with"))
        fail(ErrorKind::usage, "sample",
             "--with is for experiments; {} is a graph, whose settings have options of their own",
             path);
      experiment.targets.emplace_back().graph = path;
  }
  const std::string sampler = experiment.sampler();
  take_target(arguments, experiment);
  take_data(arguments, experiment.data);
  take_sampler(arguments, experiment);
  take_run(arguments, experiment.run);
  take_storage(arguments, experiment);
  const bool meant =
      experiment.samplers.front().step_size || experiment.samplers.front().learning_rate;
  check_run(experiment.run);
  experiment.training.reset();
  SamplerSettings& chosen = experiment.samplers.front();
  if (chosen.step_size) experiment.run.step_size = std::exchange(chosen.step_size, std::nullopt);
  const bool own = !arguments.has("step-size") && !meant &&
                   (!experiment.run.step_size || experiment.sampler() != sampler);
  return {std::move(experiment), own};
}

}  // namespace whorl::driver
