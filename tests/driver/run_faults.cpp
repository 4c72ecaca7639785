// What the world may do to a run on its way: signals, full disks, other processes in its directory.
// Nothing ends without a sentence, and what was stopped goes on to the same bits.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <functional>
#include <limits>

#include "runs.hpp"
#include "storage/checkpoint.hpp"
#include "storage/draws_file.hpp"

namespace whorl::testing {

namespace {

// A run of some seconds, with a checkpoint every now and then.
const std::string long_run =
    "sample small.pbtxt --steps 2000000 --thin 400 --checkpoint-every 0.01s --threads 1 --out ";

struct Disturbed : Runs {
  // Starts the program with its standard error in "said.txt", after `prepare` in the new process.
  pid_t start(const std::string& text, const std::function<void()>& prepare = {}) const {
    const std::vector<std::string> all = words(text);
    std::vector<char*> arguments{const_cast<char*>("whorl")};
    for (const std::string& word : all) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string where = directory.path();
    const pid_t child = ::fork();
    if (child == 0) {
      if (::chdir(where.c_str()) != 0) ::_exit(96);
      ::dup2(::open("/dev/null", O_RDWR), STDOUT_FILENO);
      ::dup2(::open("said.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      ::setenv(clock[0].first.c_str(), clock[0].second.c_str(), 1);
      if (prepare) prepare();
      ::execv(WHORL_BINARY, arguments.data());
      ::_exit(97);
    }
    return child;
  }

  // Until a run has written metrics and a checkpoint.
  void wait_until_under_way(const std::string& run) const {
    for (int i = 0; i < 5000; ++i, ::usleep(2000))
      if (!directory.read(run + "/metrics.jsonl").empty() && has_checkpoint(run)) return;
    BOOST_FAIL("the run does not begin: " + directory.read("said.txt"));
  }
  bool has_checkpoint(const std::string& run) const {
    std::error_code fault;
    std::filesystem::directory_iterator at(directory / (run + "/checkpoint"), fault);
    return !fault && at != std::filesystem::directory_iterator();
  }

  static int ended(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  // The last line of what a run said.
  std::string last_said() const {
    std::string text = directory.read("said.txt");
    if (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }

  void check_goes_on(const std::string& run) const {
    const std::int64_t before = DrawsReader(directory / (run + "/draws.nc")).draws();
    const Outcome outcome = call("resume " + run + " --max-time 0s --quiet");
    BOOST_TEST(outcome.code == 0, outcome.err);
    const std::int64_t after = DrawsReader(directory / (run + "/draws.nc")).draws();
    BOOST_TEST(after <= before + 1);
    // Without a draw there is nothing to sum up.
    BOOST_TEST(call("summary " + run).code == (after > 0 ? 0 : 4));
  }
};

// A disk of its own, which is full when we want it to be; only root may mount one.
class SmallDisk {
 public:
  SmallDisk(std::string path, int kilobytes) : path_(std::move(path)) {
    std::filesystem::create_directory(path_);
    const std::string options = fmt::format("size={}k", kilobytes);
    mounted_ = ::mount("none", path_.c_str(), "tmpfs", 0, options.c_str()) == 0;
    if (!mounted_) BOOST_WARN_MESSAGE(false, "SKIPPED: no file system can be mounted here");
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  void fill() const {
    const int file = ::open((path_ + "/filler").c_str(), O_WRONLY | O_CREAT, 0600);
    const std::string block(4096, 'x');
    while (::write(file, block.data(), block.size()) > 0) continue;
    ::close(file);
  }
  void make_room() const { std::filesystem::remove(path_ + "/filler"); }

 private:
  std::string path_;
  bool mounted_ = false;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(run_faults, Disturbed)

BOOST_AUTO_TEST_CASE(signals_stop_a_run_which_then_goes_on) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string run = fmt::format("run{}", signal);
    const pid_t child = start(long_run + run);
    wait_until_under_way(run);
    ::kill(child, signal);
    // A terminal that goes away often sends it twice.
    if (signal == SIGHUP) ::kill(child, signal);
    BOOST_TEST(ended(child) == 128 + signal);
    const std::string said = last_said();
    BOOST_TEST(said.starts_with("[sample] stopped by a signal after step "), said);
    BOOST_TEST(said.ends_with(" of 2000000; 'whorl resume " + run + "' goes on"), said);
    check_goes_on(run);
  }
}

BOOST_AUTO_TEST_CASE(a_second_signal_ends_a_run_at_once_without_damage) {
  for (int signal : {SIGINT, SIGTERM}) {
    const std::string run = fmt::format("run{}", signal);
    const pid_t child = start(long_run + run);
    wait_until_under_way(run);
    for (int i = 0; i < 3; ++i) ::kill(child, signal);
    BOOST_TEST(ended(child) == 128 + signal);
    check_goes_on(run);
  }
}

BOOST_AUTO_TEST_CASE(signals_that_are_ignored_at_the_start_stay_ignored) {
  const pid_t child = start(
      "sample small.pbtxt --steps 200000 --thin 400 --checkpoint-every 0.01s "
      "--out run",
      [] { ::signal(SIGHUP, SIG_IGN); });
  wait_until_under_way("run");
  ::kill(child, SIGHUP);
  BOOST_TEST(ended(child) == 0);
}

BOOST_AUTO_TEST_CASE(a_run_that_is_halted_for_a_while_has_the_same_bits) {
  const std::string call =
      "sample small.pbtxt --steps 40000 --thin 40 --checkpoint-every 0.01s "
      "--quiet --out ";
  BOOST_REQUIRE(this->call(call + "base").code == 0);
  const pid_t child = start(call + "run");
  for (int i = 0; i < 5; ++i) {
    ::usleep(20'000);
    ::kill(child, SIGSTOP);
    ::usleep(20'000);
    ::kill(child, SIGCONT);
  }
  BOOST_TEST(ended(child) == 0);
  BOOST_TEST(differences(files("run"), files("base")) == "");
}

BOOST_AUTO_TEST_CASE(a_directory_that_vanishes_ends_the_run_with_a_sentence) {
  const pid_t child = start(long_run + "run");
  wait_until_under_way("run");
  std::filesystem::remove_all(directory / "run");
  BOOST_TEST(ended(child) == 6);
  BOOST_TEST(last_said() ==
             "[run] run: the directory was removed, renamed or replaced during the run");
  BOOST_TEST(!std::filesystem::exists(directory / "run"));
  // The third checkpoint in a row that cannot be written is the end.
  const std::string said = directory.read("said.txt"), note = "note: no checkpoint at step ";
  int notes = 0;
  for (std::size_t at = 0; (at = said.find(note, at)) != std::string::npos; at += note.size())
    ++notes;
  BOOST_TEST(notes == 2, said);
}

BOOST_AUTO_TEST_CASE(a_directory_that_is_renamed_can_be_taken_up_under_its_new_name) {
  const pid_t child = start(long_run + "run");
  wait_until_under_way("run");
  std::filesystem::rename(directory / "run", directory / "moved");
  BOOST_TEST(ended(child) == 6);
  BOOST_TEST(last_said() ==
             "[run] run: the directory was removed, renamed or replaced during the run");
  check_goes_on("moved");
}

// The first run must not leave its checkpoints in the directory of the second.
BOOST_AUTO_TEST_CASE(a_directory_that_is_replaced_belongs_to_the_new_run_alone) {
  const pid_t first = start(long_run + "run");
  wait_until_under_way("run");
  std::filesystem::rename(directory / "run", directory / "moved");
  BOOST_REQUIRE(call(Runs::sample + "base").code == 0);
  BOOST_REQUIRE(call(Runs::sample + "run").code == 0);
  BOOST_TEST(ended(first) == 6);
  BOOST_TEST(differences(files("run"), files("base")) == "");
}

BOOST_AUTO_TEST_CASE(a_directory_where_a_run_is_at_work_is_refused) {
  const pid_t child = start(long_run + "run");
  wait_until_under_way("run");
  const std::string said = "2: [run] run: another run is writing to this directory";
  BOOST_TEST(error("sample small.pbtxt --overwrite --out run") == said);
  BOOST_TEST(error("resume run") == said);
  BOOST_TEST(error("train training.pbtxt --overwrite --out run") == said);
  BOOST_TEST((*this)("summary run").code == 0);
  ::kill(child, SIGKILL);
  BOOST_TEST(ended(child) == 128 + SIGKILL);
  check_goes_on("run");
}

BOOST_AUTO_TEST_CASE(of_runs_that_begin_together_in_one_directory_one_is_made) {
  for (int round = 0; round < 3; ++round) {
    const std::string run = fmt::format("run{}", round);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) children.push_back(start(Runs::sample + run));
    int made = 0;
    for (pid_t child : children) {
      const int code = ended(child);
      BOOST_TEST((code == 0 || code == 2), code);
      made += code == 0 ? 1 : 0;
    }
    BOOST_TEST(made == 1);
    BOOST_TEST(call("summary " + run).code == 0);
  }
}

BOOST_AUTO_TEST_CASE(runs_that_begin_together_without_a_directory_get_one_each) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) children.push_back(start("sample small.pbtxt --quiet"));
  for (pid_t child : children) BOOST_TEST(ended(child) == 0);
  for (const char* name : {"small-sghmc", "small-sghmc-2", "small-sghmc-3", "small-sghmc-4"})
    BOOST_TEST(call(fmt::format("summary runs/{}", name)).code == 0);
}

BOOST_AUTO_TEST_CASE(closed_or_full_standard_files_do_not_harm_a_run) {
  BOOST_REQUIRE(call(Runs::sample + "base").code == 0);
  const auto expected = files("base");
  const std::string loud = "sample small.pbtxt --checkpoint-every 0.000001s --threads 1 --out run";
  for (const std::vector<int>& closed :
       std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
    const pid_t child = start(loud, [&] {
      for (int file : closed) ::close(file);
    });
    const bool deaf = std::find(closed.begin(), closed.end(), 1) != closed.end();
    BOOST_TEST(ended(child) == (deaf ? 6 : 0));
    BOOST_TEST(differences(files("run"), expected) == "");
    std::filesystem::remove_all(directory / "run");
  }
  const Outcome full = run(words("sample small.pbtxt --out full"), clock, "/dev/full");
  BOOST_TEST(full.code == 6);
  BOOST_TEST(full.err == "[whorl] cannot write to standard output: No space left on device\n");
  BOOST_TEST(call("summary full").code == 0);
}

BOOST_AUTO_TEST_CASE(a_small_stack_is_enough) {
  BOOST_REQUIRE(call(Runs::sample + "base").code == 0);
  const pid_t child = start(Runs::sample + "run", [] {
    const rlimit limit{256 << 10, 256 << 10};
    ::setrlimit(RLIMIT_STACK, &limit);
  });
  BOOST_TEST(ended(child) == 0);
  BOOST_TEST(differences(files("run"), files("base")) == "");
}

BOOST_AUTO_TEST_CASE(a_limit_on_the_size_of_files_is_told_before_the_run) {
  const pid_t child = start("sample small.pbtxt --steps 400000 --out run", [] {
    const rlimit limit{60'000, 60'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  });
  BOOST_TEST(ended(child) == 6);
  BOOST_TEST(last_said().find("files are limited to 60000 bytes") != std::string::npos,
             last_said());
  BOOST_TEST(!std::filesystem::exists(directory / "run"));
}

BOOST_AUTO_TEST_CASE(metrics_that_reach_the_limit_end_the_run_which_then_goes_on) {
  const std::string call =
      "sample small.pbtxt --steps 300000 --thin 3000 --quiet --checkpoint-every 0.02s --out ";
  BOOST_REQUIRE(this->call(call + "base").code == 0);
  // More than draws.nc, and what makes it, take.
  constexpr rlim_t size = 230'000;
  BOOST_REQUIRE(directory.read("base/metrics.jsonl").size() > size);
  const pid_t child = start(call + "run", [] {
    const rlimit limit{size, size};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  });
  BOOST_TEST(ended(child) == 6);
  BOOST_TEST(last_said() == "[run] run/metrics.jsonl: cannot be written: File too large");
  BOOST_TEST(directory.read("run/metrics.jsonl").ends_with("}\n"));
  BOOST_TEST(this->call("resume run --quiet").code == 0);
  BOOST_TEST(differences(files("run"), files("base")) == "");
}

BOOST_AUTO_TEST_CASE(a_disk_that_is_too_small_is_told_before_the_run) {
  const SmallDisk disk(directory / "disk", 256);
  if (!disk.mounted()) return;
  const std::string found = error("sample small.pbtxt --steps 40000 --out disk/run");
  BOOST_TEST(found.starts_with("6: [run] disk/run: the run needs "), found);
  BOOST_TEST(found.ends_with(" bytes on disk, there are 262144; a larger --thin, or fewer "
                             "parameters by --keep, need less"),
             found);
  BOOST_TEST(!std::filesystem::exists(directory / "disk/run"));
  disk.fill();
  BOOST_TEST(error("sample small.pbtxt --out disk/run").starts_with("6: [run] "));
}

BOOST_AUTO_TEST_CASE(a_disk_that_becomes_full_stops_a_run_which_then_goes_on) {
  const std::string call =
      "sample small.pbtxt --steps 200000 --thin 400 --checkpoint-every 0.01s "
      "--quiet --threads 1 --out ";
  BOOST_REQUIRE(this->call(call + "base").code == 0);
  const SmallDisk disk(directory / "disk", 2048);
  if (!disk.mounted()) return;
  const pid_t child = start(call + "disk/run");
  wait_until_under_way("disk/run");
  disk.fill();
  BOOST_TEST(ended(child) == 6);
  BOOST_TEST(last_said().ends_with("No space left on device"), last_said());
  BOOST_TEST(has_checkpoint("disk/run"));
  // Still full: it says so again, and harms nothing.
  BOOST_TEST(this->call("resume disk/run --quiet").code == 6);
  disk.make_room();
  const Outcome resumed = this->call("resume disk/run --quiet");
  BOOST_TEST(resumed.code == 0, resumed.err);
  BOOST_TEST(differences(files("disk/run"), files("base")) == "");
}

BOOST_AUTO_TEST_CASE(a_disk_that_becomes_read_only_stops_a_run) {
  const SmallDisk disk(directory / "disk", 8192);
  if (!disk.mounted()) return;
  BOOST_REQUIRE(call("sample small.pbtxt --quiet --max-time 0s --out disk/run").code == 0);
  const std::string path = directory / "disk";
  BOOST_REQUIRE(::mount("none", path.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0);
  BOOST_TEST(error("sample small.pbtxt --out disk/new") ==
             "6: [run] --out disk/new: Read-only file system");
  BOOST_TEST(error("resume disk/run") ==
             "6: [run] disk/run/run.lock: cannot be written: Read-only file system");
  BOOST_TEST((*this)("report disk/run").code != 1);
}

BOOST_AUTO_TEST_CASE(draws_that_a_checkpoint_knows_of_and_are_not_there_are_told) {
  const pid_t child = start(long_run + "run");
  wait_until_under_way("run");
  const std::string early = directory.read("run/draws.nc");
  const std::int64_t had = DrawsReader(directory / "run/draws.nc").draws();
  for (int i = 0; i < 2000 && DrawsReader(directory / "run/draws.nc").draws() < had + 50; ++i)
    ::usleep(5000);
  ::kill(child, SIGTERM);
  BOOST_TEST(ended(child) == 143);
  const std::string late = directory.read("run/draws.nc");
  directory.write("run/draws.nc", early);
  const std::string found = error("resume run --quiet");
  BOOST_TEST(found.starts_with("5: [resume] run/draws.nc: the file has "), found);
  directory.write("run/draws.nc", late);
  check_goes_on("run");
}

BOOST_AUTO_TEST_CASE(events_that_a_power_cut_left_as_zeros_are_cut_off) {
  BOOST_REQUIRE(call(Runs::sample + "run").code == 0);
  const auto before = files("run");
  directory.write("run/events.jsonl",
                  directory.read("run/events.jsonl") + std::string(100, '\0') + "\n");
  const Outcome again = call("resume run --quiet");
  BOOST_TEST(again.code == 0, again.err);
  BOOST_TEST(differences(files("run"), before) == "");
}

// Whatever a checkpoint's sums say is right may still be absurd.
BOOST_AUTO_TEST_CASE(checkpoints_with_absurd_numbers_are_refused) {
  BOOST_REQUIRE(call(Runs::sample + "run").code == 0);
  const std::string path = directory / "run/checkpoint/step-000000000400.checkpoint";
  const Checkpoint good = load_checkpoint(path);
  const auto with = [&](const std::function<void(Checkpoint&)>& change) {
    Checkpoint bad = good;
    change(bad);
    save_checkpoint(path, bad);
    return error("resume run");
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto number = [&](const std::string& name, double value) {
    return with([&](Checkpoint& c) { c.put(name, std::array{value}); });
  };
  BOOST_TEST(number("ending", 7) ==
             "5: [checkpoint] its 'ending' is 7; expected a whole number up to 3");
  BOOST_TEST(number("ending", nan).starts_with("5: [checkpoint] its 'ending' is nan; "));
  BOOST_TEST(number("files/metrics", -1).starts_with("5: [checkpoint] its 'files/metrics' is -1;"));
  BOOST_TEST(number("surplus", 1) ==
             "5: [checkpoint] it has 'surplus', which this run does not know");
  const auto steps = [&](double step) {
    return with([&](Checkpoint& c) { c.put("chains/step", std::array{step}); });
  };
  BOOST_TEST(steps(nan) == "5: [checkpoint] it has made nan steps");
  BOOST_TEST(steps(-4) == "5: [checkpoint] it has made -4 steps");
  BOOST_TEST(steps(380) ==
             "5: [checkpoint] it is of step 400, its chains of step 380; there are 400");
  BOOST_TEST(with([](Checkpoint& c) {
               c.put("chains/diverged", std::array{9.0, 3.0});
             }) == "5: [checkpoint] it tells of chain 9; there are 5");
  BOOST_TEST(with([](Checkpoint& c) {
               c.put("chains/diverged", std::array{1.0, 900.0});
             }) == "5: [checkpoint] it tells of a divergence at step 900, after 400 steps");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
