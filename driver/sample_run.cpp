#include "driver/sample_run.hpp"

#include <algorithm>

#include "driver/data_sources.hpp"
#include "driver/live_summary.hpp"
#include "driver/print.hpp"
#include "driver/progress.hpp"
#include "driver/sample_report.hpp"
#include "driver/scores_file.hpp"
#include "engine/attributes.hpp"
#include "graphs/graph_file.hpp"

namespace whorl::driver {

namespace {

// Why a run came to its end; stored in checkpoints.
enum class Ending { none, complete, good_enough, out_of_time };

std::string_view name(Ending ending) {
  switch (ending) {
    case Ending::complete:
      return "all steps are done";
    case Ending::good_enough:
      return "the draws are good enough";
    case Ending::out_of_time:
      return "the time is up";
    case Ending::none:
      break;
  }
  return "not at its end";
}

// {"step": 100, "energy": 12.5, "temperature": 1.01, ..., "kl": 0.2}
std::string to_json_line(const Metrics& metrics) {
  JsonLine line;
  line.field("step", metrics.step);
  if (metrics.epoch) line.field("epoch", *metrics.epoch);
  line.field("energy", metrics.energy);
  if (metrics.temperature) line.field("temperature", *metrics.temperature);
  line.field("configurational_temperature", metrics.configurational_temperature);
  if (metrics.kl) line.field("kl", *metrics.kl);
  for (const auto& [name, value] : metrics.scores) line.field(name, value);
  return line.text();
}

SamplingOptions options_of(const RunSettings& run, const Schedule& step_size,
                           const Session& session) {
  return {.chains = *run.chains,
          .steps = *run.steps,
          .thin = *run.thin,
          .burn_in = *run.burn_in,
          .seed = *run.seed,
          .threads = session.threads,
          .memory_budget = session.memory_budget,
          .step_size = [step_size](std::int64_t step) { return step_size.at(step); },
          .position = *run.position,
          .momentum = run.momentum,
          .drop_diverged = run.drop_diverged};
}

// The experiment as it is stored: files have the names that they have in the directory.
ExperimentFile stored_experiment(ExperimentFile experiment, const Target& target,
                                 const ChosenSampler& sampler) {
  if (target.sequences) {
    experiment.targets[0].graph = sized_energy_name;
  } else if (!target.gaussian) {
    experiment.targets[0].graph = "energy.pb";
    experiment.targets[0].sizes.clear();
    experiment.targets[0].ops.clear();
  }
  make_absolute(experiment.data);
  if (sampler.file) experiment.samplers.front().name = "sampler.pbtxt";
  return experiment;
}

struct Prepared {
  ExperimentFile experiment;
  Target target;
  ChosenSampler sampler;
  SamplingOptions options;
};

// Rates and passes over the data as step sizes and steps, now that the data are known.
void resolve_step_size(ExperimentFile& experiment, const Target& target) {
  RunSettings& run = experiment.run;
  SamplerSettings& sampler = experiment.samplers.front();
  if (sampler.learning_rate)
    run.step_size = mapped(*std::exchange(sampler.learning_rate, std::nullopt), [&](double rate) {
      return step_size_of_rate(sampler.name, rate, target.rows);
    });
  if (!run.step_size) return;
  run.step_size = by_steps(*run.step_size, std::max<std::int64_t>(1, target.steps_per_pass()));
}

Prepared prepare(const SampleRequest& request, const Output& output) {
  ExperimentFile experiment = request.asked.experiment;
  RunSettings& run = experiment.run;
  const Session& session = request.session;
  Target target = load_target(experiment.targets[0], experiment.data, session.memory_budget);
  for (const std::string& note : target.notes) output.note(note);
  resolve_step_size(experiment, target);
  std::optional<Schedule> step_size;
  if (run.step_size) step_size = make_schedule(*run.step_size);
  ChosenSampler sampler = choose_sampler({.name = experiment.sampler(),
                                          .settings = experiment.sampler_settings(),
                                          .step_size = step_size,
                                          .run_steps = *run.steps,
                                          .own_step_size = request.asked.own_step_size,
                                          .position = *run.position,
                                          .seed = *run.seed,
                                          .threads = session.threads,
                                          .memory_budget = session.memory_budget},
                                         target);
  for (const std::string& note : sampler.notes) output.note(note);
  if (sampler.own_step_size) {
    run.step_size.emplace();
    run.step_size->constant = *sampler.own_step_size;
  }
  SamplingOptions options = options_of(run, sampler.step_size, session);
  if (target.is_evaluated())
    options.metrics_every = experiment.evaluation.every.value_or(options.metrics_every);
  return {std::move(experiment), std::move(target), std::move(sampler), std::move(options)};
}

// The parameters whose draws are kept.
std::vector<DrawsVariable> kept_parameters(const std::vector<Parameter>& all,
                                           const std::vector<std::string>& keep) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : all) names.push_back(parameter.name);
  for (const std::string& wanted : keep)
    if (std::find(names.begin(), names.end(), wanted) == names.end())
      fail(ErrorKind::usage, "sample", "--keep: the energy has no parameter '{}'{}", wanted,
           did_you_mean(wanted, names));
  std::vector<DrawsVariable> kept;
  for (const Parameter& parameter : all)
    if (keep.empty() || std::find(keep.begin(), keep.end(), parameter.name) != keep.end())
      kept.push_back({parameter.name, parameter.shape, parameter.offset});
  return kept;
}

}  // namespace

