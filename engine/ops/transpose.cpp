// transpose: axis i of the output is axis permutation[i] of the input.
#include "engine/kernels/transpose.hpp"

#include <numeric>

#include "engine/ops.hpp"
#include "engine/ops/axes.hpp"

namespace whorl {

namespace {

struct TransposeAttrs {
  Axes permutation;
  static constexpr auto fields() {
    return std::tuple{field("permutation", &TransposeAttrs::permutation)};
  }
};

// The output's axes, without those of size 1, with neighbours merged that are neighbours in the
// input too.
//
// If the last axis is the input's last one as well, the output is made of runs that are copied;
// otherwise it is made of matrices that are transposed: their columns lie along the output's last
// axis, their rows along the axis `across`, which is the input's last.
struct Moves {
  std::array<std::int64_t, Shape::max_rank> size{}, in_step{}, out_step{};
  int rank = 0;
  int across = 0;
  static constexpr std::int64_t block = 32;  // rows of a matrix in one unit

  explicit Moves(const Site& site) {
    const Shape& shape = site.in[0].shape;
    const Strides steps = row_major(shape);
    for (std::int64_t axis : site.attrs<TransposeAttrs>().permutation)
      add(shape[static_cast<int>(axis)], steps[static_cast<std::size_t>(axis)]);
    std::int64_t step = 1;
    for (int i = rank - 1; i >= 0; --i) {
      out_step[at(i)] = step;
      step *= size[at(i)];
      if (in_step[at(i)] == 1) across = i;
    }
  }
  static std::size_t at(int axis) { return static_cast<std::size_t>(axis); }
  void add(std::int64_t dim, std::int64_t stride) {
    if (dim == 1) return;
    if (rank > 0 && in_step[at(rank - 1)] == stride * dim) {
      size[at(rank - 1)] *= dim;
      in_step[at(rank - 1)] = stride;
    } else {
      size[at(rank)] = dim;
      in_step[at(rank++)] = stride;
    }
  }
  bool same_order() const { return rank <= 1; }
  bool runs() const { return across == rank - 1; }
  std::int64_t row_blocks() const { return (size[at(across)] + block - 1) / block; }

