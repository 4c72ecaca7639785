// whorl sample: draws from a target, and tells how well.
#include "driver/commands.hpp"
#include "driver/data_sources.hpp"
#include "driver/interruption.hpp"
#include "driver/progress.hpp"
#include "driver/run_directory.hpp"
#include "driver/sample_report.hpp"
#include "driver/sample_settings.hpp"
#include "graphs/graph_file.hpp"

namespace whorl::driver {

namespace {

SamplingOptions options_of(const RunSettings& run, const Schedule& step_size,
                           const Arguments& arguments) {
  return {.chains = *run.chains,
          .steps = *run.steps,
          .thin = *run.thin,
          .burn_in = *run.burn_in,
          .seed = *run.seed,
          .threads = arguments.threads(),
          .memory_budget = arguments.memory_budget(),
          .step_size = [step_size](std::int64_t step) { return step_size.at(step); },
          .position = *run.position,
          .momentum = run.momentum};
}

// Everything that is needed to run it again, with the names that the files have in the directory.
void write_inputs(RunDirectory& directory, ExperimentFile experiment, const Target& target,
                  const ChosenSampler& sampler) {
  if (!target.gaussian) {
    save_graph(target.energy.graph(), directory.path() / "energy.pb");
    experiment.targets[0].graph = "energy.pb";
  }
  for (std::string& file : experiment.data.files) file = absolute_source(file);
  if (sampler.file) {
    directory.write("sampler.pbtxt", to_pbtxt(*sampler.file));
    experiment.sampler = "sampler.pbtxt";
  }
  directory.write("config.pbtxt", to_pbtxt(experiment));
}

std::string status_text(double energy, const std::optional<double>& temperature) {
  return temperature ? fmt::format("U {:.5g}  T {:.3f}", energy, *temperature)
                     : fmt::format("U {:.5g}", energy);
}

struct Prepared {
  ExperimentFile experiment;
  Target target;
  ChosenSampler sampler;
  SamplingOptions options;
};

Prepared prepare(const Arguments& arguments, SampleExperiment asked, const Output& output) {
  auto [experiment, own_step_size] = std::move(asked);
  RunSettings& run = experiment.run;
  std::optional<Schedule> step_size;
  if (run.step_size) step_size = make_schedule(*run.step_size);
  override_environment(output);
  Target target = load_target(experiment.targets[0], experiment.data, arguments.memory_budget());
  for (const std::string& note : target.notes) output.note(note);
  ChosenSampler sampler = choose_sampler({.name = experiment.sampler,
                                          .settings = experiment.sampler_settings,
                                          .step_size = step_size,
                                          .own_step_size = own_step_size,
                                          .position = *run.position,
                                          .seed = *run.seed,
                                          .threads = arguments.threads(),
                                          .memory_budget = arguments.memory_budget()},
                                         target);
  for (const std::string& note : sampler.notes) output.note(note);
  if (sampler.own_step_size) {
    run.step_size.emplace();
    run.step_size->constant = *sampler.own_step_size;
  }
  SamplingOptions options = options_of(run, sampler.step_size, arguments);
  return {std::move(experiment), std::move(target), std::move(sampler), std::move(options)};
}

// Runs with a line of progress, and metrics into the directory where there is one.
// `begin` is called after the first step: a run that fails there leaves nothing behind.
SamplingResult run_visibly(SamplingRun& sampling, std::int64_t steps, RunDirectory* directory,
                           const std::function<void()>& begin, std::vector<Metrics>& metrics,
                           bool quiet) {
  const Interruption interruption;
  Progress progress("sample", "steps", steps, quiet);
  bool begun = false;
  return sampling.run(
      {.advanced =
           [&](std::int64_t step, double energy, const std::optional<double>& temperature) {
             if (!begun && directory != nullptr) begin();
             begun = true;
             if (progress.due()) progress.update(step, status_text(energy, temperature));
             return Interruption::signal() == 0;
           },
       .measured =
           [&](const Metrics& found) {
             metrics.push_back(found);
             if (directory != nullptr) directory->add_metrics(to_json_line(found));
           }});
}

void run_sample(const Arguments& arguments, Output& output) {
  SampleExperiment asked = sample_experiment(arguments);
  // Whether the results can be stored is known before the first step, a pilot's included.
  std::optional<RunDirectory> directory;
  if (arguments.has("out")) directory.emplace(arguments.text("out"), arguments.has("overwrite"));
  const auto [experiment, target, sampler, options] = prepare(arguments, std::move(asked), output);
  SamplingRun sampling(target, sampler.step, options);
  const auto begin = [&, &experiment = experiment, &target = target, &sampler = sampler] {
    directory->begin();
    write_inputs(*directory, experiment, target, sampler);
  };
  std::vector<Metrics> metrics;
  SamplingResult result;
  try {
    result = run_visibly(sampling, options.steps, directory ? &*directory : nullptr, begin, metrics,
                         output.quiet);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric || !sampler.own_step_size) throw;
    fail(ErrorKind::numeric, "sample",
         "{}; the step size, {:.4g}, is by the sampler's own rule: give another with --step-size",
         bare_text(error), *sampler.own_step_size);
  }
  if (directory) directory->write_draws(target.energy.parameters(), result.draws);

