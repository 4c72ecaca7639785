#include "driver/run_groups.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "driver/output.hpp"
#include "engine/file.hpp"

namespace whorl::driver {

namespace {

namespace fs = std::filesystem;

constexpr int deepest = 3;  // levels of directories in which runs are sought

std::string shown(const RunRecord& run) { return printable(run.directory.string()); }

bool has_own_step_size(const RunRecord& run) {
  return run.sampler && run.sampler->learned &&
         run.sampler->learned->step_size_times_gradient_rms > 0;
}

// The fields of a text in protobuf's format, as to_pbtxt writes it, each with the names of the
// messages that it is in: "run.step_size.constant: 0.1".
std::vector<std::string> flattened(std::string_view text) {
  std::vector<std::string> fields, path;
  // To the next of `ends` outside of quotes and brackets.
  const auto take = [&](std::string_view ends) {
    std::size_t at = 0;
    for (bool quoted = false, listed = false; at < text.size(); ++at) {
      const char c = text[at];
      if (quoted && c == '\\') {
        ++at;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (!quoted && (c == '[' || c == ']')) {
        listed = c == '[';
      } else if (!quoted && !listed && ends.find(c) != std::string_view::npos) {
        break;
      }
    }
    const std::string_view taken = text.substr(0, at);
    text.remove_prefix(std::min(at, text.size()));
    return std::string(taken);
  };
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
    if (text.empty()) return fields;
    if (text.front() == '}') {
      if (!path.empty()) path.pop_back();
      text.remove_prefix(1);
      continue;
    }
    const std::string name = take(" :{\n");
    text.remove_prefix(std::min(text.find_first_not_of(" "), text.size()));
    if (text.starts_with('{')) {
      path.push_back(name);
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(std::min(text.find_first_not_of(": "), text.size()));
    path.push_back(name);
    fields.push_back(fmt::format("{}: {}", fmt::join(path, "."), take(" }\n")));
    path.pop_back();
  }
}

// All that makes a run what it is, but for its seed: lines by which runs can be told apart.
std::vector<std::string> settings_of(const RunRecord& run) {
  ExperimentFile experiment = run.experiment;
  experiment.run.seed.reset();
  // What a call may decide, and what a run may not reach, is no difference until it is seen.
  experiment.storage.checkpoint_seconds.reset();
  experiment.stop.seconds.reset();
  experiment.published.clear();
  // Every run has a copy of the energy, and of the sampler: by their paths they would differ.
  for (TargetSettings& target : experiment.targets)
    if (!target.graph.empty()) target.graph = target.graph.filename();
  if (run.sampler && !experiment.samplers.empty())
    experiment.samplers.front().name = "sampler.pbtxt";
  // A pilot run of each seed decides; what came out is told in a note.
  if (has_own_step_size(run)) experiment.run.step_size.reset();
  std::vector<std::string> lines = flattened(to_pbtxt(experiment));
  if (run.sampler) lines.push_back(fmt::format("the sampler: {}", canonical_hash(*run.sampler)));
  const fs::path energy = run.directory / "energy.pb";
  if (std::error_code fault; fs::is_regular_file(energy, fault))
    lines.push_back(fmt::format("the energy: {:x}",
                                std::hash<std::string>()(whole_file("table", energy.string()))));
  for (const RunEvent& event : run.events)
    if (const auto data = event.texts.find("data"); data != event.texts.end()) {
      lines.push_back(fmt::format("the data: {}", data->second));
      break;
    }
  return lines;
}

std::string or_nothing(const std::string& line) {
  return line.empty() ? "nothing of the kind" : fmt::format("'{}'", printable(line));
}

// "'run.step_size.constant: 0.2', and 'run.step_size.constant: 0.1' in runs/a"
std::string difference(const RunRecord& run, const RunRecord& first) {
  const std::vector<std::string> a = settings_of(run), b = settings_of(first);
  const auto only_in = [](const std::vector<std::string>& here,
                          const std::vector<std::string>& there) {
    const auto found = std::find_if(here.begin(), here.end(), [&](const std::string& line) {
      return std::find(there.begin(), there.end(), line) == there.end();
    });
    return found == here.end() ? std::string{} : *found;
  };
  return fmt::format("{}, and {} in {}", or_nothing(only_in(a, b)), or_nothing(only_in(b, a)),
                     shown(first));
}

std::uint64_t seed_of(const RunRecord* run) { return run->experiment.run.seed.value_or(0); }

// Sorts by seeds, and leaves out runs whose seed another has.
void use_each_seed_once(RunGroup& group, std::vector<std::string>& notes) {
  std::stable_sort(group.runs.begin(), group.runs.end(),
                   [](const auto* a, const auto* b) { return seed_of(a) < seed_of(b); });
  std::vector<const RunRecord*> kept;
  for (const RunRecord* run : group.runs)
    if (kept.empty() || seed_of(run) != seed_of(kept.back()))
      kept.push_back(run);
    else
      notes.push_back(fmt::format("{} is left out: it has the seed {}, as {} has", shown(*run),
                                  seed_of(run), shown(*kept.back())));
  group.runs = std::move(kept);
}

void note_step_sizes(const RunGroup& group, std::vector<std::string>& notes) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const RunRecord* run : group.runs) {
    const auto& schedule = run->experiment.run.step_size;
    if (!has_own_step_size(*run) || !schedule || !schedule->constant) continue;
    low = std::min(low, *schedule->constant);
    high = std::max(high, *schedule->constant);
  }
  if (low < high)
    notes.push_back(fmt::format("{} has a rule for its step size, which gave {:.4g} to {:.4g}",
                                group.sampler, low, high));
}

bool is_run(const fs::path& path) {
  std::error_code fault;
  return fs::exists(path / "config.pbtxt", fault);
}

void add_runs(const fs::path& directory, int levels, std::vector<fs::path>& runs) {
  if (is_run(directory)) return runs.push_back(directory);
  if (levels == 0) return;
  std::error_code fault;
  for (const std::string& name : names_in(directory.string(), fault))
    if (std::error_code none; fs::is_directory(directory / name, none))
      add_runs(directory / name, levels - 1, runs);
}

}  // namespace

