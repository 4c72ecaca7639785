// random_normal, random_uniform: numbers that depend on (seed, stream, step, chain, element) only.
//
// seed is i32[2], the low and the high word of 64 bits; step is i32[]; stream is an attribute, so
// that every use in a graph names its own. Without `chained` the whole output belongs to the chain
// `first_chain`; with it, axis 0 counts chains from `first_chain` on and the element counts within
// a chain. So chain c of a run over many chains equals a run of one chain with first_chain = c.
#include "engine/random.hpp"

#include "engine/ops.hpp"

namespace whorl {

namespace {

constexpr std::int64_t word_limit = std::int64_t{1} << 32;

struct RandomAttrs {
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t stream = 0;
  bool chained = false;
  std::int64_t first_chain = 0;
  static constexpr auto fields() {
    return std::tuple{
        field("dtype", &RandomAttrs::dtype).optional(), field("shape", &RandomAttrs::shape),
        field("stream", &RandomAttrs::stream).within(0, word_limit - 1),
        field("chained", &RandomAttrs::chained).optional(),
        field("first_chain", &RandomAttrs::first_chain).optional().within(0, word_limit - 1)};
  }
};

struct Random {
  using Attrs = RandomAttrs;
  static constexpr std::array<std::string_view, 2> inputs{"seed", "step"};
  static constexpr Traits traits = Traits::generator | Traits::random;
  static constexpr DTypeSet dtypes = floats;
  static constexpr int key = -1;
  static constexpr std::string_view no_gradient = "seed and step are integers";

  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    const std::string_view where = site.op->name;
    if (site.in[0] != Type{DType::i32, {2}})
      graph_error(where, "the seed must be i32[2]: found {}", to_string(site.in[0]));
    if (site.in[1] != Type{DType::i32, {}})
      graph_error(where, "the step must be i32[]: found {}", to_string(site.in[1]));
    if (!is_float(attrs.dtype))
      graph_error(where, "dtype is {}; expected f32 or f64", name(attrs.dtype));
    if (attrs.stream < 0 || attrs.stream >= word_limit)
      graph_error(where, "stream is {}; expected 0 to 2^32 - 1", attrs.stream);
    if (attrs.chained && attrs.shape.rank() == 0)
      graph_error(where, "a chained output needs an axis for the chains: found rank 0");
    const std::int64_t chains = attrs.chained ? attrs.shape[0] : 1;
    if (attrs.first_chain < 0 || attrs.first_chain + chains > word_limit)
      graph_error(where, "chains {} to {} are not in 0 to 2^32 - 1", attrs.first_chain,
                  attrs.first_chain + chains - 1);
    const std::int64_t limit =
        attrs.dtype == DType::f32 ? max_random_elements<float> : max_random_elements<double>;
    if (elements_per_chain(attrs) > limit)
      graph_error(where, "a chain has {} elements, more than the limit of {}",
                  elements_per_chain(attrs), limit);
    return {attrs.dtype, attrs.shape};
  }
  static std::int64_t elements_per_chain(const Attrs& attrs) {
    return attrs.chained ? attrs.shape.span_elements(1, attrs.shape.rank())
                         : attrs.shape.elements();
  }
  // About what a normal costs; it makes the executor cut a fill into parts early enough.
  static double flops(const Site& site) { return 16.0 * static_cast<double>(site.out.elements()); }

  template <class T, class Fill>
  static void fill_tile(const Tile& t, Fill&& fill) {
    const auto& attrs = t.attrs<Attrs>();
    const auto word = [](std::int32_t x) { return static_cast<std::uint32_t>(x); };
    const std::int32_t* seed = t.in<std::int32_t>(0);
    RandomCoordinates at{static_cast<std::uint64_t>(word(seed[1])) << 32 | word(seed[0]),
                         static_cast<std::uint32_t>(attrs.stream), word(*t.in<std::int32_t>(1)), 0};
    at.chain = static_cast<std::uint32_t>(attrs.first_chain);
    fill(at, elements_per_chain(attrs), t.begin,
         std::span<T>(t.out<T>(), static_cast<std::size_t>(t.n)));
  }

  static Value batch(const Batch& b) {
    if (b.is_batched(0) || b.is_batched(1))
      graph_error(b.op->name,
                  "{} has a chain axis; chains share seed and step, and draw by their "
                  "own coordinate",
                  b.is_batched(0) ? "seed" : "step");
    Attrs attrs = b.attrs<Attrs>();
    if (attrs.chained)
      graph_error(b.op->name, "axis 0 of {} counts chains already, so it cannot be batched again",
                  to_string(attrs.shape));
    attrs.chained = true;
    attrs.shape = attrs.shape.with_front(b.size);
    return call(*b.op, b.inputs, attributes(std::move(attrs)));
  }
  static std::vector<Sample> samples() {
    const std::vector<SampleInput> in{{{2}, -1000, 1000, DType::i32}, {{}, 0, 1000, DType::i32}};
    using L = std::vector<std::int64_t>;
    constexpr std::int64_t stream = 7;
    return {{in, {{"shape", L{2, 3}}, {"stream", stream}}},
            {in, {{"shape", L{3, 5}}, {"stream", stream}, {"chained", true}}},
            {in, {{"shape", L{70}}, {"stream", stream}, {"dtype", DType::f64}}},
            {in, {{"shape", L{}}, {"stream", stream}, {"first_chain", std::int64_t{4}}}}};
  }
};

struct RandomNormal : Random {
  template <class T>
  static void tile(const Tile& t) {
    fill_tile<T>(t, fill_normal_chains<T>);
  }
};

struct RandomUniform : Random {
  template <class T>
  static void tile(const Tile& t) {
    fill_tile<T>(t, fill_uniform_chains<T>);
  }
};

Value draw(const OpDef& op, Value seed, Value step, const Type& type, std::int64_t stream,
           bool chained) {
  return call(op, {seed, step},
              attributes(RandomAttrs{type.dtype, type.shape, stream, chained, 0}));
}

}  // namespace

extern constinit const OpDef random_normal_op = define<RandomNormal>("random_normal");
extern constinit const OpDef random_uniform_op = define<RandomUniform>("random_uniform");

Value random_normal(Value seed, Value step, const Type& type, std::int64_t stream, bool chained) {
  return draw(random_normal_op, seed, step, type, stream, chained);
}
Value random_uniform(Value seed, Value step, const Type& type, std::int64_t stream, bool chained) {
  return draw(random_uniform_op, seed, step, type, stream, chained);
}

}  // namespace whorl
