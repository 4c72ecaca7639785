// Settings and places of a run that cannot be, or only just can, with the exact sentence for each.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>

#include "runs.hpp"
#include "storage/draws_file.hpp"

namespace whorl::testing {

namespace {

struct Limited : Runs {
  Outcome sampled(const std::string& out, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"sample", "small.pbtxt", "--out", out};
    all.insert(all.end(), more.begin(), more.end());
    return run(all, clock);
  }
  std::string refused(const std::string& more) const {
    const std::string found = error("sample small.pbtxt --out refused " + more);
    BOOST_TEST(!std::filesystem::exists(directory / "refused"), more);
    return found;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(run_limits, Limited)

BOOST_AUTO_TEST_CASE(options_that_cannot_be_leave_no_directory) {
  BOOST_TEST(refused("--keep thta") ==
             "2: [sample] --keep: the energy has no parameter 'thta', did you mean 'theta'?");
  BOOST_TEST(refused("--precision f16") == "2: [sample] --precision is 'f16'; expected f32 or f64");
  BOOST_TEST(refused("--precision i32") == "2: [sample] --precision is 'i32'; expected f32 or f64");
  BOOST_TEST(refused("--on-divergence skip") ==
             "2: [sample] --on-divergence is 'skip'; expected stop or drop");
  const std::string goals = "; expected ess=N, above 0, and rhat=R, above 1";
  for (const std::string goal : {"nonsense", "ess", "ess=0", "ess=-3", "rhat=1", "rhat=0.9", "=4"})
    BOOST_TEST(refused("--until " + goal) ==
               "2: [sample] --until: '" + goal + "' is no goal" + goals);
  BOOST_TEST(refused("--until ess=nan") == "2: [sample] --until ess: 'nan' is not a number");
  BOOST_TEST(refused("--until ess=5,ess=6") == "2: [sample] --until names 'ess' twice");
  BOOST_TEST(refused("--checkpoint-every 0") ==
             "2: [sample] --checkpoint-every is 0; expected some time, as in 30s");
  for (const std::string time : {"-1s", "3x", "s", "nan", "1e999s"})
    for (const std::string option : {"--max-time", "--checkpoint-every"})
      BOOST_TEST(refused(option + " " + time) == "2: [time] " + option + ": '" + time +
                                                     "' is no time; expected as in 90s, 15m, 2h or "
                                                     "1d");
  for (const std::string seed : {"-1", "18446744073709551616", "x"})
    BOOST_TEST(refused("--seed " + seed) ==
               "2: [sample] --seed is not a whole number from 0 to 2^64-1: '" + seed + "'");
  BOOST_TEST(refused("--threads -1").starts_with("2: [sample] --threads is out of range: -1; "));
  BOOST_TEST(refused("--threads 1000000").starts_with("2: [sample] --threads is out of range: "));
  BOOST_TEST(refused("--burn-in 400") ==
             "2: [sample] the burn-in of 400 steps leaves nothing of 400 steps");
  BOOST_TEST(refused("--thin 371") ==
             "2: [sample] one state in 371 is kept, but only 370 steps follow the burn-in: there "
             "would be no draw");
  BOOST_TEST(refused("--memory-budget 1K").starts_with("8: [chains] plan and states of 5 chains"));
  BOOST_TEST(error("sample small.pbtxt --overwrite") ==
             "2: [sample] --overwrite needs the directory of the run, as in --out runs/g");
}

BOOST_AUTO_TEST_CASE(options_at_their_limits_work) {
  BOOST_TEST(sampled("seed", {"--seed", "18446744073709551615"}).code == 0);
  BOOST_TEST(sampled("threads", {"--threads", "0"}).code == 0);
  BOOST_TEST(sampled("late", {"--checkpoint-every", "1000d"}).code == 0);
  BOOST_TEST(sampled("one", {"--burn-in", "399", "--thin", "1"}).code == 0);
  BOOST_TEST((draws("one", "theta").shape() == Shape{5, 1, 3}));
  BOOST_TEST(sampled("alone", {"--chains", "1", "--burn-in", "397", "--thin", "1"}).code == 0);
  BOOST_TEST((draws("alone", "theta").shape() == Shape{1, 3, 3}));
}

BOOST_AUTO_TEST_CASE(no_time_at_all_is_one_run_of_steps) {
  const Outcome ended = sampled("run", {"--max-time", "0s", "--burn-in", "300"});
  BOOST_TEST(ended.code == 0, ended.err);
  BOOST_TEST(
      ended.out.find("note: ended after step 20 of 400: the time is up\n") != std::string::npos,
      ended.out);
  BOOST_TEST(DrawsReader(directory / "run/draws.nc").layout().draws == 0);
  BOOST_TEST(error("summary run") ==
             "4: [summary] run: there are no draws yet: the run is done after step 20");
  BOOST_TEST(call("resume run --quiet").code == 0);
}

BOOST_AUTO_TEST_CASE(resume_takes_no_option_that_would_change_the_run) {
  BOOST_REQUIRE(sampled("run").code == 0);
  const auto before = files("run");
  for (const std::string option : {"--overwrite", "--steps", "--out"})
    BOOST_TEST(
        error("resume run " + option).starts_with("2: [resume] unknown option '" + option + "'"));
  BOOST_TEST(error("resume run --stict") ==
             "2: [resume] unknown option '--stict', did you mean '--strict'?; see 'whorl resume "
             "--help'");
  BOOST_TEST(error("resume run --checkpoint-every 0") ==
             "2: [resume] --checkpoint-every is 0; expected some time, as in 30s");
  BOOST_TEST(error("resume run run").starts_with("2: [resume] unexpected argument 'run'"));
  BOOST_TEST(differences(files("run"), before) == "");
}

BOOST_AUTO_TEST_CASE(places_with_any_name_are_only_names) {
  for (const std::string name : {"with blanks", "zw\xc3\xb6lf", "two\nlines", "~", "$HOME", "a/b/c",
                                 "-", "%s{}", "\xff\xfe"}) {
    const Outcome made = sampled(name);
    BOOST_TEST(made.code == 0, made.err);
    BOOST_TEST(made.out.find("\n\nwrote ") != std::string::npos);
    BOOST_TEST(std::filesystem::exists(directory / (name + "/draws.nc")));
    const Outcome again = sampled(name);
    BOOST_TEST(again.code == 2);
    BOOST_TEST(std::count(again.err.begin(), again.err.end(), '\n') == 1, again.err);
    BOOST_TEST(run({"resume", name, "--quiet"}, clock).code == 0);
    BOOST_TEST(run({"summary", name}, clock).code == 0);
  }
  std::filesystem::create_directory(directory / "real");
  std::filesystem::create_directory_symlink("real", directory / "link");
  BOOST_TEST(sampled("link").code == 0);
  BOOST_TEST(std::filesystem::exists(directory / "real/draws.nc"));
}

BOOST_AUTO_TEST_CASE(places_that_cannot_be_are_refused) {
  directory.write("file", "mine");
  std::filesystem::create_symlink("nowhere", directory / "dangling");
  const auto refused_as = [&](const std::string& name, int code, const std::string& text) {
    const Outcome found = sampled(name);
    BOOST_TEST(found.code == code);
    BOOST_TEST(found.err == text + "\n");
  };
  refused_as("file", 6, "[run] --out file: Not a directory");
  refused_as("file/run", 6, "[run] --out file/run: Not a directory");
  refused_as("dangling", 6, "[run] --out dangling: File exists");
  refused_as("", 2, "[run] --out: the name of the directory is empty");
  refused_as("/proc/run", 6, "[run] --out /proc/run: No such file or directory");
  const std::string name(300, 'a');
  refused_as(name, 6, "[run] --out " + name + ": File name too long");
  std::string path;
  for (int i = 0; i < 2100; ++i) path += "a/";
  refused_as(path, 6, "[run] --out " + path + ": File name too long");
  BOOST_TEST(directory.read("file") == "mine");
}

BOOST_AUTO_TEST_CASE(a_directory_with_nothing_but_a_lock_is_empty) {
  std::filesystem::create_directory(directory / "run");
  directory.write("run/run.lock", "");
  BOOST_TEST(error("resume run") ==
             "2: [run] run: there is no run in this directory: config.pbtxt is missing");
  BOOST_TEST(sampled("run").code == 0);
}

// What a run leaves that was killed between its first file and config.pbtxt.
BOOST_AUTO_TEST_CASE(a_run_that_had_not_begun_is_no_run_to_resume) {
  std::filesystem::create_directory(directory / "run");
  directory.write("run/run.lock", "");
  directory.write("run/draws.nc", "half");
  BOOST_TEST(sampled("run").err ==
             "[run] --out run: the directory is not empty; choose another, or give --overwrite\n");
  BOOST_TEST(sampled("run", {"--overwrite"}).code == 0);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_in_a_config_is_told_with_its_line) {
  BOOST_REQUIRE(sampled("run").code == 0);
  const std::string good = directory.read("run/config.pbtxt");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    BOOST_REQUIRE(text.find(from) != std::string::npos);
    directory.write("run/config.pbtxt", text.replace(text.find(from), from.size(), to));
    return error("resume run");
  };
  const auto before = files("run");
  for (const auto& [from, to, said] : std::vector<std::array<std::string, 3>>{
           {"  thin: 2\n", "  thinn: 2\n", "did you mean 'thin'?"},
           {"  thin: 2\n", "  thin: 2\n  thin: 3\n", "thin"},
           {"  thin: 2\n", "  thin: -2\n", "thin"},
           {"  thin: 2\n", "  thin: two\n", ""},
           {"  chains: 5\n", "  chains: 0\n", "chains"},
           {"constant: 0.1", "constant: nan", ""},
           {"run {", "rum {", "did you mean 'run'?"}}) {
    const std::string found = with(from, to);
    BOOST_TEST((found.starts_with("2: [load] run/config.pbtxt:") ||
                found.starts_with("3: [load] run/config.pbtxt:")),
               found);
    BOOST_TEST(found.find(said) != std::string::npos, found);
    BOOST_TEST(std::count(found.begin(), found.end(), '\n') == 0, found);
  }
  // A setting that is right and another one is that of another run.
  BOOST_TEST(with("  thin: 2\n", "  thin: 3\n")
                 .starts_with("5: [resume] config.pbtxt is not that of the checkpoint: line "));
  directory.write("run/config.pbtxt", good);
  BOOST_TEST(call("resume run --quiet").code == 0);
  BOOST_TEST(differences(files("run"), before) == "");
}

BOOST_AUTO_TEST_CASE(variables_of_the_environment_change_nothing) {
  BOOST_REQUIRE(sampled("base").code == 0);
  for (const auto& variable : std::vector<std::pair<std::string, std::string>>{
           {"MKL_NUM_THREADS", "7"}, {"OMP_NUM_THREADS", "7"}, {"MKL_CBWR", "COMPATIBLE"}}) {
    const Outcome made = call("sample small.pbtxt --overwrite --out run", {variable});
    BOOST_TEST(made.code == 0);
    BOOST_TEST(made.err ==
               "note: " + variable.first + " is set and was ignored: Whorl decides this itself\n");
    BOOST_TEST(differences(files("run"), files("base")) == "", variable.first);
  }
  for (const auto& variable :
       std::vector<std::pair<std::string, std::string>>{{"LC_ALL", "de_DE.UTF-8"},
                                                        {"LANG", "tr_TR.UTF-8"},
                                                        {"TZ", "Asia/Kathmandu"},
                                                        {"HOME", "/nowhere"},
                                                        {"TMPDIR", "/nowhere"}}) {
    BOOST_TEST(call("sample small.pbtxt --quiet --overwrite --out run", {variable}).code == 0);
    BOOST_TEST(differences(files("run"), files("base")) == "", variable.first);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
