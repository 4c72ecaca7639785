// Runs the real program in a directory of its own, as a user would.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/tensor.hpp"
#include "scratch.hpp"

namespace whorl::testing {

struct Outcome {
  int code = -1;  // 128 + signal when it was killed
  std::string out, err;
};

class Program {
 public:
  // The program is started in this directory, so file names in messages are short.
  Scratch directory;

  // `words` is split at blanks.
  Outcome operator()(const std::string& words) const;
  Outcome run(const std::vector<std::string>& words,
              const std::vector<std::pair<std::string, std::string>>& environment = {},
              const std::string& standard_output = "out.txt") const;

  // "code: standard error" without the newline at the end: what a failed call leaves.
  std::string error(const std::string& words) const;

  void npy(std::string_view name, const Tensor& tensor) const;
  Tensor npy(std::string_view name) const;
  // The draws of a parameter in the run that is in directory `run`, f64[chains, draws, ...].
  Tensor draws(std::string_view run, std::string_view parameter) const;
};

// A logistic regression for one chain: inputs x f32[4,2], y f32[4], parameters w f32[2], b f32[],
// output U = sum of the cross-entropies + |w|^2 / 2.
extern const char* const logistic_regression;
// With the arrays x.npy, y.npy, w.npy (zeros) and b.npy (zero) for it.
void write_regression(const Program& program);

}  // namespace whorl::testing
