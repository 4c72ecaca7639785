// whorl train: learns a sampler on the targets of an experiment.
#include "driver/commands.hpp"
#include "driver/train_run.hpp"

namespace whorl::driver {

namespace {

ExperimentFile training_experiment(const Arguments& arguments) {
  ExperimentFile experiment = load_experiment(arguments.positional()[0], arguments.texts("with"));
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

void run_train(const Arguments& arguments, Output& output) {
  override_environment(output);
  const Session session = Session::of(arguments);
  TrainRequest request{with_limits(training_experiment(arguments), session), session,
                       arguments.text("save-graph")};
  const std::filesystem::path experiment(arguments.positional()[0]);
  RunDirectory directory(arguments.has("out") ? std::filesystem::path(arguments.text("out"))
                                              : std::filesystem::path("runs") / experiment.stem(),
                         use_for(arguments));
  train_into(directory, std::move(request), {}, output);
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
      {{"out", "DIR", "the run's directory (default: a new one in runs/)"},
       {"overwrite", "", "replace an earlier run in DIR"},
       {"seed", "N", "of weights, starts and noise (default: the experiment's)"},
       {"epochs", "N", "fresh starts (default: the experiment's)"},
       {"chains", "K", "chains of a roll-out (default: the experiment's)"},
       {"save-graph", "FILE", "store one update as a graph: unrolled, differentiated, with Adam"},
       with_option,
       max_time_option,
       checkpoint_option,
       threads_option,
       budget_option,
       quiet_option("no progress, and nothing printed but --json"),
       {"json", "", "print the result, and progress, as JSON"}},
      &run_train};
}

}  // namespace whorl::driver
