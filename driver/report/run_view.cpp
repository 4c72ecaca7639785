#include "driver/report/run_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "driver/report/numbers.hpp"
#include "driver/run_groups.hpp"
#include "engine/file.hpp"
#include "graphs/graph_file.hpp"

namespace whorl::driver::report {

namespace {

namespace fs = std::filesystem;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
// A covariance of more takes longer to factor than a reader wants to wait.
constexpr std::int64_t most_exact_dimension = 2000;
// Not quantities: the axes, and time, which events tell.
constexpr std::string_view not_drawn[] = {"step", "update", "epoch", "seconds"};
// What comes first, in this order, behind losses; the others follow by name.
constexpr std::string_view first_drawn[] = {"kl",
                                            "error",
                                            "nll_sum",
                                            "nll",
                                            "average_error",
                                            "average_nll_sum",
                                            "average_nll",
                                            "validation_error",
                                            "validation_nll_sum",
                                            "validation_nll",
                                            "validation_average_error",
                                            "validation_average_nll_sum",
                                            "validation_average_nll",
                                            "energy",
                                            "temperature",
                                            "configurational_temperature",
                                            "curl",
                                            "diffusion"};
// What is the same number all the time once chains have settled.
constexpr std::string_view fluctuating[] = {"energy", "temperature", "configurational_temperature"};

template <class List>
bool is_among(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

bool is_loss(const std::string& name) { return name.starts_with("loss"); }

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string sampler_name(const RunRecord& run) {
  if (run.is_training()) return "training";
  if (run.sampler && !run.sampler->name.empty())
    return run.sampler->learned ? fmt::format("learned, {}", run.sampler->name) : run.sampler->name;
  if (run.experiment.sampler() == "adam") return "Adam";
  if (run.experiment.sampler() == "santa") return "Santa";
  return run.experiment.sampler().empty() ? "unknown" : upper(run.experiment.sampler());
}

std::string sampler_kind(const RunRecord& run) {
  if (!run.sampler) return sampler_name(run);
  return run.sampler->learned ? "learned" : "by hand";
}

// The kind is left out where it tells nothing new.
std::string legend_name(const std::string& label, const RunRecord& run, bool one_kind) {
  const std::string kind = sampler_kind(run);
  if (one_kind || run.is_training() || upper(label) == upper(kind)) return label;
  return fmt::format("{}: {}", label, kind);
}

// The last `parts` parts of a path.
std::string path_end(const fs::path& path, std::size_t parts) {
  std::vector<std::string> all;
  for (const fs::path& part : path.lexically_normal())
    if (!part.empty() && part != "/") all.push_back(part.string());
  std::string end;
  for (std::size_t i = all.size() - std::min(parts, all.size()); i < all.size(); ++i)
    end += (end.empty() ? "" : "/") + all[i];
  return end.empty() ? path.string() : end;
}

std::vector<std::string> short_labels(const std::vector<RunRecord>& runs) {
  std::vector<std::string> labels(runs.size());
  for (std::size_t parts = 1; parts < 32; ++parts) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      std::error_code fault;
      const fs::path whole = fs::absolute(runs[i].directory, fault);
      labels[i] = path_end(fault ? runs[i].directory : whole, parts);
    }
    if (std::set<std::string>(labels.begin(), labels.end()).size() == labels.size()) break;
  }
  return labels;
}

double number_or_nan(const MetricsRow& row, std::string_view name) {
  const auto found = row.find(name);
  return found == row.end() ? not_a_number : found->second;
}

std::string target_name(const RunRecord& run) {
  if (!run.experiment.name.empty() || run.experiment.targets.size() != 1 ||
      run.experiment.targets[0].graph.empty())
    return run.experiment.name;
  try {
    const Graph graph = load_graph(run.experiment.targets[0].graph);
    const auto name = graph.metadata().find("name");
    return name == graph.metadata().end() ? "" : name->second;
  } catch (const Error&) {
    return "";  // a title is not worth a failure
  }
}

// The settings of a target and its data, without what only makes gradients noisy.
std::string target_text(const RunView& run) {
  ExperimentFile part;
  part.targets = run.experiment().targets;
  for (TargetSettings& target : part.targets) {
    // Every run has a copy of the energy: by its path it would differ from the others.
    if (!target.graph.empty()) target.graph = target.graph.filename();
    target.gradient_noise = 0;
  }
  part.data = run.experiment().data;
  part.data.batch.reset();
  return to_pbtxt(part) + run.event_text("data");
}

// The stored energy of a graph target; 0 where there is none, or where its rows are a minibatch's.
std::size_t energy_hash(const RunView& run) {
  const fs::path path = run.record->directory / "energy.pb";
  std::error_code fault;
  if (run.experiment().data.batch || !fs::is_regular_file(path, fault)) return 0;
  return std::hash<std::string>()(whole_file("report", path.string()));
}

// Runs of `sample` of one experiment that differ in nothing but their seed have one colour, and a
// name that tells them from others.
void choose_colours(const std::vector<RunRecord>& runs, std::vector<RunView>& views) {
  std::vector<std::string> experiments;
  for (const RunRecord& run : runs) experiments.push_back(experiment_of(run));
  std::vector<int> group_of(runs.size(), -1);
  int groups = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (group_of[i] >= 0) continue;
    std::vector<const RunRecord*> together;
    for (std::size_t k = i; k < runs.size(); ++k)
      if (!runs[k].is_training() && experiments[k] == experiments[i]) together.push_back(&runs[k]);
    std::vector<std::string> notes;
    const auto found =
        runs[i].is_training() ? std::vector<RunGroup>{} : group_runs(together, notes);
    for (const RunGroup& group : found) {
      for (const RunRecord* run : group.runs) {
        const auto k = static_cast<std::size_t>(run - runs.data());
        group_of[k] = groups;
        // With the number that tells it from others of the sampler.
        views[k].table_name = group.sampler;
        views[k].group = views[k].sampler + group.sampler.substr(sampler_of(*run).size());
      }
      ++groups;
    }
    // One of which another run has the seed is in none.
    if (group_of[i] < 0) group_of[i] = groups++;
  }
  // Colours by the order of the runs.
  std::vector<int> order;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto known = std::find(order.begin(), order.end(), group_of[i]);
    views[i].colour = static_cast<int>(known - order.begin());
    if (known == order.end()) order.push_back(group_of[i]);
  }
}

}  // namespace

