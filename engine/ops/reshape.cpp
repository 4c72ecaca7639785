// reshape: the same elements in the same order under another shape. No work at run time.
#include "engine/ops.hpp"

namespace whorl {

namespace {

struct Reshape {
  struct Attrs {
    std::vector<std::int64_t> shape;  // one dimension may be -1: whatever is left
    static constexpr auto fields() {
      return std::tuple{field("shape", &Attrs::shape).within(-1, 1e18)};
    }
  };
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr Traits traits = Traits::none;
  static constexpr DTypeSet dtypes = any_dtype;
  static Type infer(const Site& site) {
    const std::int64_t have = site.in[0].elements();
    std::vector<std::int64_t> dims = site.attrs<Attrs>().shape;
    std::int64_t* open = nullptr;
    for (std::int64_t& dim : dims) {
      if (dim != -1) continue;
      if (open != nullptr)
        graph_error("reshape", "two dimensions are -1, so the shape is ambiguous");
      open = &dim;
    }
    if (open != nullptr) {
      *open = 1;
      const std::int64_t rest = Shape(std::span<const std::int64_t>(dims)).elements();
      if (rest == 0) graph_error("reshape", "dimension -1 is ambiguous beside a dimension of 0");
      if (have % rest != 0) graph_error("reshape", "{} elements do not divide by {}", have, rest);
      *open = have / rest;
    }
    const Shape shape{std::span<const std::int64_t>(dims)};
    if (shape.elements() != have)
      graph_error("reshape", "{} has {} elements, the input {}", to_string(shape), shape.elements(),
                  have);
    return {site.in[0].dtype, shape};
  }
  static std::optional<std::int64_t> alias(const Site&) { return 0; }
  template <class T>
  static void forward(const Call& c, std::int64_t, std::int64_t) {
    std::copy_n(c.in<T>(0), c.type().elements(), c.out<T>());
  }
  static Value gradient(const Adjoint& a, int) { return reshape(a.dy, a.x().shape()); }
  static Value batch(const Batch& b) {
    // The shape of one chain, resolved, with the leading axis before it.
    const Type one{b.x().dtype(), b.x().shape().without_front()};
    const Site site{b.op, std::span(&one, 1), *b.attributes, {}};
    return reshape(b.x(), infer(site).shape.with_front(b.size));
  }
  static std::vector<Sample> samples() {
    using L = std::vector<std::int64_t>;
    return {{{{{2, 3}}}, {{"shape", L{3, 2}}}},
            {{{{2, 3}}}, {{"shape", L{-1}}}},
            {{{{}}}, {{"shape", L{1, 1}}}}};
  }
};

}  // namespace

extern constinit const OpDef reshape_op = define<Reshape>("reshape");

Value reshape(Value x, const std::vector<std::int64_t>& shape) {
  return call(reshape_op, {x}, attributes(Reshape::Attrs{shape}));
}
Value reshape(Value x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return reshape(x, std::vector<std::int64_t>(shape.begin(), shape.end()));
}

}  // namespace whorl
