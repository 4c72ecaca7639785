// Curl and diffusion of a learned sampler on grids of their inputs, computed by the sampler's own
// graph.
//
// Thread safety: free functions.
#pragma once

#include <string>

#include "driver/report/contours.hpp"
#include "driver/report/run_view.hpp"

namespace whorl::driver::report {

struct LearnedGrid {
  Grid curl;                   // over energy and momentum
  Grid diffusion;              // the same, at gradient zero
  Grid diffusion_by_gradient;  // over momentum and gradient, at the median energy
  std::string ranges;          // how the ranges were chosen, in words
};

// Of the sampler of a run, over the inputs that the run had. Inputs that the sampler wants scaled
// are in units of their scale.
LearnedGrid learned_grid(const RunView& run);

}  // namespace whorl::driver::report
