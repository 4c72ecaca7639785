// Meta-training: one update of a learned sampler's weights, as one graph.
//
// The graph unrolls T steps of K chains, asks the caller for losses of what they visited,
// differentiates them by the sampler's weights, and appends Adam. It can be saved, shown and run
// like any other. Inputs beside those of unroll():
//   NAME/m, NAME/v       Adam's moments of each parameter that is trained
//   adam/count, adam/rate
//   whatever the losses ask for
// Outputs: the state after T steps, the new parameters and moments and adam/count under the names
// of the inputs, `loss/NAME` of each loss, and the caller's statistics. Truncation (stop_gradient
// on the whole state) bounds what is alive at once to one window. Thread safety: as for
// Graph::append.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "samplers/adam.hpp"
#include "samplers/unroll.hpp"

namespace whorl {

struct MetaLoss {
  std::string name;
  Value value;  // a scalar
};

struct MetaTrainingOptions {
  UnrollOptions unroll;
  AdamOptions adam;
  // The gradient's norm over all weights is brought down to this; 0: left alone.
  double clip = 0;
  // Weight decay by parameter, one rate for each weight: w' = Adam's w' - rate * decay * w.
  std::map<std::string, Tensor> decay;
  // One Adam step for each loss, all gradients taken at the old weights; else one for their sum.
  bool separate_updates = false;
  // The step's parameters that are trained.
  std::vector<std::string> trained;
  // Statistics of the step whose mean over the roll-out is wanted, each an output `mean/NAME`.
  std::vector<std::string> statistics;
};

using MetaLosses = std::function<std::vector<MetaLoss>(Graph&, const std::vector<Moment>&)>;

Graph meta_training_graph(const Step& step, const MetaTrainingOptions& options,
                          const MetaLosses& losses);

// The names of the graph's inputs that its outputs replace after an update.
std::vector<std::string> carried_inputs(const Graph& graph);

}  // namespace whorl