std::vector<fs::path> runs_within(const fs::path& directory) {
  std::vector<fs::path> runs;
  add_runs(directory, deepest, runs);
  if (runs.empty()) runs.push_back(directory);
  return runs;
}

std::string sampler_of(const RunRecord& run) {
  if (run.sampler && !run.sampler->name.empty()) return run.sampler->name;
  if (run.sampler && run.sampler->learned) return "learned";
  return run.experiment.sampler().empty() ? "unknown" : run.experiment.sampler();
}

std::string experiment_of(const RunRecord& run) {
  const ExperimentFile& experiment = run.experiment;
  if (!experiment.name.empty() || experiment.targets.empty()) return experiment.name;
  const TargetSettings& target = experiment.targets.front();
  return target.gaussian ? fmt::format("a Gaussian of {} dimensions", target.gaussian->dimension)
                         : target.graph.filename().string();
}

void add_new(std::vector<PublishedValue>& all, const std::vector<PublishedValue>& more) {
  for (const PublishedValue& value : more) {
    const auto same = [&](const PublishedValue& other) {
      return value.sampler == other.sampler && value.quantity == other.quantity &&
             value.value == other.value && value.step == other.step && value.source == other.source;
    };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(value);
  }
}

std::vector<RunGroup> group_runs(const std::vector<const RunRecord*>& runs,
                                 std::vector<std::string>& notes) {
  std::vector<RunGroup> groups;
  std::vector<std::vector<std::string>> settings;  // of the groups
  for (const RunRecord* run : runs) {
    const std::vector<std::string> own = settings_of(*run);
    const std::string sampler = sampler_of(*run);
    std::vector<const RunRecord*> alike;  // first runs of groups with this sampler
    std::size_t at = 0;
    for (; at < groups.size(); ++at) {
      if (sampler_of(*groups[at].runs.front()) != sampler) continue;
      if (settings[at] == own) break;
      alike.push_back(groups[at].runs.front());
    }
    if (at < groups.size()) {
      groups[at].runs.push_back(run);
      continue;
    }
    groups.push_back(
        {alike.empty() ? sampler : fmt::format("{} ({})", sampler, alike.size() + 1), {run}});
    settings.push_back(own);
    if (!alike.empty())
      notes.push_back(fmt::format("{} is apart, because settings differ: {} has {}",
                                  groups.back().sampler, shown(*run),
                                  difference(*run, *alike.front())));
  }
  for (RunGroup& group : groups) {
    use_each_seed_once(group, notes);
    note_step_sizes(group, notes);
  }
  return groups;
}

}  // namespace whorl::driver
