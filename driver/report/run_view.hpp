// RunView: a run as a report shows it: its name, its colour, what its files and its draws tell.
//
// Thread safety: plain values; refers to a RunRecord that must outlive it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/report/quality.hpp"
#include "driver/report/quantities.hpp"
#include "driver/run_record.hpp"
#include "driver/target.hpp"

namespace whorl::driver::report {

// A quantity of metrics.jsonl over the steps.
struct Sequence {
  std::vector<double> steps, values;
};

struct RunView {
  const RunRecord* record = nullptr;
  std::string label;       // the directory, as short as tells it from the others
  std::string sampler;     // "SGHMC", or the name that a sampler's file gives
  std::string name;        // for legends: the label, and "SGHMC", "learned" or "by hand"
  std::string target;      // the experiment's name or the energy's own; "" when neither has one
  int colour = 0;          // one for all runs that differ in nothing but their seed
  std::string group;       // what these are called together: "SGHMC", or "SGHMC (2)"
  std::string table_name;  // the same in a table of `whorl table`
  std::optional<DrawsQuality> quality;
  std::optional<Gaussian> gaussian;  // the exact law, where the target is one

  const ExperimentFile& experiment() const { return record->experiment; }
  // Names of what was measured, in the order to show them.
  std::vector<std::string> quantities() const;
  Sequence sequence(std::string_view quantity) const;
  // Its last value; the mean after burn-in for what fluctuates around one. NaN when there is none.
  double final_value(std::string_view quantity) const;
  // The seconds after so many steps, by the events of the run; empty where those do not tell.
  std::vector<std::pair<double, double>> clock() const;
  double steps_per_second() const;  // NaN when not known
  std::string step_size() const;    // "0.025", or the schedule in words
  // The text of an event's field, the last one's that has it; "" when there is none.
  std::string event_text(std::string_view field) const;
  std::string unit() const { return record->is_training() ? "update" : "step"; }
};

// Whether energies and divergences of the two can be compared.
bool same_target(const RunView& a, const RunView& b);

std::vector<RunView> view_runs(const std::vector<RunRecord>& runs, int threads,
                               std::int64_t memory);

// Runs of one colour, in the order of their first ones.
std::vector<std::vector<const RunView*>> by_colour(const std::vector<const RunView*>& runs);
// "SGHMC (3 seeds)"; a run that is alone has its own name.
std::string name_of_group(const std::vector<const RunView*>& group);

}  // namespace whorl::driver::report
