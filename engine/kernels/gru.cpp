#include "engine/kernels/gru.hpp"

#include <algorithm>
#include <array>

#include "engine/kernels/coordinate_net_vector.hpp"
#include "engine/kernels/transpose.hpp"
#include "engine/kernels/vmath.hpp"

namespace whorl::recurrent {

namespace {

using net::lanes, net::load, net::repeat, net::store, net::Vec;

// Units stand in blocks of up to this many vectors: with three gates, twelve sums, which hide the
// latency of multiply-adds and fit the registers beside what is multiplied.
constexpr std::int64_t block_vectors = 4;

struct Range {
  std::int64_t begin, end;
};

// The blocks of one chain. Vectors are shared out evenly: a last block of one vector would wait for
// its three sums. There are as many blocks in both halves.
template <class T>
struct Blocks {
  std::int64_t units, vectors, count;
  explicit Blocks(std::int64_t n)
      : units(n),
        vectors((n + lanes<T> - 1) / lanes<T>),
        count(std::max<std::int64_t>((vectors + block_vectors - 1) / block_vectors, 1)) {
    if (count > 1) count += count % 2;
  }
  std::int64_t padded() const { return vectors * lanes<T>; }
  std::int64_t first(std::int64_t block) const { return vectors * block / count; }  // a vector

  Range of(int half) const {
    const std::int64_t middle = (count + 1) / 2;
    return half == 0 ? Range{0, middle} : Range{middle, count};
  }
  // The units of those blocks: from a multiple of the lanes on.
  Range units_of(int half) const {
    const Range blocks = of(half);
    return {std::min(first(blocks.begin) * lanes<T>, units),
            std::min(first(blocks.end) * lanes<T>, units)};
  }
};

// w_h as panels, one for each block: for every row of w_h the block's units of each gate, with
// zeros behind the last unit.
template <class T>
void pack(const Blocks<T>& blocks, Range part, const T* w_h, T* panels) {
  const std::int64_t units = blocks.units;
  for (std::int64_t block = part.begin; block < part.end; ++block) {
    const std::int64_t first = blocks.first(block) * lanes<T>;
    const std::int64_t width = blocks.first(block + 1) * lanes<T> - first;
    const std::int64_t full = std::min(width, units - first);
    T* to = panels + first * 3 * units;
    for (std::int64_t k = 0; k < units; ++k)
      for (std::int64_t gate = 0; gate < 3; ++gate, to += width) {
        const T* from = w_h + (3 * k + gate) * units + first;
        if (full == width) {
          for (std::int64_t i = 0; i < width; i += lanes<T>) store<T>(to + i, load<T>(from + i));
        } else {
          std::fill(std::copy_n(from, full, to), to + width, T(0));
        }
      }
  }
}

// The three gates of one block of h w_h; rows of c are `stride` apart.
template <class T, int vectors>
void block_product(const T* panel, const T* h, std::int64_t units, T* c, std::int64_t stride) {
  Vec<T> sum[3][vectors];
  repeat<3>([&](auto g) { repeat<vectors>([&](auto v) { sum[g][v] = Vec<T>{}; }); });
  for (std::int64_t k = 0; k < units; ++k) {
    const Vec<T> left = net::splat<T>(h[k]);
    repeat<3>([&](auto g) {
      repeat<vectors>([&](auto v) {
        sum[g][v] = net::fma<T>(left, load<T>(panel + (g * vectors + v) * lanes<T>), sum[g][v]);
      });
    });
    panel += 3 * vectors * lanes<T>;
  }
  repeat<3>([&](auto g) {
    repeat<vectors>([&](auto v) { store<T>(c + g * stride + v * lanes<T>, sum[g][v]); });
  });
}

// Some blocks of c = h w_h, [3, padded].
template <class T>
void state_product(const Blocks<T>& blocks, Range part, const T* panels, const T* h, T* c) {
  for (std::int64_t block = part.begin; block < part.end; ++block) {
    const std::int64_t first = blocks.first(block) * lanes<T>;
    const T* panel = panels + first * 3 * blocks.units;
    const auto go = [&]<int vectors>(std::integral_constant<int, vectors>) {
      block_product<T, vectors>(panel, h, blocks.units, c + first, blocks.padded());
    };
    switch (blocks.first(block + 1) - blocks.first(block)) {
      case 1:
        go(std::integral_constant<int, 1>{});
        break;
      case 2:
        go(std::integral_constant<int, 2>{});
        break;
      case 3:
        go(std::integral_constant<int, 3>{});
        break;
      case block_vectors:
        go(std::integral_constant<int, block_vectors>{});
        break;
      default:  // no units at all
        break;
    }
  }
}

// The rows of frame t in a trace; h is that of the state before it.
template <class T>
struct Frame {
  T *h, *r, *z, *n, *q;
  Frame(const Sizes& s, T* trace, std::int64_t t)
      : h(trace + t * s.units),
        r(trace + (s.frames + 1 + t) * s.units),
        z(r + s.frames * s.units),
        n(z + s.frames * s.units),
        q(n + s.frames * s.units) {}
};

template <class T>
void gates(const Frame<T>& f, std::int64_t units, Range part, const T* __restrict x,
           const T* __restrict b_x, const T* __restrict b_h, const T* __restrict c,
           std::int64_t stride) {
  const T* __restrict before = f.h;
  T* __restrict after = f.h + units;
  T* __restrict r = f.r, * __restrict z = f.z, * __restrict n = f.n, * __restrict q = f.q;
#pragma GCC ivdep
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const auto a = [&](std::int64_t gate) { return x[gate * units + i] + b_x[gate * units + i]; };
    const T ri = vmath::sigmoid(a(0) + (c[i] + b_h[i]));
    const T zi = vmath::sigmoid(a(1) + (c[stride + i] + b_h[units + i]));
    const T qi = c[2 * stride + i] + b_h[2 * units + i];
    const T ni = vmath::tanh(std::fma(ri, qi, a(2)));
    r[i] = ri;
    z[i] = zi;
    n[i] = ni;
    q[i] = qi;
    after[i] = std::fma(zi, before[i] - ni, ni);
  }
}

// The adjoints of the gates of one frame. `d` comes in as the adjoint that later frames give to the
// state behind this one, and goes out as what is passed on past the gates. dh and, unless it is
// states_only, df are what comes from outside. `sums` are those of the frames so far, r, z, n and
// q.
template <class T, bool states_only>
void gate_adjoints(const Frame<const T>& f, const T* dh, const Frame<const T>& df,
                   std::int64_t units, Range part, T* __restrict ga, T* __restrict gc,
                   T* __restrict d, const std::array<T*, 4>& sums) {
  T* __restrict sum_r = sums[0], * __restrict sum_z = sums[1], * __restrict sum_n = sums[2], * __restrict sum_q = sums[3];
  const T one = 1;
#pragma GCC ivdep
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const T r = f.r[i], z = f.z[i], n = f.n[i];
    const T whole = d[i] + dh[i];
    T dn = whole * (one - z), dz = whole * (f.h[i] - n);
    if constexpr (!states_only) {
      dn += df.n[i];
      dz += df.z[i];
    }
    const T gn = dn * (one - n * n);
    T dr = gn * f.q[i], gq = gn * r;
    if constexpr (!states_only) {
      dr += df.r[i];
      gq += df.q[i];
    }
    const T gr = dr * (r * (one - r)), gz = dz * (z * (one - z));
    ga[i] = gr;
    ga[units + i] = gz;
    ga[2 * units + i] = gn;
    gc[i] = gr;
    gc[units + i] = gz;
    gc[2 * units + i] = gq;
    sum_r[i] += gr;
    sum_z[i] += gz;
    sum_n[i] += gn;
    sum_q[i] += gq;
    d[i] = whole * z;
  }
}

