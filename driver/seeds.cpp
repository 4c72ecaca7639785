#include "driver/seeds.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "driver/resume.hpp"
#include "driver/run_table.hpp"
#include "driver/sample_run.hpp"
#include "engine/error.hpp"
#include "engine/file.hpp"

namespace whorl::driver {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_seeds = 10'000;
constexpr const char* request_name = "seeds.pbtxt";

[[noreturn]] void no_seed(std::string_view word) {
  fail(ErrorKind::usage, "sample",
       "--seeds: '{}' is neither a seed nor a range of them; expected as in 15,25,35 or 1..5",
       word);
}

std::uint64_t seed_of(std::string_view digits, std::string_view word) {
  std::uint64_t seed = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, fault] = std::from_chars(digits.data(), end, seed);
  if (fault != std::errc{} || stop != end) no_seed(word);
  return seed;
}

void check_options(const Arguments& arguments) {
  if (arguments.has("seed"))
    fail(ErrorKind::usage, "sample", "--seed and --seeds exclude each other");
  if (!arguments.has("out"))
    fail(ErrorKind::usage, "sample", "--seeds needs the directory of the runs, as in --out runs/g");
}

class SeedRuns {
 public:
  SeedRuns(const Arguments& arguments, Output& output)
      : arguments_(arguments),
        output_(output),
        base_(arguments.text("out")),
        session_(Session::of(arguments)),
        asked_(sample_experiment(arguments)) {
    if (base_.empty()) fail(ErrorKind::usage, "run", "--out: the name of the directory is empty");
    std::error_code fault;
    if (fs::exists(base_ / "config.pbtxt", fault))
      fail(ErrorKind::usage, "sample",
           "--out {}: is the directory of a run; --seeds needs one for several", base_.string());
    remember_request();
  }
  // A call that made no run leaves nothing behind.
  ~SeedRuns() {
    std::error_code fault;
    if (has_runs()) return;
    fs::remove(base_ / request_name, fault);
    if (made_) fs::remove(base_, fault);
  }
  SeedRuns(const SeedRuns&) = delete;
  SeedRuns& operator=(const SeedRuns&) = delete;

  void make(std::uint64_t seed) {
    const fs::path path = directory_of(seed);
    // What a single run says about its draws is for 'whorl summary' to repeat.
    Output said;
    said.quiet = output_.quiet;
    std::error_code fault;
    const bool there = fs::exists(path / "config.pbtxt", fault);
    if (there && !overwrite()) {
      if (load_run(path).state() == "done")
        return output_.note(fmt::format("seed {} is done already: {}", seed, path.string()));
      output_.note(fmt::format("seed {} goes on: {}", seed, path.string()));
      return resume_run(path, session_, said);
    }
    output_.note(fmt::format("seed {} begins: {}", seed, path.string()));
    SampleRequest request{arguments_.positional()[0], asked_, session_};
    request.asked.experiment = with_limits(std::move(request.asked.experiment), session_);
    request.asked.experiment.run.seed = seed;
    // One that was killed before its config.pbtxt had been written is no run yet.
    const bool unfinished = fs::exists(path / "run.lock", fault);
    RunDirectory directory(
        path, overwrite() || unfinished ? RunDirectory::Use::overwrite : RunDirectory::Use::fresh);
    sample_into(directory, std::move(request), {}, said);
  }

  void print(const std::vector<std::uint64_t>& seeds) {
    std::vector<RunRecord> runs;
    std::error_code fault;
    for (std::uint64_t seed : seeds)
      if (fs::exists(directory_of(seed) / "config.pbtxt", fault))
        runs.push_back(load_run(directory_of(seed)));
    if (runs.empty()) return;
    std::vector<const RunRecord*> all;
    for (const RunRecord& run : runs) all.push_back(&run);
    const std::vector<RunTable> tables = make_tables(all, {});
    if (session_.json) return output_.write(tables_json(tables));
    if (output_.quiet) return;
    for (const RunTable& table : tables) print_table(table, TableStyle::text, output_);
  }

 private:
  bool overwrite() const { return arguments_.has("overwrite"); }
  fs::path directory_of(std::uint64_t seed) const { return base_ / fmt::format("seed-{}", seed); }

  bool has_runs() const {
    std::error_code fault;
    for (const std::string& name : names_in(base_.string(), fault))
      if (name.starts_with("seed-") && fs::exists(base_ / name / "config.pbtxt", fault))
        return true;
    return false;
  }

  void remember_request() {
    const fs::path path = base_ / request_name;
    ExperimentFile experiment = asked_.experiment;
    experiment.run.seed.reset();
    experiment.published.clear();
    const std::string text = to_pbtxt(experiment);
    std::error_code fault;
    if (fs::exists(path, fault) && has_runs() && !overwrite()) {
      const std::string known = whole_file("sample", path.string());
      if (known == text) return;
      fail(ErrorKind::usage, "sample",
           "--out {}: its runs are of another experiment: {}; choose another directory, or give "
           "--overwrite",
           base_.string(), first_difference(known, text));
    }
    made_ = fs::create_directories(base_, fault);
    if (fault) fail(ErrorKind::io, "run", "--out {}: {}", base_.string(), fault.message());
    write_file("sample", path.string(), text);
  }

  const Arguments& arguments_;
  Output& output_;
  fs::path base_;
  Session session_;
  SampleExperiment asked_;
  bool made_ = false;
};

}  // namespace

std::vector<std::uint64_t> parse_seeds(std::string_view text) {
  std::vector<std::uint64_t> seeds;
  std::set<std::uint64_t> seen;
  const auto add = [&](std::uint64_t seed) {
    if (!seen.insert(seed).second) fail(ErrorKind::usage, "sample", "--seeds names {} twice", seed);
    seeds.push_back(seed);
    if (seeds.size() > most_seeds)
      fail(ErrorKind::usage, "sample", "--seeds '{}' are more than {}", text, most_seeds);
  };
  for (const std::string& part : split(text, ',')) {
    const std::string_view word = part;
    const std::size_t dots = word.find("..");
    if (dots == std::string_view::npos) {
      add(seed_of(word, word));
      continue;
    }
    const std::uint64_t first = seed_of(word.substr(0, dots), word);
    const std::uint64_t last = seed_of(word.substr(dots + 2), word);
    if (first > last) no_seed(word);
    for (std::uint64_t offset = 0; offset <= last - first; ++offset) add(first + offset);
  }
  return seeds;
}

void sample_seeds(const Arguments& arguments, Output& output) {
  check_options(arguments);
  const std::vector<std::uint64_t> seeds = parse_seeds(arguments.text("seeds"));
  SeedRuns runs(arguments, output);
  std::string diverged;
  for (std::uint64_t seed : seeds) {
    try {
      runs.make(seed);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::numeric) throw;
      diverged = fmt::format("seed {}: {}", seed, bare_text(error));
      output.note(diverged);
    }
    // One that came when the run had all its steps was no reason to stop that.
    if (Interruption::signal() != 0 && seed != seeds.back())
      fail(ErrorKind::cancelled, "sample",
           "stopped by a signal after seed {}; the same call goes on", seed);
  }
  runs.print(seeds);
  if (diverged.empty()) return;
  output.flush();
  fail(ErrorKind::numeric, "sample", "{}", diverged);
}

}  // namespace whorl::driver