// One run, with everything that belongs to it.
class SampleSession {
 public:
  SampleSession(RunDirectory& directory, SampleRequest request, Output& output)
      : directory_(directory),
        request_(std::move(request)),
        output_(output),
        prepared_(prepare(request_, output)),
        sampling_(prepared_.target, prepared_.sampler.steps, prepared_.options),
        config_(
            to_pbtxt(stored_experiment(prepared_.experiment, prepared_.target, prepared_.sampler))),
        keeper_(directory, prepared_.experiment, request_.session, identity(), output),
        live_(prepared_.experiment.stop, request_.session.threads) {
    layout_.chains = options().chains;
    layout_.draws = options().draws();
    layout_.dtype =
        prepared_.experiment.storage.precision.value_or(prepared_.target.energy.dtype());
    layout_.parameters =
        kept_parameters(prepared_.target.energy.parameters(), prepared_.experiment.storage.keep);
    layout_.statistics = sampling_.draw_statistics();
    layout_.attributes = {{"created_at", time_text()},
                          {"inference_library", "whorl"},
                          {"inference_library_version", WHORL_VERSION},
                          {"creation_library", "whorl"},
                          {"sampler", prepared_.experiment.sampler()},
                          {"seed", fmt::format("{}", options().seed)}};
  }

  void run(std::optional<Checkpoint> checkpoint) {
    if (checkpoint) take_up(*checkpoint);
    const bool fresh = !checkpoint;
    checkpoint.reset();
    try {
      if (ending_ == Ending::none) make_steps(fresh);
    } catch (const std::bad_alloc&) {
      leave("there is no more memory");
      throw;
    } catch (const Error& error) {
      leave(error.what());
      if (error.kind() != ErrorKind::numeric || !prepared_.sampler.own_step_size) throw;
      fail(ErrorKind::numeric, "sample",
           "{}; the step size, {:.4g}, is by the sampler's own rule: give another with --step-size",
           bare_text(error), *prepared_.sampler.own_step_size);
    }
    if (ending_ == Ending::none) stop();
    finish();
    report();
  }

 private:
  const SamplingOptions& options() const { return prepared_.options; }
  std::string draws_path() const { return directory_.file("draws.nc"); }

  Identity identity() const {
    Identity all = program_identity("sample");
    all.emplace_back("config", config_);
    // Sequences decide how long the graph is, so they are compared first.
    if (const auto& sequences = prepared_.target.sequences)
      all.emplace_back("sequences", hash(sequences->train));
    all.emplace_back("graph", canonical_hash(prepared_.sampler.steps.back().graph));
    all.emplace_back("data", tensors_hash(prepared_.target.data));
    if (prepared_.target.test)
      all.emplace_back("test data", tensors_hash(prepared_.target.test->tensors));
    if (prepared_.target.validation)
      all.emplace_back("validation data", tensors_hash(prepared_.target.validation->tensors));
    if (const auto& sequences = prepared_.target.sequences) {
      if (sequences->test) all.emplace_back("test data", hash(*sequences->test));
      if (sequences->validation) all.emplace_back("validation data", hash(*sequences->validation));
    }
    return all;
  }