bool same_target(const RunView& a, const RunView& b) {
  if (target_text(a) != target_text(b)) return false;
  const std::size_t first = energy_hash(a), second = energy_hash(b);
  return first == second || first == 0 || second == 0;
}

std::vector<std::string> RunView::quantities() const {
  std::set<std::string> all;
  for (const MetricsRow& row : record->metrics)
    for (const auto& [quantity, value] : row)
      if (!is_among(not_drawn, quantity)) all.insert(quantity);
  // The mean is the sum on another scale.
  std::erase_if(all, [&](const std::string& quantity) {
    return is_score(quantity) && quantity.ends_with("nll") && all.contains(quantity + "_sum");
  });
  std::vector<std::string> ordered;
  std::copy_if(all.begin(), all.end(), std::back_inserter(ordered), is_loss);
  std::erase_if(all, is_loss);
  for (std::string_view quantity : first_drawn)
    if (all.erase(std::string(quantity)) > 0) ordered.emplace_back(quantity);
  ordered.insert(ordered.end(), all.begin(), all.end());
  return ordered;
}

Sequence RunView::sequence(std::string_view quantity) const {
  Sequence found;
  for (const MetricsRow& row : record->metrics) {
    const auto value = row.find(quantity);
    if (value == row.end()) continue;
    found.steps.push_back(number_or_nan(row, unit()));
    found.values.push_back(value->second);
  }
  return found;
}

double RunView::final_value(std::string_view quantity) const {
  const Sequence all = sequence(quantity);
  if (all.values.empty()) return not_a_number;
  if (record->is_training() || !is_among(fluctuating, quantity)) return all.values.back();
  const auto burn_in = static_cast<double>(experiment().run.burn_in.value_or(0));
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < all.values.size(); ++i)
    if (all.steps[i] > burn_in) {
      sum += all.values[i];
      count += 1;
    }
  return count > 0 ? sum / count : not_a_number;
}