  SampleReport report = make_report(arguments.positional()[0], experiment, target, sampler,
                                    std::move(result), std::move(metrics), options.threads);
  if (directory) report.directory = directory->path().string();
  if (arguments.has("json")) {
    print_json(report, output);
  } else if (!output.quiet) {
    print_report(report, output);
  }
  if (report.result.steps < options.steps) {
    output.flush();
    fail(ErrorKind::cancelled, "sample", "stopped by a signal after step {} of {}",
         report.result.steps, options.steps);
  }
}

}  // namespace

Command sample_command() {
  return {
      "sample",
      {"TARGET"},
      1,
      "draw from a target with a sampler",
      "TARGET is an experiment, or a graph whose output is an energy. Flags override what an\n"
      "experiment says. --step-size is required unless the experiment or the sampler gives one.",
      "whorl sample energy.pbtxt --data d.csv --sampler sghmc --step-size 0.02 --out run",
      {{"sampler", "NAME|FILE",
        "sgld, psgld, sghmc (the default), sgnht, hmc, adam, sgdm or a file"},
       {"set", "NAME=VALUE", "a setting of the sampler, as in friction=0.5", '\0', true},
       {"step-size", "SIZE", "a number, or phases:0=0.01,1000=0.02, cosine:HIGHEST,PERIOD, ..."},
       {"chains", "K", "how many chains (default 4)"},
       {"steps", "T", "steps of each chain (default 2000)"},
       {"burn-in", "B", "steps before the first draw (default: half of them)"},
       {"thin", "N", "keep one state in N (default 1)"},
       {"start", "START", "normal:MEAN,SD, uniform:LOW,HIGH or a number (default normal:0,1)"},
       {"seed", "N", "of all random numbers (default 0)"},
       {"data", "FILE", "a CSV file, or INPUT=FILE.npy; once for every file", '\0', true},
       {"columns", "INPUT=A,B", "the columns of the CSV file that an input takes", '\0', true},
       {"standardise", "INPUT,...", "inputs whose columns get mean 0 and sd 1"},
       {"separator", "CHAR", "of the CSV file: ',' (the default), ';', '|' or tab"},
       {"batch", "M", "rows of a minibatch (default: all rows)"},
       {"gradient-noise", "SD", "normal noise that is added to the gradient"},
       {"target", "N", "which target of the experiment, from 1"},
       {"out", "DIR", "store draws, metrics and configuration in a new directory"},
       {"overwrite", "", "replace an earlier run in DIR"},
       threads_option,
       budget_option,
       quiet_option("no progress, and nothing printed but --json"),
       {"json", "", "print the result as JSON"}},
      &run_sample};
}

}  // namespace whorl::driver