// y[i] += (row i of w) . g for as many rows as a vector has lanes; g has n elements.
template <class T>
void add_dots(const T* w, const T* g, std::int64_t n, T* y) {
  constexpr int rows = lanes<T>;
  Vec<T> sum[rows];
  repeat<rows>([&](auto i) { sum[i] = Vec<T>{}; });
  std::int64_t j = 0;
  for (; j + lanes<T> <= n; j += lanes<T>) {
    const Vec<T> right = load<T>(g + j);
    repeat<rows>([&](auto i) { sum[i] = net::fma<T>(load<T>(w + i * n + j), right, sum[i]); });
  }
  // Transposed, the lanes of each sum are added in the tree of net::total.
  alignas(32) T lane[rows * rows], turned[rows * rows];
  repeat<rows>([&](auto i) { store<T>(lane + i * rows, sum[i]); });
  detail::transpose_square(lane, rows, turned, rows);
  repeat<rows>([&](auto i) { sum[i] = load<T>(turned + i * rows); });
  for (int width = rows / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) sum[i] += sum[i + width];
  store<T>(y, load<T>(y) + sum[0]);
  for (; j < n; ++j)
    for (int i = 0; i < rows; ++i) y[i] = std::fma(w[i * n + j], g[j], y[i]);
}
// The same for one row.
template <class T>
void add_dot(const T* w, const T* g, std::int64_t n, T* y) {
  Vec<T> sum{};
  std::int64_t j = 0;
  for (; j + lanes<T> <= n; j += lanes<T>) sum = net::fma<T>(load<T>(w + j), load<T>(g + j), sum);
  *y += net::total<T>(sum);
  for (; j < n; ++j) *y = std::fma(w[j], g[j], *y);
}

