// whorl sample --seeds: what it leaves, and that it can be repeated until all is done.
#include "driver/seeds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <boost/property_tree/json_parser.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <sstream>

#include "runs.hpp"
#include "tests/support/errors.hpp"

namespace whorl::testing {

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string begin = "sample small.pbtxt --threads 1 --checkpoint-every 0.000001s --out ";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(seeds, Runs)

BOOST_AUTO_TEST_CASE(every_seed_has_the_run_that_it_would_have_alone) {
  const Outcome outcome = call(begin + "all --seeds 15,3", clock);
  BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
  BOOST_TEST(has(outcome.out, "a small Gaussian\n\nsampler  runs  step  "));
  BOOST_TEST(has(outcome.out, "\nsghmc       2   400  "));
  BOOST_TEST(has(outcome.err, "note: seed 15 begins: all/seed-15\n"));
  for (const char* seed : {"15", "3"}) {
    BOOST_REQUIRE(call(begin + "alone-" + seed + " --quiet --seed " + seed, clock).code == 0);
    BOOST_TEST(differences(files(std::string("all/seed-") + seed),
                           files(std::string("alone-") + seed)) == "");
  }
}

BOOST_AUTO_TEST_CASE(what_is_done_is_left_alone) {
  BOOST_REQUIRE(call(begin + "all --quiet --seeds 1", clock).code == 0);
  const std::string events = directory.read("all/seed-1/events.jsonl");
  const Outcome again = call(begin + "all --seeds 1..2", clock);
  BOOST_TEST_REQUIRE(again.code == 0, again.err);
  BOOST_TEST(has(again.err, "note: seed 1 is done already: all/seed-1\n"));
  BOOST_TEST(has(again.err, "note: seed 2 begins: all/seed-2\n"));
  BOOST_TEST(directory.read("all/seed-1/events.jsonl") == events);
  BOOST_TEST(call(begin + "all --quiet --seeds 1..2").out == "");
}

BOOST_AUTO_TEST_CASE(a_call_that_is_killed_can_be_repeated_until_it_is_done) {
  BOOST_REQUIRE(call(begin + "whole --quiet --seeds 1..3", clock).code == 0);
  int killed = 0;
  for (int attempt = 0; attempt < wanted("WHORL_KILLS", 12); ++attempt) {
    const int signal = attempt % 3 == 2 ? SIGTERM : SIGKILL;
    const int code =
        interrupted(begin + "all --quiet --seeds 1..3", signal, 3'000 + attempt * 7'919 % 60'000);
    BOOST_TEST((code == 0 || code == 128 + signal), code);
    killed += code != 0;
  }
  BOOST_TEST(killed > 0);
  const Outcome last = call(begin + "all --seeds 1..3");
  BOOST_TEST_REQUIRE(last.code == 0, last.err);
  BOOST_TEST(has(last.out, "\nsghmc       3   400  "));
  for (const char* file : {"metrics.jsonl", "config.pbtxt"})
    for (int seed = 1; seed <= 3; ++seed)
      BOOST_TEST(directory.read(fmt::format("all/seed-{}/{}", seed, file)) ==
                 directory.read(fmt::format("whole/seed-{}/{}", seed, file)));
}

BOOST_AUTO_TEST_CASE(other_settings_are_refused_in_the_same_directory) {
  BOOST_REQUIRE(call(begin + "all --quiet --seeds 1").code == 0);
  BOOST_TEST(error(begin + "all --quiet --seeds 1,2 --chains 6") ==
             "2: [sample] --out all: its runs are of another experiment: line 9 is '  chains: 6', "
             "and was '  chains: 5'; choose another directory, or give --overwrite");
  BOOST_TEST(!std::filesystem::exists(directory / "all/seed-2"));
  // How long it may take is another matter.
  BOOST_TEST(call(begin + "all --quiet --seeds 1,2 --max-time 1h").code == 0);
  BOOST_TEST(call(begin + "all --quiet --seeds 1,2 --chains 6 --overwrite").code == 0);
  BOOST_TEST(has(directory.read("all/seed-1/config.pbtxt"), "chains: 6"));
}

BOOST_AUTO_TEST_CASE(a_call_that_fails_leaves_nothing_behind) {
  BOOST_TEST(call(begin + "all --quiet --seeds 1 --sampler none").code == 2);
  BOOST_TEST(!std::filesystem::exists(directory / "all"));
  std::filesystem::create_directory(directory / "mine");
  BOOST_TEST(call(begin + "mine --quiet --seeds 1 --sampler none").code == 2);
  BOOST_TEST(std::filesystem::is_empty(directory / "mine"));
}

BOOST_AUTO_TEST_CASE(seeds_that_diverge_do_not_keep_the_others_back) {
  const Outcome outcome =
      call("sample small.pbtxt --sampler sgld --step-size 50 --steps 4000 --out all --seeds 1,2");
  BOOST_TEST(outcome.code == 7);
  BOOST_TEST(has(outcome.err, "note: seed 1: "));
  BOOST_TEST(has(outcome.err, "note: seed 2 begins: "));
  BOOST_TEST(has(outcome.err, "[sample] seed 2: "));
}

BOOST_AUTO_TEST_CASE(programs_get_one_object) {
  const Outcome outcome = call(begin + "all --json --seeds 1,2");
  BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
  std::istringstream text(outcome.out);
  boost::property_tree::ptree json;
  boost::property_tree::read_json(text, json);
  const auto row = json.get_child("tables").front().second.get_child("rows").front().second;
  BOOST_TEST(row.get<int>("runs") == 2);
  BOOST_TEST(row.get<int>("quantities.kl.runs") == 2);
}

BOOST_AUTO_TEST_CASE(seeds_are_numbers_and_ranges) {
  using driver::parse_seeds;
  const auto text = [](const char* words) {
    return fmt::format("{}", fmt::join(parse_seeds(words), " "));
  };
  BOOST_TEST(text("15,25,35") == "15 25 35");
  BOOST_TEST(text("1..5") == "1 2 3 4 5");
  BOOST_TEST(text("7,0..2,9..9") == "7 0 1 2 9");
  BOOST_TEST(text("18446744073709551615..18446744073709551615") == "18446744073709551615");
  for (const char* word :
       {"", "x", "1.5", "-1", "5..1", "..", "1..", "..3", "1...3", "18446744073709551616"})
    BOOST_TEST(error_text([&] { parse_seeds(word); }) ==
               fmt::format("[sample] --seeds: '{}' is neither a seed nor a range of them; "
                           "expected as in 15,25,35 or 1..5",
                           word));
  BOOST_TEST(error_text([&] { parse_seeds("1,2,"); }).starts_with("[sample] --seeds: ''"));
  BOOST_TEST(error_text([&] { parse_seeds("3,1..3"); }) == "[sample] --seeds names 3 twice");
  BOOST_TEST(error_text([&] { parse_seeds("0..18446744073709551615"); }) ==
             "[sample] --seeds '0..18446744073709551615' are more than 10000");
}

BOOST_AUTO_TEST_CASE(what_does_not_go_together_is_refused) {
  BOOST_TEST(error("sample small.pbtxt --out all --seeds 1 --seed 2") ==
             "2: [sample] --seed and --seeds exclude each other");
  BOOST_TEST(error("sample small.pbtxt --seeds 1") ==
             "2: [sample] --seeds needs the directory of the runs, as in --out runs/g");
  BOOST_REQUIRE(call(sample + "run").code == 0);
  BOOST_TEST(error("sample small.pbtxt --out run --seeds 1") ==
             "2: [sample] --out run: is the directory of a run; --seeds needs one for several");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
