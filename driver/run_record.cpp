#include "driver/run_record.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "driver/output.hpp"
#include "driver/run_directory.hpp"
#include "engine/error.hpp"
#include "engine/file.hpp"

namespace whorl::driver {

namespace {

namespace fs = std::filesystem;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// A line that is not whole can only be the last one, and only where a writer was cut off.
enum class Whole { yes, no };

using LineReader = std::function<void(const nlohmann::json& line, const std::string& place)>;

void read_line(std::string_view text, Whole whole, const std::string& place,
               const LineReader& take) {
  const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
  if (line.is_discarded() && whole == Whole::no) return;
  if (line.is_discarded() || !line.is_object())
    fail(ErrorKind::data, "load",
         "{}: the line is no JSON object: '{}'; expected {{\"name\": "
         "number, ...}}",
         place, printable(text.substr(0, 40)));
  take(line, place);
}

// A file that is not there has no lines.
void read_lines(const fs::path& path, const LineReader& take) {
  std::error_code fault;
  if (!fs::exists(path, fault)) return;
  const std::string text = whole_file("load", path.string());
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const Whole whole = end == std::string::npos ? Whole::no : Whole::yes;
    const std::size_t stop = whole == Whole::yes ? end : text.size();
    read_line(std::string_view(text).substr(at, stop - at), whole,
              fmt::format("{}:{}", path.string(), ++number), take);
    at = stop + 1;
  }
}

bool is_number(const nlohmann::json& value) {
  return value.is_number() || value.is_null() || value.is_boolean();
}

double number_of(const nlohmann::json& value) {
  if (value.is_null()) return not_a_number;
  return value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
}

MetricsRow metrics_of(const nlohmann::json& line, const std::string& place) {
  MetricsRow row;
  for (const auto& [name, value] : line.items()) {
    if (!is_number(value))
      fail(ErrorKind::data, "load", "{}: '{}' is no number", place, printable(name));
    row.emplace(name, number_of(value));
  }
  if (!row.contains("step") && !row.contains("update"))
    fail(ErrorKind::data, "load", "{}: the line has neither 'step' nor 'update'", place);
  return row;
}

RunEvent event_of(const nlohmann::json& line, const std::string& place) {
  RunEvent event;
  for (const auto& [name, value] : line.items()) {
    if (is_number(value)) {
      event.numbers.emplace(name, number_of(value));
    } else if (value.is_string()) {
      event.texts.emplace(name, value.get<std::string>());
    } else {
      fail(ErrorKind::data, "load", "{}: '{}' is neither a text nor a number", place,
           printable(name));
    }
  }
  const auto kind = event.texts.find("event");
  if (kind == event.texts.end())
    fail(ErrorKind::data, "load", "{}: the line has no 'event'", place);
  event.kind = kind->second;
  event.texts.erase(kind);
  return event;
}

void check_directory(const fs::path& directory) {
  std::error_code fault;
  if (!fs::exists(directory, fault))
    fail(ErrorKind::usage, "run", "{}: there is no such directory", directory.string());
  if (!fs::is_directory(directory, fault))
    fail(ErrorKind::usage, "run", "{}: is not a directory; expected that of a run",
         directory.string());
  if (!fs::exists(directory / "config.pbtxt", fault))
    fail(ErrorKind::usage, "run", "{}: is not the directory of a run: it has no config.pbtxt",
         directory.string());
}

double number_or_nan(const MetricsRow& row, std::string_view name) {
  const auto found = row.find(name);
  return found == row.end() ? not_a_number : found->second;
}

}  // namespace

std::string RunRecord::state() const {
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (event->kind == "end") return "done";
    if (event->kind == "begin" || event->kind == "resume" || event->kind == "stop") break;
  }
  if (locked) return "running";
  // Before the first event there are the metrics to judge by.
  const bool complete = events.empty() && !metrics.empty() && !is_training() &&
                        experiment.run.steps && steps() >= *experiment.run.steps;
  return complete ? "done" : "stopped";
}

double RunRecord::seconds() const {
  double last = 0;
  for (const RunEvent& event : events)
    if (const double seconds = number_or_nan(event.numbers, "seconds"); std::isfinite(seconds))
      last = seconds;
  if (last == 0 && !metrics.empty()) last = number_or_nan(metrics.back(), "seconds");
  return std::isfinite(last) ? last : 0;
}

std::int64_t RunRecord::steps() const {
  double last = 0;
  if (!metrics.empty()) last = number_or_nan(metrics.back(), is_training() ? "update" : "step");
  for (const RunEvent& event : events)
    if (const double step = number_or_nan(event.numbers, "step"); step > last) last = step;
  return std::isfinite(last) ? static_cast<std::int64_t>(last) : 0;
}

RunRecord load_run(const fs::path& directory) {
  check_directory(directory);
  RunRecord record;
  record.directory = directory;
  // Before the files: a run that ends meanwhile is then seen with all that it wrote.
  record.locked = is_locked(directory);
  record.config = whole_file("load", (directory / "config.pbtxt").string());
  record.experiment = load_experiment(directory / "config.pbtxt");
  read_lines(directory / "metrics.jsonl", [&](const auto& line, const std::string& place) {
    record.metrics.push_back(metrics_of(line, place));
  });
  read_lines(directory / "events.jsonl", [&](const auto& line, const std::string& place) {
    record.events.push_back(event_of(line, place));
  });
  std::error_code fault;
  if (fs::exists(directory / "sampler.pbtxt", fault))
    record.sampler = load_sampler(directory / "sampler.pbtxt");
  if (fs::exists(directory / "draws.nc", fault))
    record.draws.emplace((directory / "draws.nc").string());
  if (fs::exists(directory / scores_name, fault))
    record.scores = load_scores(directory / scores_name);
  return record;
}

}  // namespace whorl::driver
