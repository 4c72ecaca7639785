#include "losses/kl.hpp"

#include <vector>

#include "engine/ops.hpp"

namespace whorl {

namespace {

void check_some(std::string_view where, std::span<const Snapshot> snapshots) {
  if (snapshots.empty()) graph_error(where, "there are no snapshots; expected at least one");
}

Value mean_of(const std::vector<Value>& scalars) {
  return scalars.size() == 1 ? scalars.front() : mean(stack(scalars));
}

}  // namespace

Value kl_surrogate(Value position, Value gradient, const SteinOptions& options) {
  if (position.type() != gradient.type())
    graph_error("kl_surrogate", "the gradient is {}; expected {}, as the positions are",
                to_string(gradient.type()), to_string(position.type()));
  const Value direction = stop_gradient(gradient + stein_score(position, options));
  return sum(direction * position) / static_cast<double>(position.shape()[0]);
}

Value cross_chain_loss(std::span<const Snapshot> snapshots, const LossOptions& options) {
  check_some("cross_chain_loss", snapshots);
  std::vector<Value> losses;
  for (const Snapshot& at : snapshots)
    losses.push_back(kl_surrogate(at.position, at.gradient, {options.ridge}));
  return mean_of(losses);
}

Value in_chain_loss(std::span<const Snapshot> snapshots, Value chains, const LossOptions& options) {
  check_some("in_chain_loss", snapshots);
  if (chains.dtype() != DType::i32 || chains.shape().rank() != 1 || chains.shape()[0] == 0)
    graph_error("in_chain_loss", "the chosen chains are {}; expected at least one i32 in a vector",
                to_string(chains.type()));
  std::vector<Value> positions, gradients;
  for (const Snapshot& at : snapshots) {
    positions.push_back(gather(at.position, chains));
    gradients.push_back(gather(at.gradient, chains));
  }
  if (options.pooled)
    return kl_surrogate(concat(positions, 0), concat(gradients, 0), {options.ridge});

  const Value paths = stack(positions, 1), slopes = stack(gradients, 1);  // [m, times, n]
  const Shape one = paths.shape().without_front();
  std::vector<Value> losses;
  for (std::int64_t c = 0; c < chains.shape()[0]; ++c) {
    const auto chain = [&](Value all) { return reshape(slice(all, 0, c, c + 1), one); };
    losses.push_back(kl_surrogate(chain(paths), chain(slopes), {options.ridge}));
  }
  return mean_of(losses);
}

}  // namespace whorl
