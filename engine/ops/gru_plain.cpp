// gru_trace and gru_adjoint in plain ops, frame by frame: what the kernels are tested against, and
// what derivatives of the second order are made of.
#include "engine/ops/gru.hpp"

namespace whorl {

namespace {

// Rows, gates and the mask of frames, for one chain or for many.
class Plain {
 public:
  // Every input with the axis of chains, if one has it; `ranks` are those of one chain.
  Plain(std::span<const Value> inputs, std::span<const int> ranks, std::size_t length)
      : in_(inputs.begin(), inputs.end()) {
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (in_[i].shape().rank() > ranks[i]) lead_ = Shape{in_[i].shape()[0]};
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (in_[i].shape().rank() == ranks[i] && lead_.rank() > 0)
        in_[i] = broadcast(in_[i], in_[i].shape().with_front(lead_[0]));
    length_ = in_[length];
  }

  Value in(std::size_t i) const { return in_[i]; }
  Shape with_lead(const Shape& shape) const { return whorl::with_lead(lead_, shape); }
  Value zeros(const Shape& one, DType dtype) const {
    return fill(*length_.graph, {dtype, with_lead(one)}, 0);
  }
  Value row(Value x, std::int64_t i) const {
    const Shape& shape = x.shape();
    return reshape(slice(x, -2, i, i + 1), with_lead(Shape{shape[shape.rank() - 1]}));
  }
  static Value gate(Value x, std::int64_t i, std::int64_t units) {
    return slice(x, -1, i * units, (i + 1) * units);
  }
  // x w or x w', for a row x of each chain.
  Value product(Value x, Value w, bool transpose) const {
    const auto last = [](Value v) { return v.shape()[v.shape().rank() - 1]; };
    const Value y = matmul(reshape(x, with_lead(Shape{1, last(x)})), w, false, transpose);
    return reshape(y, with_lead(Shape{last(y)}));
  }
  // x where frame t counts, else 0.
  Value keep(std::int64_t t, Value x) const {
    const Value t_of = fill(*x.graph, length_.type(), static_cast<double>(t));
    Axes axes;
    for (int axis = 0; axis < lead_.rank(); ++axis) axes.push_back(axis);
    return select(broadcast(less(t_of, length_), x.shape(), axes), x, fill_like(x, 0));
  }
  Value matrix(const std::vector<Value>& rows) const { return stack(rows, lead_.rank()); }

 private:
  std::vector<Value> in_;
  Shape lead_;
  Value length_;
};

}  // namespace

Value plain_gru_trace(std::span<const Value> inputs) {
  const Plain p(inputs, std::array{2, 0, 2, 1, 1, 1}, 1);
  const Value x = p.in(0), w_h = p.in(2), b_x = p.in(3), b_h = p.in(4);
  Value h = p.in(5);
  const std::int64_t frames = x.shape()[x.shape().rank() - 2];
  const std::int64_t units = h.shape()[h.shape().rank() - 1];
  std::vector<Value> states{h}, rs, zs, ns, qs;
  for (std::int64_t t = 0; t < frames; ++t) {
    const Value from_x = p.row(x, t) + b_x, from_h = p.product(h, w_h, false) + b_h;
    const auto both = [&](std::int64_t i) {
      return Plain::gate(from_x, i, units) + Plain::gate(from_h, i, units);
    };
    const Value r = sigmoid(both(0)), z = sigmoid(both(1)), q = Plain::gate(from_h, 2, units);
    const Value n = tanh(Plain::gate(from_x, 2, units) + r * q);
    h = p.keep(t, n + z * (h - n));
    states.push_back(h);
    rs.push_back(p.keep(t, r));
    zs.push_back(p.keep(t, z));
    ns.push_back(p.keep(t, n));
    qs.push_back(p.keep(t, q));
  }
  for (const auto* rows : {&rs, &zs, &ns, &qs})
    states.insert(states.end(), rows->begin(), rows->end());
  return p.matrix(states);
}

Value plain_gru_adjoint(std::span<const Value> inputs) {
  const Plain p(inputs, std::array{0, 2, 2, 2}, 0);
  const Value w_h = p.in(1), trace = p.in(2), dtrace = p.in(3);
  const auto rows_of = [](Value x) { return x.shape()[x.shape().rank() - 2]; };
  const std::int64_t frames = rows_of(trace) / 5;
  const bool states_only = rows_of(dtrace) == frames;
  const auto traced = [&](std::int64_t plane, std::int64_t t) {
    return p.row(trace, plane * frames + (plane > 0 ? 1 : 0) + t);
  };
  // x with what the trace's row gets from outside.
  const auto with_own = [&](Value x, std::int64_t plane, std::int64_t t) {
    return states_only ? x : x + p.row(dtrace, plane * frames + 1 + t);
  };
  Value d = p.zeros(Shape{trace.shape()[trace.shape().rank() - 1]}, trace.dtype());
  std::vector<Value> to_a, to_c;  // backwards
  for (std::int64_t t = frames; t-- > 0;) {
    const Value h = traced(0, t), r = traced(1, t), z = traced(2, t), n = traced(3, t),
                q = traced(4, t);
    const Value dh = d + p.row(dtrace, states_only ? t : t + 1);
    const Value gn = p.keep(t, with_own(dh * (1.0 - z), 3, t) * (1.0 - n * n));
    const Value gz = p.keep(t, with_own(dh * (h - n), 2, t) * (z * (1.0 - z)));
    const Value gr = p.keep(t, with_own(gn * q, 1, t) * (r * (1.0 - r)));
    const Value gq = p.keep(t, with_own(gn * r, 4, t));
    d = p.keep(t, dh * z + p.product(concat({gr, gz, gq}, -1), w_h, true));
    to_a.insert(to_a.end(), {gn, gz, gr});
    to_c.insert(to_c.end(), {gq, gz, gr});
  }
  std::vector<Value> rows(to_a.rbegin(), to_a.rend());
  rows.insert(rows.end(), to_c.rbegin(), to_c.rend());
  rows.push_back(states_only ? d : d + p.row(dtrace, 0));
  for (const auto* frames_of : {&to_a, &to_c})
    for (std::size_t gate = 3; gate-- > 0;) {
      Value total = fill_like(d, 0);
      for (std::size_t i = gate; i < frames_of->size(); i += 3) total = total + (*frames_of)[i];
      rows.push_back(total);
    }
  return p.matrix(rows);
}

}  // namespace whorl
