// scores.json: how good the predictions of a run are at its end, on data that it has not seen.
//
//   {"step": 20000,
//    "ensembles": [{"data": "test", "ensemble": "current", "rows": 10000, "draws": 20,
//                   "error": 0.018, "nll": 0.06, "nll_sum": 600, "brier": ..., "ece": ...,
//                   "entropy": ..., "aleatoric": ..., "epistemic": ..., "floored": 0,
//                   "bins": [{"low": 0, "high": 0.0666, "count": 0, "confidence": 0,
//                             "accuracy": 0}, ... 15 of them]}, ...]}
//
// "current" is the chains at that step, "average" all that counted until then; the numbers are
// those of diagnostics/classification.hpp, and null where one is not finite. The same scores are
// the same bytes. Thread safety: free functions; values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "diagnostics/classification.hpp"

namespace whorl::driver {

inline constexpr const char* scores_name = "scores.json";

struct EnsembleScores {
  std::string data;      // "test" or "validation"
  std::string ensemble;  // "current" or "average"
  ClassificationScores scores;
};

struct RunScores {
  std::int64_t step = 0;
  std::vector<EnsembleScores> ensembles;
};

std::string to_json(const RunScores& scores);
// Throws a data Error that names the file and what is wrong in it.
RunScores load_scores(const std::filesystem::path& path);

}  // namespace whorl::driver
