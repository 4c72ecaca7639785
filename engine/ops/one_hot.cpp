// one_hot: indices [...] -> [..., depth], 1 where the last axis is the index and 0 elsewhere.
//
// An index outside 0 .. depth-1 ends the run with an Error that names its element.
#include <algorithm>

#include "engine/ops.hpp"

namespace whorl {

namespace {

struct OneHot {
  struct Attrs {
    std::int64_t depth = 1;
    DType dtype = DType::f32;
    static constexpr auto fields() {
      return std::tuple{field("depth", &Attrs::depth), field("dtype", &Attrs::dtype).optional()};
    }
  };
  static constexpr std::array<std::string_view, 1> inputs{"indices"};
  static constexpr Traits traits = Traits::generator;
  static constexpr DTypeSet dtypes = any_dtype;
  static constexpr int key = -1;
  static constexpr std::string_view no_gradient = "an index has no derivative";
  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    if (site.in[0].dtype != DType::i32)
      graph_error("one_hot", "input 'indices' is {}; expected i32 (use cast)",
                  name(site.in[0].dtype));
    if (attrs.depth < 1) graph_error("one_hot", "depth {} is less than 1", attrs.depth);
    std::vector<std::int64_t> dims(site.in[0].shape.begin(), site.in[0].shape.end());
    dims.push_back(attrs.depth);
    return {attrs.dtype, Shape(std::span<const std::int64_t>(dims))};
  }
  template <class T>
  static void tile(const Tile& t) {
    const std::int64_t depth = t.attrs<Attrs>().depth;
    const auto* indices = t.in<std::int32_t>(0);
    T* y = t.out<T>();
    std::fill_n(y, t.n, T(0));
    const std::int64_t end = t.begin + t.n;
    for (std::int64_t row = t.begin / depth; row * depth < end; ++row) {
      const std::int64_t index = indices[row];
      if (index < 0 || index >= depth)
        fail(ErrorKind::data, "one_hot", "index out of range: element {} is {}; expected 0 to {}",
             row, index, depth - 1);
      const std::int64_t at = row * depth + index - t.begin;
      if (at >= 0 && at < t.n) y[at] = T(1);
    }
  }
  static Value batch(const Batch& b) { return call(*b.op, {b.x()}, *b.attributes); }
  static std::vector<Sample> samples() {
    const AttrList depth{{"depth", std::int64_t{4}}, {"dtype", DType::f64}};
    const auto i32 = DType::i32;
    return {{{{{3}, 0, 4, i32}}, depth},
            {{{{2, 3}, 0, 4, i32}}, depth},
            {{{{}, 0, 4, i32}}, {{"depth", std::int64_t{4}}}},
            {{{{0}, 0, 4, i32}}, depth}};
  }
};

}  // namespace

extern constinit const OpDef one_hot_op = define<OneHot>("one_hot");

Value one_hot(Value indices, std::int64_t depth, DType dtype) {
  return call(one_hot_op, {indices}, attributes(OneHot::Attrs{depth, dtype}));
}

}  // namespace whorl