  // Where the slab number `index` begins; slabs are counted over the axes other than `across` and
  // the last.
  struct Place {
    std::int64_t in = 0, out = 0;
  };
  Place place(std::int64_t index) const {
    Place result;
    for (int i = rank - 2; i >= 0; --i) {
      if (i == across) continue;
      const std::int64_t k = index % size[at(i)];
      index /= size[at(i)];
      result.in += k * in_step[at(i)];
      result.out += k * out_step[at(i)];
    }
    return result;
  }
};

struct Transpose {
  using Attrs = TransposeAttrs;
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr DTypeSet dtypes = any_dtype;
  static Type infer(const Site& site) {
    const Axes& permutation = site.attrs<Attrs>().permutation;
    const Shape& shape = site.in[0].shape;
    std::vector<std::int64_t> dims;
    std::array<bool, Shape::max_rank> seen{};
    bool good = static_cast<int>(permutation.size()) == shape.rank();
    for (std::size_t i = 0; good && i < permutation.size(); ++i) {
      const std::int64_t axis = permutation[i];
      good = axis >= 0 && axis < shape.rank() && !seen[static_cast<std::size_t>(axis)];
      if (!good) break;
      seen[static_cast<std::size_t>(axis)] = true;
      dims.push_back(shape[static_cast<int>(axis)]);
    }
    if (!good)
      graph_error("transpose", "{} is not a permutation of the {} axes",
                  to_string(AttrValue(permutation)), shape.rank());
    return {site.in[0].dtype, Shape(std::span<const std::int64_t>(dims))};
  }
  static std::optional<std::int64_t> alias(const Site& site) {
    if (site.out.elements() == 0 || Moves(site).same_order()) return 0;
    return std::nullopt;
  }
  static std::int64_t units(const Site& site) {
    if (site.out.elements() == 0) return 0;
    const Moves m(site);
    if (m.same_order()) return 1;
    const std::int64_t last = m.size[Moves::at(m.rank - 1)];
    if (m.runs()) return site.out.elements() / last;
    return site.out.elements() / (last * m.size[Moves::at(m.across)]) * m.row_blocks();
  }
  template <class T>
  static void forward(const Call& c, std::int64_t begin, std::int64_t end) {
    const Moves m(*c.site);
    if (m.same_order()) {
      std::copy_n(c.in<T>(0), c.type().elements(), c.out<T>());
    } else if (m.runs()) {
      copy_runs(c.in<T>(0), m, begin, end, c.out<T>());
    } else {
      transpose_slabs(c.in<T>(0), m, begin, end, c.out<T>());
    }
  }
  template <class T>
  static void copy_runs(const T* x, const Moves& m, std::int64_t begin, std::int64_t end, T* y) {
    const std::int64_t run = m.size[Moves::at(m.rank - 1)];
    const std::int64_t rows = m.size[Moves::at(m.rank - 2)];
    const std::int64_t step = m.in_step[Moves::at(m.rank - 2)];
    while (begin < end) {
      const std::int64_t count = std::min(rows - begin % rows, end - begin);
      const T* from = x + m.place(begin).in;
      T* to = y + begin * run;
      if (run < 8) {
        for (std::int64_t i = 0; i < count; ++i)
          for (std::int64_t j = 0; j < run; ++j) to[i * run + j] = from[i * step + j];
      } else {
        for (std::int64_t i = 0; i < count; ++i) std::copy_n(from + i * step, run, to + i * run);
      }
      begin += count;
    }
  }
  template <class T>
  static void transpose_slabs(const T* x, const Moves& m, std::int64_t begin, std::int64_t end,
                              T* y) {
    const std::int64_t blocks = m.row_blocks();
    const std::size_t last = Moves::at(m.rank - 1), across = Moves::at(m.across);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const auto [in, out] = m.place(unit / blocks);
      const std::int64_t row = unit % blocks * Moves::block;
      transpose_matrix(x + in + row, m.in_step[last], std::min(Moves::block, m.size[across] - row),
                       m.size[last], y + out + row * m.out_step[across], m.out_step[across]);
    }
  }
  static Value gradient(const Adjoint& a, int) {
    const Axes& permutation = a.attrs<Attrs>().permutation;
    Axes inverse(permutation.size());
    for (std::size_t i = 0; i < permutation.size(); ++i)
      inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
    return transpose(a.dy, inverse);
  }
  static Value batch(const Batch& b) {
    Axes permutation{0};
    for (std::int64_t axis : b.attrs<Attrs>().permutation) permutation.push_back(axis + 1);
    return transpose(b.x(), permutation);
  }
  static std::vector<Sample> samples() {
    const auto order = [](Axes axes) { return AttrList{{"permutation", std::move(axes)}}; };
    return {{{{{2, 3}}}, order({1, 0})},
            {{{{2, 3, 4}}}, order({1, 0, 2})},
            {{{{2, 3, 4}}}, order({2, 1, 0})},
            {{{{9, 2, 11}}}, order({2, 1, 0})},
            {{{{2, 1, 3}}}, order({1, 0, 2})},
            {{{{2, 3, 2, 2}}}, order({3, 0, 2, 1})},
            {{{{}}}, order({})},
            {{{{0, 3}}}, order({1, 0})}};
  }
};

}  // namespace

extern constinit const OpDef transpose_op = define<Transpose>("transpose");

Value transpose(Value x, Axes permutation) {
  const int rank = x.shape().rank();
  if (permutation.empty() && rank > 0) {
    if (rank < 2) graph_error("transpose", "rank {} has no two axes to swap", rank);
    permutation.resize(static_cast<std::size_t>(rank));
    std::iota(permutation.begin(), permutation.end(), 0);
    std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  }
  for (std::int64_t& axis : permutation) axis = normal_axis("transpose", axis, rank);
  if (std::is_sorted(permutation.begin(), permutation.end()) &&
      std::adjacent_find(permutation.begin(), permutation.end()) == permutation.end() &&
      static_cast<int>(permutation.size()) == rank)
    return x;
  return call(transpose_op, {x}, attributes(TransposeAttrs{std::move(permutation)}));
}

}  // namespace whorl