  void take_up(const Checkpoint& checkpoint) {
    check_identity(checkpoint.identity, identity(), request_.session.strict, output_);
    sampling_.load(checkpoint);
    ending_ =
        static_cast<Ending>(checkpoint.count("ending", static_cast<int>(Ending::out_of_time)));
    check_names(checkpoint, this->checkpoint());
    const DrawsReader draws(draws_path());
    const DrawsLayout there = draws.layout();
    if (draws.draws() < sampling_.draws())
      fail(ErrorKind::checkpoint, "resume", "{}: the file has {} draws, the checkpoint knows of {}",
           draws_path(), draws.draws(), sampling_.draws());
    directory_.go_on(metrics_bytes(checkpoint));
    layout_.attributes = there.attributes;
    // A run that ended early may have been killed after its file had been cut to size.
    if (ending_ != Ending::none && there.draws == sampling_.draws()) layout_.draws = there.draws;
    writer_.emplace(draws_path(), layout_);
    live_.skip_to(sampling_.draws());
    keeper_.go_on();
    keeper_.add_event(
        keeper_.event("resume", sampling_.step()).field("threads", request_.session.threads));
  }

  // After the first step: a run that fails there leaves nothing behind.
  void begin() {
    constexpr std::int64_t metrics_line = 400;
    directory_.check_space(draws_file_bytes(layout_) + 3 * checkpoint().bytes() +
                           options().steps / options().metrics_every * metrics_line);
    directory_.begin();
    if (!prepared_.target.gaussian)
      save_graph(prepared_.target.energy.graph(), directory_.file("energy.pb"));
    if (prepared_.target.sequences)
      directory_.write(sized_energy_name, prepared_.target.sequences->graph_file);
    if (prepared_.sampler.file)
      directory_.write("sampler.pbtxt", to_pbtxt(*prepared_.sampler.file));
    create_draws(draws_path(), layout_);
    writer_.emplace(draws_path(), layout_);
    directory_.write("config.pbtxt", config_);
    keeper_.add_event(keeper_.event("begin", 0).field("threads", request_.session.threads));
  }

  // Where a run cannot go on: the draws until then are worth looking at.
  void leave(std::string_view reason) {
    if (!writer_) return;
    try {
      writer_->sync();
    } catch (const Error&) {
      // It is told already what is wrong.
    }
    keeper_.add_event(keeper_.event("stop", sampling_.step()).field("reason", reason));
  }

  void make_steps(bool fresh) {
    Progress progress("sample", "steps", options().steps, output_.quiet, request_.session.json);
    if (!fresh) progress.start(sampling_.step(), needs());
    while (ending_ == Ending::none && RunKeeper::signal() == 0) {
      sampling_.advance();
      if (std::exchange(fresh, false)) {
        begin();
        progress.start(sampling_.step(), needs());
      }
      tell_divergences();
      sampling_.keep(*writer_);
      if (sampling_.step() == options().steps) {
        ending_ = Ending::complete;
      } else if (live_.wanted(sampling_.draws()) &&
                 live_.good_enough(*writer_, draws_path(), sampling_.draws())) {
        ending_ = Ending::good_enough;
      } else if (keeper_.time_is_up()) {
        ending_ = Ending::out_of_time;
      }
      if (const auto metrics = sampling_.measure(ending_ != Ending::none)) {
        directory_.metrics().add(to_json_line(*metrics));
        keeper_.note_progress(metrics->step);
      }
      if (ending_ == Ending::none && keeper_.checkpoint_due()) {
        Checkpoint now = checkpoint();
        keeper_.save(now, [&] { writer_->sync(); });
      }
      if (progress.due()) show(progress);
    }
  }

  std::string needs() const {
    return fmt::format(
        "{} of memory, {} on disk", bytes_text(static_cast<double>(sampling_.memory_bytes())),
        bytes_text(static_cast<double>(draws_file_bytes(layout_) + 2 * checkpoint().bytes())));
  }

