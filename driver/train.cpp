// whorl train: learns a sampler on the targets of an experiment.
#include <algorithm>

#include "driver/commands.hpp"
#include "driver/data_sources.hpp"
#include "driver/interruption.hpp"
#include "driver/json.hpp"
#include "driver/meta_learning.hpp"
#include "driver/print.hpp"
#include "driver/progress.hpp"
#include "driver/run_directory.hpp"
#include "driver/target.hpp"
#include "graphs/graph_file.hpp"
#include "graphs/sampler_file.hpp"

namespace whorl::driver {

namespace {

ExperimentFile training_experiment(const Arguments& arguments) {
  ExperimentFile experiment = load_experiment(arguments.positional()[0]);
  if (!experiment.training)
    fail(ErrorKind::usage, "train", "{}: the experiment has no training {{ ... }}",
         arguments.positional()[0]);
  TrainingSettings& training = *experiment.training;
  if (arguments.has("seed")) training.seed = arguments.seed();
  training.epochs = arguments.integer("epochs", training.epochs, 1, ExperimentLimits::epochs);
  training.chains = arguments.integer("chains", training.chains, 2, ExperimentLimits::chains);
  if (training.in_chain && training.in_chain->chains > training.chains)
    fail(ErrorKind::usage, "train", "--chains is {}, but in_chain of the experiment needs {}",
         training.chains, training.in_chain->chains);
  if (training.all_steps() > ExperimentLimits::steps)
    fail(ErrorKind::usage, "train",
         "--epochs is {}: with {} rollouts of {} steps each there would be more than {} steps",
         training.epochs, training.rollouts, training.steps, ExperimentLimits::steps);
  return experiment;
}

// So that the copy in the run's directory means the same files.
ExperimentFile with_absolute_paths(ExperimentFile experiment) {
  for (TargetSettings& target : experiment.targets)
    if (!target.graph.empty()) target.graph = std::filesystem::absolute(target.graph);
  for (std::string& file : experiment.data.files) file = absolute_source(file);
  return experiment;
}

struct Curriculum {
  Target first;  // its energy serves all of them
  std::vector<TrainingTask> tasks;
};

// Tasks share one graph, so all targets must have one energy; Gaussians of a dimension do.
Curriculum make_curriculum(const ExperimentFile& experiment, int threads,
                           std::int64_t memory_budget, Output& output) {
  const std::vector<TargetSettings> settings = one_by_one(experiment.targets);
  if (settings.empty()) fail(ErrorKind::usage, "train", "the experiment has no targets");
  Curriculum all{load_target(settings[0], experiment.data, memory_budget), {}};
  const TrainingSettings& training = *experiment.training;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const bool same = settings[i].gaussian && settings[0].gaussian &&
                      settings[i].gaussian->dimension == settings[0].gaussian->dimension &&
                      settings[i].gradient_noise == settings[0].gradient_noise;
    if (i > 0 && !same)
      fail(ErrorKind::usage, "train",
           "target {} differs from the first in more than its law: targets of one training are "
           "Gaussians of one dimension with one gradient noise, or a single graph",
           i + 1);
    const Target target =
        i == 0 ? all.first : load_target(settings[i], experiment.data, memory_budget);
    for (const std::string& note : target.notes) output.note(note);
    TrainingTask task{
        fmt::format("target {}", i + 1), {}, {}, target.task_data(training.seed).batch};
    for (const auto& [name, tensor] : target.data) task.data.emplace(name, tensor);
    if (training.start.needs_statistics())
      task.statistics = measure(target, training.start.pilot, training.position, training.seed,
                                threads, memory_budget);
    all.tasks.push_back(std::move(task));
  }
  return all;
}

TaskStatistics mean_statistics(const std::vector<TrainingTask>& tasks) {
  TaskStatistics mean{0, 0, 0, 0};
  for (const TrainingTask& task : tasks) {
    const double share = 1 / static_cast<double>(tasks.size());
    mean.energy_mean += share * task.statistics.energy_mean;
    mean.energy_sd += share * task.statistics.energy_sd;
    mean.momentum_rms += share * task.statistics.momentum_rms;
    mean.gradient_rms += share * task.statistics.gradient_rms;
  }
  return mean;
}

std::string to_json_line(const UpdateReport& report, double seconds) {
  std::string line = fmt::format(
      "{{\"update\": {}, \"epoch\": {}, \"seconds\": {}, \"energy\": {}, \"curl\": {}, "
      "\"diffusion\": {}, \"clamped\": {}",
      report.update, report.epoch, json_number(seconds), json_number(report.mean_energy),
      json_number(report.curl), json_number(report.diffusion), json_number(report.clamped));
  for (const auto& [name, loss] : report.losses)
    line += fmt::format(", \"loss/{}\": {}", name, json_number(loss));
  return line + "}\n";
}

// Times stay out of the record: the same training gives the same file.
SamplerFile sampler_file(const ExperimentFile& experiment, const MetaLearning& learning,
                         const std::vector<TrainingTask>& tasks, const UpdateReport& last) {
  SamplerFile file;
  file.name = experiment.name;
  file.learned = learning.sampler();
  file.learned->statistics = mean_statistics(tasks);
  const TrainingSettings& training = *experiment.training;
  file.record = {{"whorl", WHORL_VERSION},
                 {"experiment", experiment.name},
                 {"targets", fmt::format("{}", tasks.size())},
                 {"seed", fmt::format("{}", training.seed)},
                 {"chains", fmt::format("{}", training.chains)},
                 {"steps", fmt::format("{}", training.steps)},
                 {"updates", fmt::format("{} of {}", last.update, last.updates)},
                 {"mean curl", fmt::format("{:.6g}", last.curl)},
                 {"mean diffusion", fmt::format("{:.6g}", last.diffusion)},
                 {"clamped share", fmt::format("{:.6g}", last.clamped)}};
  return file;
}

void print_summary(const SamplerFile& file, const UpdateReport& last, double seconds,
                   const std::string& path, const Arguments& arguments, Output& output) {
  if (arguments.has("json")) {
    Json json;
    json.object().field("sampler", path).field("hash", canonical_hash(file));
    json.field("updates", last.update).field("seconds", seconds);
    json.field("energy", last.mean_energy).field("curl", last.curl);
    json.field("diffusion", last.diffusion).field("clamped", last.clamped);
    return output.write(json.end().text());
  }
  if (output.quiet) return;
  output.print("trained {} in {}: {} updates\n", file.name, seconds_text(seconds), last.update);
  output.print("  mean curl Q       {:.4g}\n  mean diffusion D  {:.4g}\n", last.curl,
               last.diffusion);
  output.print("  clamped           {:.2f}% of coordinates\n", 100 * last.clamped);
  output.print("wrote {}\n", printable(path));
}

void run_train(const Arguments& arguments, Output& output) {
  const ExperimentFile experiment = training_experiment(arguments);
  override_environment(output);
  const int threads = arguments.threads();
  const std::int64_t budget = arguments.memory_budget();
  if (!arguments.has("out"))
    fail(ErrorKind::usage, "train", "--out DIR is missing: the sampler has to go somewhere");
  RunDirectory directory(arguments.text("out"), arguments.has("overwrite"));
  const Curriculum curriculum = make_curriculum(experiment, threads, budget, output);
  MetaLearning learning(curriculum.first.energy, curriculum.first.gradient, *experiment.training,
                        curriculum.tasks, threads, budget);
  if (arguments.has("save-graph")) save_graph(learning.graph(), arguments.text("save-graph"));

  const Interruption interruption;
  UpdateReport report{.updates = learning.updates()};
  double seconds = 0;
  {
    Progress progress("train", "updates", learning.updates(), output.quiet);
    while (Interruption::signal() == 0 && learning.update(report)) {
      seconds = progress.seconds();
      // Not before: a training that fails in its first update leaves nothing behind.
      if (report.update == 1) {
        directory.begin();
        directory.write("config.pbtxt", to_pbtxt(with_absolute_paths(experiment)));
      }
      directory.add_metrics(to_json_line(report, seconds));
      if (progress.due())
        progress.update(report.update,
                        fmt::format("U {:.5g}  Q {:.3g}  D {:.3g}", report.mean_energy, report.curl,
                                    report.diffusion));
    }
  }
  if (report.update == 0)
    fail(ErrorKind::cancelled, "train", "stopped by a signal before the first update");
  const SamplerFile file = sampler_file(experiment, learning, curriculum.tasks, report);
  directory.write("sampler.pbtxt", to_pbtxt(file));
  print_summary(file, report, seconds, (directory.path() / "sampler.pbtxt").string(), arguments,
                output);
  if (report.clamped > 0.5)
    output.note(
        fmt::format("{:.0f}% of the coordinates are at a clamp: the sampler has learned "
                    "little more than constants",
                    100 * report.clamped));
  if (report.update < report.updates) {
    output.flush();
    fail(ErrorKind::cancelled, "train", "stopped by a signal after update {} of {}", report.update,
         report.updates);
  }
}

}  // namespace

Command train_command() {
  return {
      "train",
      {"EXPERIMENT"},
      1,
      "learn a sampler on the targets of an experiment",
      "Unrolls chains of the sampler, differentiates a loss of what they visit by the weights\n"
      "of its networks, and leaves DIR/sampler.pbtxt, which 'whorl sample --sampler' takes.",
      "whorl train graphs/experiments/gaussian.pbtxt --out runs/g",
      {{"out", "DIR", "the new directory for sampler, metrics and configuration"},
       {"overwrite", "", "replace an earlier run in DIR"},
       {"seed", "N", "of weights, starts and noise (default: the experiment's)"},
       {"epochs", "N", "fresh starts (default: the experiment's)"},
       {"chains", "K", "chains of a roll-out (default: the experiment's)"},
       {"save-graph", "FILE", "store one update as a graph: unrolled, differentiated, with Adam"},
       threads_option,
       budget_option,
       quiet_option("no progress, and nothing printed but --json"),
       json_option},
      &run_train};
}

}  // namespace whorl::driver
