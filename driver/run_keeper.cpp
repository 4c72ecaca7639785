#include "driver/run_keeper.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include "driver/run_record.hpp"
#include "driver/sample_settings.hpp"
#include "engine/error.hpp"
#include "engine/kernels/blas.hpp"

namespace whorl::driver {

namespace {

// Where nobody says how often, checkpoints take at most this share of the time.
constexpr double usual_interval = 30, largest_share = 0.005;
constexpr int most_failures = 3;
constexpr double progress_seconds = 0.05;
constexpr std::string_view metrics_size = "files/metrics";

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) {
      const std::size_t at = line.find(": ");
      return at == std::string::npos ? line : line.substr(at + 2);
    }
  return "unknown";
}

}  // namespace

Session Session::of(const Arguments& arguments) {
  Session session{arguments.threads(), arguments.memory_budget(), arguments.has("json"),
                  arguments.has("strict")};
  if (arguments.has("max-time"))
    session.max_seconds = parse_duration("--max-time", arguments.text("max-time"));
  if (!arguments.has("checkpoint-every")) return session;
  session.checkpoint_seconds =
      parse_duration("--checkpoint-every", arguments.text("checkpoint-every"));
  if (*session.checkpoint_seconds <= 0)
    fail(ErrorKind::usage, arguments.command(),
         "--checkpoint-every is 0; expected some time, as in 30s");
  return session;
}

RunDirectory::Use use_for(const Arguments& arguments) {
  const bool overwrite = arguments.has("overwrite");
  if (!arguments.has("out") && overwrite)
    fail(ErrorKind::usage, arguments.command(),
         "--overwrite needs the directory of the run, as in --out runs/g");
  if (!arguments.has("out")) return RunDirectory::Use::numbered;
  return overwrite ? RunDirectory::Use::overwrite : RunDirectory::Use::fresh;
}

ExperimentFile with_limits(ExperimentFile experiment, const Session& session) {
  if (session.max_seconds) experiment.stop.seconds = session.max_seconds;
  if (session.checkpoint_seconds)
    experiment.storage.checkpoint_seconds = session.checkpoint_seconds;
  return experiment;
}

std::string first_difference(std::string_view found, std::string_view expected) {
  for (int line = 1;; ++line) {
    const std::string_view a = found.substr(0, found.find('\n'));
    const std::string_view b = expected.substr(0, expected.find('\n'));
    if (a != b)
      return fmt::format("line {} is '{}', and was '{}'", line, printable(b), printable(a));
    if (a.size() == found.size() || b.size() == expected.size()) return "one has more lines";
    found.remove_prefix(a.size() + 1);
    expected.remove_prefix(b.size() + 1);
  }
}

Identity program_identity(std::string_view kind) {
  return {{"run", std::string(kind)},
          {"version", WHORL_VERSION},
          {"arithmetic", fmt::format("{}, {}", blas_description(), processor_name())}};
}

void check_identity(const Identity& found, const Identity& expected, bool strict,
                    const Output& output) {
  for (const auto& [name, text] : expected) {
    const auto same_name = [&name = name](const auto& entry) { return entry.first == name; };
    const auto was = std::find_if(found.begin(), found.end(), same_name);
    if (was != found.end() && was->second == text) continue;
    if (was == found.end())
      fail(ErrorKind::checkpoint, "resume", "the checkpoint does not tell its {}", name);
    if (name == "arithmetic" && !strict) {
      output.note(
          fmt::format("the run was begun with {}, and goes on with {}: the same bits are "
                      "not guaranteed",
                      was->second, text));
    } else if (name == "config") {
      fail(ErrorKind::checkpoint, "resume",
           "config.pbtxt is not that of the checkpoint: {}; give it back its content, or begin a "
           "new run with 'whorl {}'",
           first_difference(was->second, text), expected.front().second);
    } else {
      fail(ErrorKind::checkpoint, "resume", "the checkpoint is of another {}: {}, expected {}",
           name, was->second, text);
    }
  }
}

void check_names(const Checkpoint& found, const Checkpoint& own) {
  for (const auto& [name, tensor] : found.tensors)
    if (name != metrics_size && !own.tensors.contains(name))
      fail(ErrorKind::checkpoint, "checkpoint", "it has '{}', which this run does not know",
           printable(name));
}

std::int64_t metrics_bytes(const Checkpoint& checkpoint) {
  constexpr std::int64_t most = std::int64_t{1} << 50;
  return checkpoint.count(metrics_size, most);
}

RunKeeper::RunKeeper(RunDirectory& directory, const ExperimentFile& experiment,
                     const Session& session, Identity identity, const Output& output)
    : directory_(directory),
      identity_(std::move(identity)),
      output_(output),
      every_(session.checkpoint_seconds ? session.checkpoint_seconds
                                        : experiment.storage.checkpoint_seconds),
      most_(session.max_seconds ? session.max_seconds : experiment.stop.seconds) {}

void RunKeeper::go_on() { earlier_ = load_run(directory_.path()).seconds(); }

double RunKeeper::seconds() const {
  return earlier_ + std::chrono::duration<double>(Clock::now() - begin_).count();
}

bool RunKeeper::time_is_up() const { return most_ && seconds() >= *most_; }

bool RunKeeper::checkpoint_due() const {
  const double passed = std::chrono::duration<double>(Clock::now() - last_checkpoint_).count();
  return passed >= every_.value_or(std::max(usual_interval, last_cost_ / largest_share));
}

void RunKeeper::save_last(Checkpoint& checkpoint, const std::function<void()>& prepare) {
  const Clock::time_point begin = Clock::now();
  last_checkpoint_ = begin;
  directory_.check_ours();
  prepare();
  directory_.metrics().sync();
  checkpoint.put(std::string(metrics_size),
                 std::array{static_cast<double>(directory_.metrics().size())});
  checkpoint.identity = identity_;
  directory_.checkpoints().save(checkpoint);
  last_cost_ = std::chrono::duration<double>(Clock::now() - begin).count();
}

void RunKeeper::save(Checkpoint& checkpoint, const std::function<void()>& prepare) {
  try {
    save_last(checkpoint, prepare);
    failures_ = 0;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io || ++failures_ == most_failures) throw;
    output_.note(fmt::format("no checkpoint at step {}, the one before is kept: {}",
                             checkpoint.step, bare_text(error)));
  }
}

JsonLine RunKeeper::event(std::string_view kind, std::int64_t step) const {
  JsonLine line;
  line.field("event", kind).field("step", step).field("seconds", seconds());
  if (kind != "begin" && kind != "resume") return line;
  line.field("at", time_text()).field("processor", processor_name());
  for (const auto& [name, text] : identity_)
    if (name != "config" && name != "run") line.field(name, text);
  return line;
}

// Events are for people who look back; a full disk is met by what matters more.
void RunKeeper::add_event(const JsonLine& line) {
  try {
    directory_.events().add(line.text());
  } catch (const Error&) {
  }
}

void RunKeeper::note_progress(std::int64_t step) {
  if (last_progress_ >= 0 && seconds() < last_progress_ + progress_seconds) return;
  last_progress_ = seconds();
  add_event(event("progress", step));
}

std::string time_text() {
  std::time_t now = std::time(nullptr);
  if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH"))
    std::from_chars(epoch, epoch + std::string_view(epoch).size(), now);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace whorl::driver