  void show(Progress& progress) {
    const Metrics now = sampling_.recent();
    std::string details = now.temperature
                              ? fmt::format("U {:.5g}  T {:.3f}", now.energy, *now.temperature)
                              : fmt::format("U {:.5g}", now.energy);
    live_.look(*writer_, draws_path(), sampling_.draws());
    if (const auto worst = live_.worst())
      details += fmt::format("  R-hat {:.2f}  ESS {:.0f}", worst->rhat, worst->ess);
    progress.update(sampling_.step(), details);
  }

  void tell_divergences() {
    for (; told_ < sampling_.divergences().size(); ++told_)
      output_.note(fmt::format("{}; the other chains go on without it",
                               sampling_.divergences()[told_].what));
  }

  Checkpoint checkpoint() const {
    Checkpoint now;
    sampling_.save(now);
    now.put("ending", std::array{static_cast<double>(ending_)});
    return now;
  }

  [[noreturn]] void stop() {
    if (!writer_) fail(ErrorKind::cancelled, "sample", "stopped by a signal before the first step");
    Checkpoint now = checkpoint();
    keeper_.save_last(now, [&] { writer_->sync(); });
    keeper_.add_event(keeper_.event("stop", sampling_.step())
                          .field("reason", fmt::format("signal {}", RunKeeper::signal())));
    // Who stops a run does not want to wait for all numbers of a large model.
    if (sampling_.draws() > 0) report(200);
    output_.flush();
    fail(ErrorKind::cancelled, "sample",
         "stopped by a signal after step {} of {}; 'whorl resume {}' goes on", sampling_.step(),
         options().steps, directory_.path().string());
  }

  // May be repeated: a run that is killed in here is taken up in here.
  void finish() {
    Checkpoint last = checkpoint();
    keeper_.save_last(last, [&] { writer_->sync(); });
    sampling_.finish(*writer_);
    writer_->sync();
    if (sampling_.draws() < layout_.draws) {
      writer_.reset();
      shrink_draws(draws_path(), sampling_.draws());
      layout_.draws = sampling_.draws();
    }
    write_scores();
    // Only the last one is the same whenever the others were made.
    directory_.checkpoints().keep_only(last.step);
    keeper_.add_event(
        keeper_.event("end", sampling_.step()).field("reason", std::string(name(ending_))));
  }

  // How well the chains predict at the end; judged again, because a run may be taken up here.
  void write_scores() {
    const auto& all = sampling_.evaluations();
    if (std::none_of(all.begin(), all.end(), [](const auto& each) { return each->has_scores(); }))
      return;
    sampling_.look();
    RunScores scores{sampling_.step(), {}};
    for (const auto& evaluation : all)
      for (EnsembleScores& each : evaluation->scores()) scores.ensembles.push_back(std::move(each));
    directory_.write(scores_name, to_json(scores));
  }

  void report(std::int64_t most_numbers = std::numeric_limits<std::int64_t>::max()) {
    SampleReport report = make_report({.target = request_.name,
                                       .experiment = prepared_.experiment,
                                       .loaded = prepared_.target,
                                       .sampler = prepared_.sampler,
                                       .totals = sampling_.totals(),
                                       .metrics = load_run(directory_.path()).metrics,
                                       .draws = DrawsReader(draws_path(), sampling_.draws()),
                                       .seconds = keeper_.seconds(),
                                       .threads = request_.session.threads,
                                       .most_numbers = most_numbers});
    report.directory = directory_.path().string();
    if (ending_ == Ending::good_enough || ending_ == Ending::out_of_time)
      report.notes.push_back(fmt::format("ended after step {} of {}: {}", sampling_.step(),
                                         options().steps, name(ending_)));
    if (request_.session.json) {
      print_json(report, output_);
    } else if (!output_.quiet) {
      print_report(report, output_);
    }
  }

  RunDirectory& directory_;
  SampleRequest request_;
  Output& output_;
  Prepared prepared_;
  SamplingRun sampling_;
  std::string config_;
  RunKeeper keeper_;
  LiveSummary live_;
  DrawsLayout layout_;
  std::optional<DrawsWriter> writer_;
  Ending ending_ = Ending::none;
  std::size_t told_ = 0;
};

void sample_into(RunDirectory& directory, SampleRequest request,
                 std::optional<Checkpoint> checkpoint, Output& output) {
  SampleSession session(directory, std::move(request), output);
  session.run(std::move(checkpoint));
}

}  // namespace whorl::driver
