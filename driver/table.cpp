// whorl table: runs with several seeds, as means with their errors, beside published values.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "driver/commands.hpp"
#include "driver/run_groups.hpp"
#include "driver/run_table.hpp"
#include "engine/error.hpp"

namespace whorl::driver {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(std::string_view option, std::string_view text) {
  std::vector<std::string> words = split(text, ',');
  if (std::find(words.begin(), words.end(), "") != words.end())
    fail(ErrorKind::usage, "table", "--{} '{}' has an empty word; expected some with commas",
         option, text);
  return words;
}

// "2000", "10e", "end" or "best".
TablePlace place_of(const std::string& word) {
  if (word == "end") return {};
  if (word == "best") return {TablePlace::Kind::best, 0};
  const bool epoch = word.ends_with('e');
  double value = 0;
  const char* end = word.data() + word.size() - (epoch ? 1 : 0);
  const auto [stop, fault] = std::from_chars(word.data(), end, value, std::chars_format::fixed);
  if (fault != std::errc{} || stop != end || !(value > 0) || value > 1e15 ||
      (!epoch && value != std::floor(value)))
    fail(ErrorKind::usage, "table",
         "--at: '{}' is no place; expected a step as in 2000, passes over the data as in 10e, end, "
         "or best by the validation data",
         word);
  return {epoch ? TablePlace::Kind::epoch : TablePlace::Kind::step, value};
}

TableRequest request_of(const Arguments& arguments) {
  TableRequest request;
  if (arguments.has("quantity"))
    request.quantities = words_of("quantity", arguments.text("quantity"));
  if (!arguments.has("at")) return request;
  for (const std::string& word : words_of("at", arguments.text("at")))
    if (const TablePlace place = place_of(word);
        std::find(request.places.begin(), request.places.end(), place) == request.places.end())
      request.places.push_back(place);
  return request;
}

// Each run once, however often it is named. Trainings are passed over where they were not asked
// for by name.
std::vector<RunRecord> load_runs(const std::vector<std::string>& directories,
                                 const Output& output) {
  std::vector<RunRecord> runs;
  std::vector<fs::path> seen;
  for (const std::string& directory : directories)
    for (const fs::path& path : runs_within(directory)) {
      std::error_code fault;
      const fs::path whole = fs::weakly_canonical(path, fault);
      if (std::find(seen.begin(), seen.end(), whole) != seen.end()) continue;
      seen.push_back(whole);
      RunRecord run = load_run(path);
      if (!run.is_training()) {
        runs.push_back(std::move(run));
      } else if (path == directory) {
        fail(ErrorKind::usage, "table", "{}: is a run of 'train'; expected runs of 'sample'",
             directory);
      } else {
        output.note(fmt::format("{} is a run of 'train' and is passed over", path.string()));
      }
    }
  if (runs.empty())
    fail(ErrorKind::usage, "table", "{}: there are no runs of 'sample'", directories.front());
  return runs;
}

void run_table(const Arguments& arguments, Output& output) {
  const TableRequest request = request_of(arguments);
  if (arguments.has("json") && arguments.has("markdown"))
    fail(ErrorKind::usage, "table", "--json and --markdown exclude each other");
  const std::vector<RunRecord> runs = load_runs(arguments.positional(), output);
  std::vector<const RunRecord*> all;
  for (const RunRecord& run : runs) all.push_back(&run);
  const std::vector<RunTable> tables = make_tables(all, request);
  if (arguments.has("json")) return output.write(tables_json(tables));
  for (const RunTable& table : tables) {
    if (&table != &tables.front()) output.print("\n");
    print_table(table, arguments.has("markdown") ? TableStyle::markdown : TableStyle::text, output);
  }
}

}  // namespace

Command table_command() {
  return {
      "table",
      {"DIR..."},
      1,
      "means over runs with several seeds, beside published values",
      "DIR is a run, or a directory that has runs in it. Runs of one experiment and one sampler\n"
      "that differ in nothing but the seed make one row: of each quantity of metrics.jsonl the\n"
      "mean over runs and its standard error, at the end and where values are published.",
      "whorl table runs/mnist --quantity error,nll_sum --at 2000,end",
      {{"quantity", "NAMES", "of metrics.jsonl (default: published, errors, likelihoods)"},
       {"at", "PLACES", "steps, passes as in 10e, end, best by the validation data"},
       {"markdown", "", "print a table for a document"},
       json_option},
      &run_table};
}

}  // namespace whorl::driver
