#include "driver/run_table.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "driver/run_groups.hpp"
#include "engine/attributes.hpp"
#include "engine/error.hpp"

namespace whorl::driver {

namespace {

constexpr std::array usual_quantities{"error", "average_error", "nll_sum", "average_nll_sum"};
// Not quantities: the axes.
constexpr std::array axes{"step", "update", "epoch", "seconds"};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

template <class List, class T>
bool contains(const List& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

class TableMaker {
 public:
  TableMaker(std::string experiment, std::vector<const RunRecord*> runs,
             const TableRequest& request)
      : runs_(std::move(runs)), request_(request) {
    table_.experiment = std::move(experiment);
  }

  RunTable make() {
    gather_published();
    groups_ = group_runs(runs_, table_.notes);
    for (const RunGroup& group : groups_)
      for (const RunRecord* run : group.runs)
        if (run->state() != "done")
          note("{} is {} after step {}: it has no value at the end",
               printable(run->directory.string()), run->state(), run->steps());
    choose_quantities();
    choose_places();
    std::set<std::string> shown;
    for (const RunGroup& group : groups_) {
      const bool first = shown.insert(kind_of(group.sampler)).second;
      for (const TablePlace& place : places_) {
        add_row(group, place);
        if (first)
          add_published([&](const PublishedValue& value) {
            return is_kind_of(group.sampler, value.sampler) && place_of(value) == place;
          });
      }
    }
    add_published(
        [&](const PublishedValue& value) { return !shown.contains(lower(value.sampler)); });
    return std::move(table_);
  }

 private:
  // A published "NNSGHMC" is set beside our "NNSGHMC on MNIST".
  static bool is_kind_of(const std::string& sampler, const std::string& published) {
    return kind_of(sampler) == lower(published);
  }
  static std::string kind_of(const std::string& sampler) {
    return lower(sampler.substr(0, sampler.find(' ')));
  }

  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    std::string text = fmt::format(format, std::forward<Args>(args)...);
    if (!contains(table_.notes, text)) table_.notes.push_back(std::move(text));
  }

  void gather_published() {
    for (const RunRecord* run : runs_) add_new(published_, run->experiment.published);
  }

  static bool is_measured_in(const RunRecord& run, const std::string& quantity) {
    return std::any_of(run.metrics.begin(), run.metrics.end(),
                       [&](const MetricsRow& row) { return row.contains(quantity); });
  }
  bool is_measured(const std::string& quantity) const {
    return std::any_of(runs_.begin(), runs_.end(),
                       [&](const RunRecord* run) { return is_measured_in(*run, quantity); });
  }

  void choose_quantities() {
    std::vector<std::string>& chosen = table_.quantities;
    const auto add = [&](const std::string& quantity) {
      if (!contains(chosen, quantity) && is_measured(quantity)) chosen.push_back(quantity);
    };
    for (const std::string& quantity : request_.quantities) add(quantity);
    if (!request_.quantities.empty()) return;
    for (const char* quantity : usual_quantities) add(quantity);
    // Sequences have no sum.
    if (!is_measured("nll_sum"))
      for (const char* quantity : {"nll", "average_nll"}) add(quantity);
    for (const PublishedValue& value : published_) {
      add(value.quantity);
      if (!contains(chosen, value.quantity))
        note("published values of {} are left out: metrics.jsonl has none; see 'whorl report'",
             printable(value.quantity));
    }
    if (chosen.empty()) add("kl");
    if (chosen.empty()) add("energy");
  }

  // The step of a place where the end is the same for all runs.
  bool is_end(std::int64_t step) const {
    return std::all_of(runs_.begin(), runs_.end(), [&](const RunRecord* run) {
      return run->experiment.run.steps.value_or(0) == step;
    });
  }

  TablePlace place_of(const PublishedValue& value) const {
    if (!value.step || is_end(*value.step)) return {};
    return {TablePlace::Kind::step, static_cast<double>(*value.step)};
  }

  void choose_places() {
    places_ = request_.places;
    if (!places_.empty()) return;
    for (const PublishedValue& value : published_)
      if (const TablePlace place = place_of(value); place.kind == TablePlace::Kind::step &&
                                                    contains(table_.quantities, value.quantity) &&
                                                    !contains(places_, place))
        places_.push_back(place);
    std::sort(places_.begin(), places_.end(),
              [](const auto& a, const auto& b) { return a.at < b.at; });
    places_.push_back({});
  }

  static double last(const RunRecord& run, std::string_view axis) {
    double most = 0;
    for (const MetricsRow& row : run.metrics)
      if (const auto found = row.find(axis); found != row.end() && found->second > most)
        most = found->second;
    return most;
  }

  static bool has_reached(const RunRecord& run, const TablePlace& place) {
    if (place.kind == TablePlace::Kind::best) return !run.metrics.empty();
    if (place.kind == TablePlace::Kind::end) return run.state() == "done";
    if (place.kind == TablePlace::Kind::epoch) return last(run, "epoch") >= place.at;
    return static_cast<double>(run.steps()) >= place.at;
  }

  struct Measured {
    double value, step;
  };
  static std::optional<Measured> value_at(const RunRecord& run, const std::string& quantity,
                                          const TablePlace& place) {
    if (!has_reached(run, place)) return std::nullopt;
    if (place.kind == TablePlace::Kind::best) return best_value(run, quantity);
    std::optional<Measured> found;
    for (const MetricsRow& row : run.metrics) {
      const auto step = row.find("step"), value = row.find(quantity);
      const auto along = place.kind == TablePlace::Kind::epoch ? row.find("epoch") : step;
      if (step == row.end() || along == row.end() || value == row.end()) continue;
      if (place.kind != TablePlace::Kind::end && along->second > place.at) continue;
      found = Measured{value->second, step->second};
    }
    return found;
  }

  static std::string judge_of(const std::string& quantity) {
    return quantity.starts_with("validation_") ? quantity : "validation_" + quantity;
  }

  // Where the same quantity of the validation data is lowest.
  static std::optional<Measured> best_value(const RunRecord& run, const std::string& quantity) {
    const std::string judge = judge_of(quantity);
    std::optional<Measured> found;
    double lowest = std::numeric_limits<double>::infinity();
    for (const MetricsRow& row : run.metrics) {
      const auto step = row.find("step"), value = row.find(quantity), by = row.find(judge);
      if (step == row.end() || value == row.end() || by == row.end()) continue;
      if (!(by->second < lowest)) continue;
      lowest = by->second;
      found = Measured{value->second, step->second};
    }
    return found;
  }

  // What a run lacks that has no best.
  static std::string missing_for_best(const RunRecord& run, const std::string& quantity) {
    const std::string judge = judge_of(quantity);
    if (!is_measured_in(run, quantity)) return quantity;
    if (!is_measured_in(run, judge)) return judge;
    return judge == quantity ? "finite " + judge
                             : fmt::format("finite {} beside {}", judge, quantity);
  }

  // One note for all runs that lack the same: there may be many seeds.
  void note_missing_best(const RunGroup& group, const std::string& quantity) {
    std::map<std::string, std::vector<std::string>> missing;
    for (const RunRecord* run : group.runs)
      if (!best_value(*run, quantity))
        missing[missing_for_best(*run, quantity)].push_back(printable(run->directory.string()));
    for (const auto& [what, runs] : missing)
      note("no {} was measured in {}: there is no best {}", printable(what), fmt::join(runs, ", "),
           printable(quantity));
  }

  // Of a group's runs that are done: a limit in seconds may end them at different steps.
  void note_other_ends(const RunGroup& group) {
    std::int64_t most = 0;
    for (const RunRecord* run : group.runs)
      if (run->state() == "done") most = std::max(most, run->steps());
    for (const RunRecord* run : group.runs)
      if (run->state() == "done" && run->steps() != most)
        note("{} ended at step {}, others of {} at {}", printable(run->directory.string()),
             run->steps(), group.sampler, most);
  }

  void add_row(const RunGroup& group, const TablePlace& place) {
    TableRow row{group.sampler, false, place, 0, {}, {}};
    for (const RunRecord* run : group.runs)
      if (has_reached(*run, place)) {
        row.seeds.push_back(run->experiment.run.seed.value_or(0));
        if (place.kind == TablePlace::Kind::end) row.step = std::max(row.step, run->steps());
      }
    if (place.kind == TablePlace::Kind::step) row.step = static_cast<std::int64_t>(place.at);
    for (const std::string& quantity : table_.quantities)
      row.cells.push_back(cell_of(group, quantity, place, row));
    if (place.kind == TablePlace::Kind::end || place.kind == TablePlace::Kind::best)
      note_other_ends(group);
    table_.rows.push_back(std::move(row));
  }

  TableCell cell_of(const RunGroup& group, const std::string& quantity, const TablePlace& place,
                    TableRow& row) {
    if (place.kind == TablePlace::Kind::best) note_missing_best(group, quantity);
    std::vector<double> values;
    for (const RunRecord* run : group.runs) {
      const auto measured = value_at(*run, quantity, place);
      if (!measured) continue;
      values.push_back(measured->value);
      if (place.kind == TablePlace::Kind::best && run->state() != "done")
        note("{} is {} after step {}: its best is that of so many steps",
             printable(run->directory.string()), run->state(), run->steps());
      const auto step = static_cast<std::int64_t>(measured->step);
      if (place.kind == TablePlace::Kind::epoch) row.step = std::max(row.step, step);
      const std::int64_t wanted = place.kind == TablePlace::Kind::end    ? run->steps()
                                  : place.kind == TablePlace::Kind::best ? step
                                                                         : std::max(row.step, step);
      if (step < wanted)
        note("{} was last measured at step {} before step {}", quantity, step, wanted);
      if (!std::isfinite(measured->value))
        note("{} of {} is not finite at step {}", quantity, printable(run->directory.string()),
             step);
    }
    return summarised(values);
  }

  static TableCell summarised(const std::vector<double>& values) {
    TableCell cell;
    cell.runs = std::ssize(values);
    if (values.empty()) return cell;
    const double n = static_cast<double>(cell.runs);
    double sum = 0, squares = 0;
    for (double value : values) sum += value;
    cell.mean = sum / n;
    for (double value : values) squares += (value - cell.mean) * (value - cell.mean);
    if (cell.runs < 2) return cell;
    cell.sd = std::sqrt(squares / (n - 1));
    cell.error = cell.sd / std::sqrt(n);
    return cell;
  }

  // A row for each sampler and place.
  template <class Wanted>
  void add_published(const Wanted& wanted) {
    std::vector<TableRow> rows;
    for (const PublishedValue& value : published_) {
      const auto quantity =
          std::find(table_.quantities.begin(), table_.quantities.end(), value.quantity);
      const TablePlace place = place_of(value);
      if (!wanted(value) || quantity == table_.quantities.end() || !contains(places_, place))
        continue;
      const auto index = static_cast<std::size_t>(quantity - table_.quantities.begin());
      auto row = std::find_if(rows.begin(), rows.end(), [&](const TableRow& other) {
        return other.sampler == value.sampler && other.place == place &&
               std::isnan(other.cells[index].mean);
      });
      if (row == rows.end()) {
        TableRow fresh{value.sampler, true, place, value.step.value_or(0), {}, {}};
        fresh.cells.resize(table_.quantities.size());
        row = rows.insert(rows.end(), std::move(fresh));
      }
      TableCell& cell = row->cells[index];
      cell.mean = value.value;
      if (value.spread) cell.sd = *value.spread;
      cell.source = value.source;
    }
    table_.rows.insert(table_.rows.end(), rows.begin(), rows.end());
  }

  std::vector<const RunRecord*> runs_;
  const TableRequest& request_;
  std::vector<PublishedValue> published_;
  std::vector<RunGroup> groups_;
  std::vector<TablePlace> places_;
  RunTable table_;
};

void check_quantities(const std::vector<const RunRecord*>& runs, const TableRequest& request) {
  std::set<std::string> all;
  for (const RunRecord* run : runs)
    for (const MetricsRow& row : run->metrics)
      for (const auto& [name, value] : row)
        if (!contains(axes, name)) all.insert(name);
  const std::vector<std::string_view> names(all.begin(), all.end());
  for (const std::string& quantity : request.quantities)
    if (!all.contains(quantity))
      fail(ErrorKind::usage, "table", "--quantity: no run has '{}'{}; there are: {}", quantity,
           did_you_mean(quantity, names), fmt::join(names, ", "));
}

void check_epochs(const std::vector<const RunRecord*>& runs, const TableRequest& request) {
  const bool wanted =
      std::any_of(request.places.begin(), request.places.end(),
                  [](const TablePlace& place) { return place.kind == TablePlace::Kind::epoch; });
  if (!wanted) return;
  for (const RunRecord* run : runs)
    for (const MetricsRow& row : run->metrics)
      if (row.contains("epoch")) return;
  fail(ErrorKind::usage, "table", "--at: no run counts passes over the data; give steps");
}

}  // namespace

std::vector<RunTable> make_tables(const std::vector<const RunRecord*>& runs,
                                  const TableRequest& request) {
  check_quantities(runs, request);
  check_epochs(runs, request);
  std::vector<std::string> names;
  std::vector<std::vector<const RunRecord*>> parts;
  for (const RunRecord* run : runs) {
    const std::string name = experiment_of(*run);
    const auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) {
      names.push_back(name);
      parts.push_back({run});
    } else {
      parts[static_cast<std::size_t>(known - names.begin())].push_back(run);
    }
  }
  std::vector<RunTable> tables;
  for (std::size_t i = 0; i < names.size(); ++i)
    tables.push_back(TableMaker(names[i], std::move(parts[i]), request).make());
  return tables;
}

}  // namespace whorl::driver
