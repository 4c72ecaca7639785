#include "graphs/file/learned.hpp"

#include "engine/ops.hpp"
#include "graphs/file/small_step.hpp"

namespace whorl::graphs {

const Names<std::string>& activation_names() {
  static const Names<std::string> names = [] {
    Names<std::string> known;
    for (const AttrSpec& spec : find_op("coordinate_net")->attrs()->specs)
      if (spec.name == "activation")
        for (std::string_view name : spec.rule.choices()) known.emplace_back(name, name);
    return known;
  }();
  return names;
}

void try_learned(LearnedSampler sampler) {
  sampler.curl.hidden = sampler.diffusion.hidden = {2};
  sampler.trained_size = 0;  // the small target has no prior to weigh
  draw_weights(sampler, 0);
  make_small_step(learned_dynamics(sampler, {.rows = 1}, 0.01));
}

}  // namespace whorl::graphs
