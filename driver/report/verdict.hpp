// Verdict: in words, what a run is worth.
//
// Thread safety: plain values; judge() is a pure function.
#pragma once

#include <string>
#include <vector>

#include "driver/report/run_view.hpp"

namespace whorl::driver::report {

struct Verdict {
  enum class Mood { good, caution, bad, open };
  Mood mood = Mood::open;
  std::string head;                  // "converged", "not converged"
  std::string sentence;              // the numbers behind it
  std::vector<std::string> remarks;  // what a careful reader should know
};

Verdict judge(const RunView& run);

}  // namespace whorl::driver::report
