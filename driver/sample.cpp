// whorl sample: draws from a target, and tells how well.
#include "driver/commands.hpp"
#include "driver/sample_run.hpp"
#include "driver/sampler_choice.hpp"
#include "driver/seeds.hpp"

namespace whorl::driver {

namespace {

// Named after the target and the sampler where the user does not say.
std::filesystem::path directory_for(const Arguments& arguments, const ExperimentFile& experiment) {
  if (arguments.has("out")) return arguments.text("out");
  const std::string sampler = is_sampler_file(experiment.sampler())
                                  ? std::filesystem::path(experiment.sampler()).stem().string()
                                  : experiment.sampler();
  const std::filesystem::path target(arguments.positional()[0]);
  return std::filesystem::path("runs") / fmt::format("{}-{}", target.stem().string(), sampler);
}

void run_sample(const Arguments& arguments, Output& output) {
  override_environment(output);
  if (arguments.has("seeds")) return sample_seeds(arguments, output);
  const Session session = Session::of(arguments);
  SampleRequest request{arguments.positional()[0], sample_experiment(arguments), session};
  request.asked.experiment = with_limits(std::move(request.asked.experiment), session);
  // Whether the results can be stored is known before the first step, a pilot's included.
  RunDirectory directory(directory_for(arguments, request.asked.experiment), use_for(arguments));
  sample_into(directory, std::move(request), {}, output);
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
        "sgld, psgld, sghmc (the default), sgnht, hmc, santa, adam, sgdm or a file"},
       {"set", "NAME=VALUE", "a setting of the sampler, as in friction=0.5", '\0', true},
       {"step-size", "SIZE", "a number, or phases:0=0.01,1000=0.02, cosine:HIGHEST,PERIOD, ..."},
       {"chains", "K", "how many chains (default 4)"},
       {"steps", "T", "steps of each chain (default 2000)"},
       {"burn-in", "B", "steps before the first draw (default: half of them)"},
       {"thin", "N", "keep one state in N (default 1)"},
       {"start", "START", "normal:MEAN,SD, uniform:LOW,HIGH or a number (default normal:0,1)"},
       {"seed", "N", "of all random numbers (default 0)"},
       {"seeds", "N,...|A..B", "a run for each, in DIR/seed-N; those that are done are left alone"},
       {"data", "FILE", "a CSV file, or INPUT=FILE.npy; once for every file", '\0', true},
       {"columns", "INPUT=A,B", "the columns of the CSV file that an input takes", '\0', true},
       {"standardise", "INPUT,...", "inputs whose columns get mean 0 and sd 1"},
       {"separator", "CHAR", "of the CSV file: ',' (the default), ';', '|' or tab"},
       {"batch", "M", "rows of a minibatch (default: all rows)"},
       {"gradient-noise", "SD", "normal noise that is added to the gradient"},
       {"target", "N", "which target of the experiment, from 1"},
       with_option,
       {"out", "DIR", "the run's directory (default: a new one in runs/)"},
       {"overwrite", "", "replace an earlier run in DIR"},
       {"keep", "NAME,...", "parameters whose draws are kept (default: all)"},
       {"precision", "f32|f64", "of the draws (default: the target's)"},
       {"until", "GOALS", "end when the draws are good enough, as in ess=400,rhat=1.01"},
       {"on-divergence", "WHAT", "stop (the default), or drop the chain and go on"},
       max_time_option,
       checkpoint_option,
       threads_option,
       budget_option,
       quiet_option("no progress, and nothing printed but --json"),
       {"json", "", "print the result, and progress, as JSON"}},
      &run_sample};
}

}  // namespace whorl::driver
