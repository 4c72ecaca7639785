// whorl resume: goes on with a run that was stopped or killed.
#include "driver/resume.hpp"

#include "driver/commands.hpp"
#include "driver/sample_run.hpp"
#include "driver/train_run.hpp"

namespace whorl::driver {

namespace {

// A run that was killed before its first checkpoint begins again: it comes to the same end.
std::optional<Checkpoint> newest_checkpoint(RunDirectory& directory, const Output& output) {
  std::vector<std::string> notes;
  std::optional<Checkpoint> checkpoint = directory.checkpoints().newest(notes);
  for (const std::string& note : notes) output.note(note);
  if (!checkpoint) output.note("there is no checkpoint yet: the run begins again");
  return checkpoint;
}

void run_resume(const Arguments& arguments, Output& output) {
  override_environment(output);
  resume_run(arguments.positional()[0], Session::of(arguments), output);
}

}  // namespace

void resume_run(const std::filesystem::path& path, const Session& session, Output& output) {
  RunDirectory directory(path, RunDirectory::Use::resume);
  ExperimentFile experiment = load_experiment(directory.file("config.pbtxt"));
  std::optional<Checkpoint> checkpoint = newest_checkpoint(directory, output);
  if (experiment.training)
    return train_into(directory, {std::move(experiment), session, ""}, std::move(checkpoint),
                      output);
  sample_into(directory, {path.string(), {std::move(experiment), false}, session},
              std::move(checkpoint), output);
}

Command resume_command() {
  return {
      "resume",
      {"DIR"},
      1,
      "go on with a run that was stopped or killed",
      "Takes up the run in DIR, of 'sample' or 'train', from its last checkpoint. What it leaves\n"
      "is the same bits as if it had never been stopped. --max-time 0s ends it with what it has.",
      "whorl resume runs/g",
      {max_time_option,
       checkpoint_option,
       {"strict", "", "refuse to go on where the same bits are not certain"},
       threads_option,
       budget_option,
       quiet_option("no progress, and nothing printed but --json"),
       {"json", "", "print the result, and progress, as JSON"}},
      &run_resume};
}

}  // namespace whorl::driver
