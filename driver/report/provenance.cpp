// Where the runs are from, how to make them again, and their configurations.
#include <fmt/format.h>

#include <algorithm>

#include "driver/progress.hpp"
#include "driver/report/html.hpp"
#include "driver/report/numbers.hpp"
#include "driver/report/sections.hpp"

namespace whorl::driver::report {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t mebibyte = 1 << 20;

// In quotes where a shell would read something else.
std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._-+=:,@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string files_text(const RunRecord& run) {
  std::string text;
  std::vector<fs::path> files;
  std::error_code fault;
  for (const auto& entry : fs::directory_iterator(run.directory, fault))
    if (entry.is_regular_file(fault)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    if (name == "run.lock" || name == "report.html") continue;
    const std::uintmax_t size = fs::file_size(file, fault);
    text +=
        fmt::format("{}{} ({})", text.empty() ? "" : ", ", name,
                    size >= mebibyte
                        ? fmt::format("{} MiB", grouped(static_cast<std::int64_t>(size / mebibyte)))
                        : fmt::format("{} bytes", grouped(static_cast<std::int64_t>(size))));
  }
  return text;
}

std::string times_text(const RunView& run) {
  std::string text;
  for (const RunEvent& event : run.record->events) {
    const auto at = event.texts.find("at");
    if (at == event.texts.end()) continue;
    const std::string what = event.kind == "begin"    ? "begun"
                             : event.kind == "resume" ? "taken up"
                             : event.kind == "stop"   ? "stopped"
                             : event.kind == "end"    ? "ended"
                                                      : event.kind;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, at->second);
  }
  return text;
}

std::string threads_text(const RunView& run) {
  for (auto event = run.record->events.rbegin(); event != run.record->events.rend(); ++event)
    if (const auto found = event->numbers.find("threads"); found != event->numbers.end())
      return number_text(found->second);
  return "";
}

std::string run_markup(const RunView& run) {
  const RunRecord& record = *run.record;
  const std::string directory = record.directory.string();
  std::vector<std::pair<std::string, std::string>> entries{
      {"directory", directory},
      {"experiment", run.experiment().name},
      {"state", record.state()},
      {"times", times_text(run)},
      {"seed", record.is_training()        ? fmt::format("{}", run.experiment().training->seed)
               : run.experiment().run.seed ? fmt::format("{}", *run.experiment().run.seed)
                                           : ""},
      {"whorl", run.event_text("version")},
      {"processor", run.event_text("processor")},
      {"threads", threads_text(run)},
      {"arithmetic", run.event_text("arithmetic")},
      {"hash of the graph", run.event_text("graph")},
      {"hash of the data", run.event_text("data")},
      {"hash of the sampler",
       record.sampler ? canonical_hash(*record.sampler) : run.event_text("sampler")},
      {"files", files_text(record)}};
  if (record.sampler)
    for (const auto& [name, value] : record.sampler->record)
      entries.emplace_back("sampler: " + name, value);
  std::erase_if(entries, [](const auto& entry) { return entry.second.empty(); });
  const std::string config = shell_word((record.directory / "config.pbtxt").string());
  std::string commands = fmt::format("whorl {} {} --out NEW_DIRECTORY",
                                     record.is_training() ? "train" : "sample", config);
  std::string markup = definitions(entries) + paragraph("To make it again:") + code_block(commands);
  std::error_code fault;
  if (record.state() == "stopped" && fs::exists(record.directory / "checkpoint", fault))
    markup += paragraph("To go on where it stopped:") +
              code_block("whorl resume " + shell_word(directory));
  return heading(3, run.name) + markup +
         details("Configuration of " + run.label, code_block(record.config), false);
}

}  // namespace

std::string provenance(const std::vector<RunView>& runs) {
  std::string markup;
  for (const RunView& run : runs) markup += run_markup(run);
  return section("provenance", "Where it is from", markup);
}

}  // namespace whorl::driver::report