// Some rows of d += w_h g.
template <class T>
void add_transposed_product(const T* w_h, const T* g, std::int64_t units, Range part, T* d) {
  const std::int64_t n = 3 * units;
  std::int64_t i = part.begin;
  for (; i + lanes<T> <= part.end; i += lanes<T>) add_dots<T>(w_h + i * n, g, n, d + i);
  for (; i < part.end; ++i) add_dot<T>(w_h + i * n, g, n, d + i);
}

}  // namespace

template <class T>
std::int64_t forward_scratch(std::int64_t units) {
  return 3 * Blocks<T>(units).padded() * (units + 1);
}

template <class T>
void forward(const Sizes& s, const T* x, const T* w_h, const T* b_x, const T* b_h, const T* h_0,
             T* trace, T* scratch, Halves& shared) {
  const Blocks<T> blocks(s.units);
  T *panels = scratch, *c = scratch + 3 * blocks.padded() * s.units;
  // After the first phase, one for each frame: a state needs all of the one before it.
  shared.run(s.length + 1, [&](std::int64_t phase, int half) {
    if (phase > 0) {
      const Frame<T> frame(s, trace, phase - 1);
      state_product(blocks, blocks.of(half), panels, frame.h, c);
      gates(frame, s.units, blocks.units_of(half), x + (phase - 1) * 3 * s.units, b_x, b_h, c,
            blocks.padded());
      return;
    }
    if (s.length > 0) pack(blocks, blocks.of(half), w_h, panels);
    if (half == 1) return;
    std::copy_n(h_0, s.units, trace);
    const std::int64_t rest = (s.frames - s.length) * s.units;
    const Frame<T> after(s, trace, s.length);
    for (T* rows : {after.h + s.units, after.r, after.z, after.n, after.q})
      std::fill_n(rows, rest, T(0));
  });
}

template <class T>
void backward(const Sizes& s, const T* w_h, const T* trace, const T* dtrace, bool states_only,
              T* adjoint, T* d, Halves& shared) {
  const Blocks<T> blocks(s.units);
  const std::int64_t width = 3 * s.units, side = s.frames * width;
  T *dh_0 = adjoint + 2 * side, *db_x = dh_0 + s.units, *db_h = db_x + width;
  const std::array<T*, 4> sums{db_x, db_x + s.units, db_x + 2 * s.units, db_h + 2 * s.units};
  // A phase ends with the gates of a frame: the product with w_h needs those of all units.
  const auto gates_of = [&](std::int64_t t, Range part) {
    T *ga = adjoint + t * width, *gc = ga + side;
    const T* dh = dtrace + (states_only ? t : t + 1) * s.units;
    const Frame<const T> frame(s, trace, t);
    const auto go = [&](auto kind, const Frame<const T>& df) {
      gate_adjoints<T, kind>(frame, dh, df, s.units, part, ga, gc, d, sums);
    };
    states_only ? go(std::true_type{}, frame) : go(std::false_type{}, Frame<const T>(s, dtrace, t));
  };
  shared.run(s.length + 1, [&](std::int64_t phase, int half) {
    const Range part = blocks.units_of(half);
    const std::int64_t t = s.length - phase;  // the frame whose gates are done
    if (phase == 0) {
      for (T* row : {d, sums[0], sums[1], sums[2], sums[3]})
        std::fill(row + part.begin, row + part.end, T(0));
      const std::int64_t rest = (s.frames - s.length) * width;
      std::fill_n(adjoint + (half + 1) * side - rest, rest, T(0));
    } else {
      add_transposed_product(w_h, adjoint + side + t * width, s.units, part, d);
    }
    if (t > 0) return gates_of(t - 1, part);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      dh_0[i] = states_only ? d[i] : d[i] + dtrace[i];
      db_h[i] = db_x[i];
      db_h[s.units + i] = db_x[s.units + i];
    }
  });
}

template std::int64_t forward_scratch<float>(std::int64_t);
template std::int64_t forward_scratch<double>(std::int64_t);
template void forward(const Sizes&, const float*, const float*, const float*, const float*,
                      const float*, float*, float*, Halves&);
template void forward(const Sizes&, const double*, const double*, const double*, const double*,
                      const double*, double*, double*, Halves&);
template void backward(const Sizes&, const float*, const float*, const float*, bool, float*, float*,
                       Halves&);
template void backward(const Sizes&, const double*, const double*, const double*, bool, double*,
                       double*, Halves&);

}  // namespace whorl::recurrent
