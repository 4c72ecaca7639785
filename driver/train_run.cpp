#include "driver/train_run.hpp"

#include <array>

#include "driver/data_sources.hpp"
#include "driver/meta_learning.hpp"
#include "driver/print.hpp"
#include "driver/progress.hpp"
#include "driver/sampler_choice.hpp"
#include "driver/target.hpp"
#include "graphs/graph_file.hpp"
#include "graphs/sampler_file.hpp"

namespace whorl::driver {

namespace {

// So that the copy in the run's directory means the same files.
ExperimentFile with_absolute_paths(ExperimentFile experiment) {
  for (TargetSettings& target : experiment.targets)
    if (!target.graph.empty()) target.graph = std::filesystem::absolute(target.graph);
  make_absolute(experiment.data);
  return experiment;
}

struct Curriculum {
  Target first;  // its energy serves all of them
  std::vector<TrainingTask> tasks;
  TrainingSettings training;  // with the step size and the model's size, which the data decide
};

// Tasks share one graph, so all targets must have one energy; Gaussians of a dimension do.
Curriculum make_curriculum(const ExperimentFile& experiment, int threads,
                           std::int64_t memory_budget, Output& output) {
  const std::vector<TargetSettings> settings = one_by_one(experiment.targets);
  if (settings.empty()) fail(ErrorKind::usage, "train", "the experiment has no targets");
  Curriculum all{
      load_target(settings[0], experiment.data, memory_budget), {}, *experiment.training};
  TrainingSettings& training = all.training;
  if (training.learning_rate)
    training.step_size = step_size_of_rate("learned", *training.learning_rate, all.first.rows);
  if (training.start.needs_rows()) training.start.trained_size = all.first.energy.size();
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
    task.statistics.rows = static_cast<double>(target.rows);
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

// {"update": 1, "epoch": 0, "energy": 12.5, ..., "loss/cross_chain": 0.1}
std::string to_json_line(const UpdateReport& report) {
  JsonLine line;
  line.field("update", report.update).field("epoch", report.epoch);
  line.field("energy", report.mean_energy).field("curl", report.curl);
  line.field("diffusion", report.diffusion).field("clamped", report.clamped);
  for (const auto& [name, loss] : report.losses) line.field("loss/" + name, loss);
  return line.text();
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
                   const std::string& path, bool as_json, Output& output) {
  if (as_json) {
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

// The numbers of a report that outlive it in a checkpoint.
std::array<double, 6> to_numbers(const UpdateReport& report) {
  return {static_cast<double>(report.update),
          static_cast<double>(report.epoch),
          report.mean_energy,
          report.curl,
          report.diffusion,
          report.clamped};
}

UpdateReport from_numbers(const std::vector<double>& saved, std::int64_t updates) {
  if (saved.size() != 6)
    fail(ErrorKind::checkpoint, "checkpoint", "its 'report' has {} numbers; expected 6",
         saved.size());
  for (std::size_t i : {0, 1})
    if (!(saved[i] >= 0 && saved[i] <= static_cast<double>(updates)))
      fail(ErrorKind::checkpoint, "checkpoint", "its report is of update {}; there are {}",
           saved[i], updates);
  return {static_cast<std::int64_t>(saved[0]),
          updates,
          static_cast<std::int64_t>(saved[1]),
          saved[2],
          saved[3],
          saved[4],
          saved[5],
          {}};
}

}  // namespace

class TrainSession {
 public:
  TrainSession(RunDirectory& directory, TrainRequest request, Output& output)
      : directory_(directory),
        request_(std::move(request)),
        output_(output),
        curriculum_(make_curriculum(request_.experiment, request_.session.threads,
                                    request_.session.memory_budget, output)),
        learning_(curriculum_.first.energy, curriculum_.first.gradient, curriculum_.training,
                  curriculum_.tasks, request_.session.threads, request_.session.memory_budget),
        config_(to_pbtxt(with_absolute_paths(request_.experiment))),
        keeper_(directory, request_.experiment, request_.session, identity(), output),
        report_{.updates = learning_.updates()} {
    if (!request_.graph_file.empty()) save_graph(learning_.graph(), request_.graph_file);
  }

  void run(const std::optional<Checkpoint>& checkpoint) {
    if (checkpoint) take_up(*checkpoint);
    try {
      if (!ended_) make_updates();
    } catch (const Error& error) {
      if (begun_)
        keeper_.add_event(
            keeper_.event("stop", report_.update).field("reason", std::string(error.what())));
      throw;
    }
    if (!ended_) stop();
    finish();
  }

 private:
  Identity identity() const {
    Identity all = program_identity("train");
    all.emplace_back("config", config_);
    all.emplace_back("graph", canonical_hash(learning_.graph()));
    std::map<std::string, Tensor> data;
    for (const TrainingTask& task : curriculum_.tasks)
      for (const auto& [name, tensor] : task.data) data.emplace(task.name + "/" + name, tensor);
    all.emplace_back("data", tensors_hash(data));
    return all;
  }

  void take_up(const Checkpoint& checkpoint) {
    check_identity(checkpoint.identity, identity(), request_.session.strict, output_);
    learning_.load(checkpoint);
    report_ = from_numbers(checkpoint.numbers("report"), learning_.updates());
    ended_ = checkpoint.count("ended", 1) != 0;
    check_names(checkpoint, this->checkpoint());
    directory_.go_on(metrics_bytes(checkpoint));
    begun_ = true;
    keeper_.go_on();
    keeper_.add_event(
        keeper_.event("resume", report_.update).field("threads", request_.session.threads));
  }

  // After the first update: a training that fails there leaves nothing behind.
  void begin() {
    constexpr std::int64_t metrics_line = 250;
    directory_.check_space(3 * checkpoint().bytes() + learning_.updates() * metrics_line);
    directory_.begin();
    directory_.write("config.pbtxt", config_);
    begun_ = true;
    keeper_.add_event(keeper_.event("begin", 0).field("threads", request_.session.threads));
  }

  void make_updates() {
    Progress progress("train", "updates", learning_.updates(), output_.quiet,
                      request_.session.json);
    progress.start(report_.update,
                   fmt::format("{} of memory, {} on disk",
                               bytes_text(static_cast<double>(learning_.memory_bytes())),
                               bytes_text(static_cast<double>(2 * checkpoint().bytes()))));
    while (!ended_ && RunKeeper::signal() == 0) {
      learning_.update(report_);
      if (!begun_) begin();
      directory_.metrics().add(to_json_line(report_));
      keeper_.note_progress(report_.update);
      ended_ = report_.update == report_.updates || keeper_.time_is_up();
      if (!ended_ && keeper_.checkpoint_due()) {
        Checkpoint now = checkpoint();
        keeper_.save(now, [] {});
      }
      if (progress.due())
        progress.update(report_.update,
                        fmt::format("U {:.5g}  Q {:.3g}  D {:.3g}", report_.mean_energy,
                                    report_.curl, report_.diffusion));
    }
  }

  Checkpoint checkpoint() const {
    Checkpoint now;
    learning_.save(now);
    now.put("report", to_numbers(report_));
    now.put("ended", std::array{ended_ ? 1.0 : 0.0});
    return now;
  }

  [[noreturn]] void stop() {
    if (!begun_) fail(ErrorKind::cancelled, "train", "stopped by a signal before the first update");
    Checkpoint now = checkpoint();
    keeper_.save_last(now, [] {});
    keeper_.add_event(keeper_.event("stop", report_.update)
                          .field("reason", fmt::format("signal {}", RunKeeper::signal())));
    fail(ErrorKind::cancelled, "train",
         "stopped by a signal after update {} of {}; 'whorl resume {}' goes on", report_.update,
         report_.updates, directory_.path().string());
  }

  // May be repeated: a run that is killed in here is taken up in here.
  void finish() {
    Checkpoint last = checkpoint();
    keeper_.save_last(last, [] {});
    const SamplerFile file =
        sampler_file(request_.experiment, learning_, curriculum_.tasks, report_);
    directory_.write("sampler.pbtxt", to_pbtxt(file));
    directory_.checkpoints().keep_only(last.step);
    const bool early = report_.update < report_.updates;
    keeper_.add_event(
        keeper_.event("end", report_.update)
            .field("reason", std::string(early ? "the time is up" : "all updates are done")));
    print_summary(file, report_, keeper_.seconds(), directory_.file("sampler.pbtxt"),
                  request_.session.json, output_);
    if (early)
      output_.note(fmt::format("ended after update {} of {}: the time is up", report_.update,
                               report_.updates));
    if (report_.clamped > 0.5)
      output_.note(
          fmt::format("{:.0f}% of the coordinates are at a clamp: the sampler has learned "
                      "little more than constants",
                      100 * report_.clamped));
  }

  RunDirectory& directory_;
  TrainRequest request_;
  Output& output_;
  Curriculum curriculum_;
  MetaLearning learning_;
  std::string config_;
  RunKeeper keeper_;
  UpdateReport report_;
  bool begun_ = false, ended_ = false;
};

void train_into(RunDirectory& directory, TrainRequest request, std::optional<Checkpoint> checkpoint,
                Output& output) {
  TrainSession session(directory, std::move(request), output);
  session.run(checkpoint);
}

}  // namespace whorl::driver
