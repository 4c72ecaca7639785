#include "engine/ops/gru.hpp"

namespace whorl {

void check_dtypes(const Site& site, std::size_t key, std::size_t length) {
  for (std::size_t i = 0; i < site.in.size(); ++i) {
    const DType expected = i == length ? DType::i32 : site.in[key].dtype;
    if (site.in[i].dtype != expected)
      graph_error(site.op->name, "input '{}' is {}; expected {} (use cast)",
                  site.op->input_names[i], name(site.in[i].dtype), name(expected));
  }
}

Shape chain_axis(const Site& site, std::span<const int> ranks) {
  Shape lead;
  std::size_t first = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Shape& shape = site.in[i].shape;
    if (shape.rank() != ranks[i] && shape.rank() != ranks[i] + 1)
      graph_error(site.op->name,
                  "input '{}' has rank {}; expected {}, or {} with an axis of chains",
                  site.op->input_names[i], shape.rank(), ranks[i], ranks[i] + 1);
    if (shape.rank() == ranks[i]) continue;
    if (lead.rank() > 0 && lead[0] != shape[0])
      graph_error(site.op->name, "inputs '{}' and '{}' have {} and {} chains",
                  site.op->input_names[first], site.op->input_names[i], lead[0], shape[0]);
    if (lead.rank() == 0) first = i;
    lead = Shape{shape[0]};
  }
  return lead;
}

void check_shape(const Site& site, std::size_t i, const Shape& found, const Shape& expected) {
  if (found != expected)
    graph_error(site.op->name, "input '{}' has shape {}; expected {}", site.op->input_names[i],
                to_string(found), to_string(expected));
}

std::int64_t length_of(const Call& c, int i, std::int64_t chain, std::int64_t frames) {
  const std::int64_t length = *of_chain<std::int32_t>(c, i, 0, chain);
  if (length < 0 || length > frames) {
    const bool chained = c.type(i).shape.rank() > 0;
    fail(ErrorKind::data, c.site->op->name, "length out of range: {}{}; expected 0 to {}", length,
         chained ? fmt::format(" in chain {}", chain) : "", frames);
  }
  return length;
}

Value batch_chains(const Batch& b, std::span<const int> ranks) {
  const auto rank_now = [&](int i) { return b.x(i).shape().rank() - (b.is_batched(i) ? 1 : 0); };
  const auto rank_of_one = [&](int i) { return ranks[static_cast<std::size_t>(i)]; };
  const int count = static_cast<int>(ranks.size());
  std::int64_t chains = -1;  // that there were before
  for (int i = 0; i < count; ++i)
    if (rank_now(i) > rank_of_one(i)) chains = b.x(i).shape()[b.is_batched(i) ? 1 : 0];
  if (chains < 0) return call(*b.op, b.inputs);

  std::vector<Value> in;
  for (int i = 0; i < count; ++i) {
    const bool chained = rank_now(i) > rank_of_one(i);
    if (!chained && !b.is_batched(i)) {
      in.push_back(b.x(i));
      continue;
    }
    const Value x = b.full(i);
    const Shape one = x.shape().slice(chained ? 2 : 1, x.shape().rank());
    Axes axes{0};
    for (int axis = 0; axis < one.rank(); ++axis) axes.push_back(axis + 2);
    const Shape both = one.with_front(chains).with_front(b.size);
    in.push_back(reshape(chained ? x : broadcast(x, both, axes), one.with_front(b.size * chains)));
  }
  const Value y = call(*b.op, in);
  return reshape(y, y.shape().without_front().with_front(chains).with_front(b.size));
}

}  // namespace whorl