// After a kill, steps are made again: the later time counts.
std::vector<std::pair<double, double>> RunView::clock() const {
  std::map<double, double> times;
  const auto add = [&](double step, double seconds) {
    if (!std::isfinite(step) || !std::isfinite(seconds)) return;
    times.erase(times.lower_bound(step), times.end());
    times.emplace(step, seconds);
  };
  for (const RunEvent& event : record->events)
    add(number_or_nan(event.numbers, "step"), number_or_nan(event.numbers, "seconds"));
  if (times.empty())
    for (const MetricsRow& row : record->metrics)
      add(number_or_nan(row, unit()), number_or_nan(row, "seconds"));
  if (times.size() < 2) return {};
  return {times.begin(), times.end()};
}

double RunView::steps_per_second() const {
  const double seconds = record->seconds();
  return seconds > 0 && record->steps() > 0 ? static_cast<double>(record->steps()) / seconds
                                            : not_a_number;
}

std::string RunView::step_size() const {
  if (record->is_training())
    return experiment().training->start.step_size_times_gradient_rms > 0
               ? "by its own rule"
               : number_text(experiment().training->step_size);
  const auto& schedule = experiment().run.step_size;
  if (!schedule) return "\u2013";
  if (schedule->constant) return number_text(*schedule->constant);
  if (schedule->polynomial)
    return fmt::format("{} ({} + t)^-{}", number_text(schedule->polynomial->a),
                       number_text(schedule->polynomial->b),
                       number_text(schedule->polynomial->gamma));
  if (schedule->cosine)
    return fmt::format("cosine, {} every {}", number_text(schedule->cosine->highest),
                       grouped(schedule->cosine->period));
  if (schedule->phases.empty()) return "\u2013";
  return fmt::format("{} to {}, {} phases", number_text(schedule->phases.front().value),
                     number_text(schedule->phases.back().value), schedule->phases.size());
}

std::string RunView::event_text(std::string_view field) const {
  for (auto event = record->events.rbegin(); event != record->events.rend(); ++event)
    if (const auto found = event->texts.find(field); found != event->texts.end())
      return found->second;
  return {};
}

std::vector<RunView> view_runs(const std::vector<RunRecord>& runs, int threads,
                               std::int64_t memory) {
  const std::vector<std::string> labels = short_labels(runs);
  std::vector<std::string> kinds;  // of runs of `sample`
  for (const RunRecord& run : runs)
    if (!run.is_training()) kinds.push_back(sampler_kind(run));
  const bool one_kind =
      kinds.size() > 1 && std::count(kinds.begin(), kinds.end(), kinds[0]) == std::ssize(kinds);
  std::vector<RunView> views;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    RunView view;
    view.record = &runs[i];
    view.label = labels[i];
    view.sampler = sampler_name(runs[i]);
    view.name = legend_name(labels[i], runs[i], one_kind);
    view.target = target_name(runs[i]);
    view.quality = judge_draws(runs[i], threads, memory);
    const ExperimentFile& experiment = runs[i].experiment;
    if (!runs[i].is_training() && experiment.targets.size() == 1 &&
        experiment.targets[0].gaussian &&
        experiment.targets[0].gaussian->dimension <= most_exact_dimension)
      view.gaussian = make_gaussian(*experiment.targets[0].gaussian);
    views.push_back(std::move(view));
  }
  choose_colours(runs, views);
  return views;
}

std::vector<std::vector<const RunView*>> by_colour(const std::vector<const RunView*>& runs) {
  std::vector<std::vector<const RunView*>> groups;
  for (const RunView* run : runs) {
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return group.front()->colour == run->colour;
    });
    if (known == groups.end())
      groups.push_back({run});
    else
      known->push_back(run);
  }
  return groups;
}

std::string name_of_group(const std::vector<const RunView*>& group) {
  if (group.size() == 1) return group.front()->name;
  return fmt::format("{} ({} seeds)", group.front()->group, group.size());
}

}  // namespace whorl::driver::report
