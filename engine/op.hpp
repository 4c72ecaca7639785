// OpDef: everything the engine knows of an op, one row of the op table.
//
// An op is a struct with static members, turned into a row by define<Op>("name"). The struct gives
//
//   inputs      std::array of input names (the last one repeats when `variadic` is true)
//   Attrs       (optional) a struct with a field list, see attributes.hpp
//   traits      (optional) what passes may know of it
//   dtypes      which element types it takes, judged by the input `key` (default: the first one)
//   infer       the output's Type from the inputs' Types, or a graph Error.
//               Elementwise ops may leave it out: the output then has the type of the inputs
//   apply       elementwise ops: one element, written without branches so that it vectorises; or
//   tile        elementwise ops and generators: any range [begin, begin+n) of the output; or
//   planes      (optional, with coordinates) ops that a loop can make, although their output is
//               several planes, see OpDef
//   coordinates any range [begin, begin+n) of all planes
//   forward     other ops: the units [begin, end) of the output. How many units there are is a
//               function of the types alone, so results never depend on the number of threads
//   prepare, finish   (optional, with forward) run once, before and after all units
//   units, scratch, flops, alias, uniform   (optional) functions of a Site, see OpDef
//   gradient    value to value: the adjoint of one input; or `no_gradient`, with the reason; or
//   compose     the same function in plain ops. An op with `compose` and without kernels is a
//               composition: it is replaced before it runs, and its gradient and batching are those
//               of its parts. An op with both is a fused form of its composition, and must equal it
//   batch       the op over a new leading axis. Elementwise ops and compositions may leave it out
//   samples     inputs for the conformance test, which walks the table
//
// A missing part does not compile. Passes read traits, never names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/attributes.hpp"
#include "engine/error.hpp"
#include "engine/type.hpp"

namespace whorl {

class Graph;
struct OpDef;

using NodeId = std::uint32_t;

// A node of a graph, as builders and gradient rules hold it. An empty Value means "zero".
struct Value {
  Graph* graph = nullptr;
  NodeId id = 0;

  explicit operator bool() const { return graph != nullptr; }
  const Type& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  friend bool operator==(const Value&, const Value&) = default;
};

enum class Traits : std::uint32_t {
  none = 0,
  // Element i of the output depends on element i of each input; all have the output's shape.
  elementwise = 1,
  // Any range of the output can be made alone, from whole inputs: broadcast, iota, random numbers.
  generator = 2,
  // f(a, b) == f(b, a), bit for bit.
  commutative = 4,
  // Coordinate i of the output depends on coordinate i of the inputs (and on whole weights).
  coordinatewise = 8,
  // A value that comes from outside: inputs and constants.
  source = 16,
  // The gradient is zero by declaration.
  stops_gradient = 32,
  // The value depends on random coordinates: two such nodes with equal inputs are still equal,
  // but a constant must not be made of them.
  random = 64,
  // Adds up axes as ReductionAttrs say, in the order of kernels/reduce.hpp: a loop may do it.
  sums = 128,
};
constexpr Traits operator|(Traits a, Traits b) {
  return static_cast<Traits>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr bool has(Traits set, Traits one) {
  return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(one)) != 0;
}

// Sets of element types.
using DTypeSet = std::uint8_t;
constexpr DTypeSet only(DType d) { return static_cast<DTypeSet>(1u << static_cast<unsigned>(d)); }
inline constexpr DTypeSet floats = only(DType::f32) | only(DType::f64);
inline constexpr DTypeSet numbers = floats | only(DType::i32);
inline constexpr DTypeSet booleans = only(DType::boolean);
inline constexpr DTypeSet any_dtype = numbers | booleans;

// Where an op stands: the types around it and its attributes. `out` is set after inference.
struct Site {
  const OpDef* op = nullptr;
  std::span<const Type> in;
  Attributes attributes;
  Type out;

  template <class A>
  const A& attrs() const {
    return attributes.as<A>();
  }
};

// What a kernel gets: memory for every input and for the output.
struct Call {
  const Site* site;
  const void* const* inputs;
  void* output;
  void* scratch;  // Site's `scratch` bytes, 64-byte aligned, not cleared

  template <class T>
  const T* in(int i) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* out() const {
    return static_cast<T*>(output);
  }
  const Type& type(int i) const { return site->in[static_cast<std::size_t>(i)]; }
  const Type& type() const { return site->out; }
  template <class A>
  const A& attrs() const {
    return site->attrs<A>();
  }
};

// What a tile kernel gets. For elementwise ops `inputs` already point to element `begin`; for
// generators they point to the whole inputs. `output` always points to element `begin`; where it
// has planes, to that of the first one.
struct Tile {
  const Site* site;
  const void* const* inputs;
  void* output;
  std::int64_t begin;
  std::int64_t n;
  std::int64_t plane = 0;  // elements from one plane of the output to the next

  template <class T>
  const T* in(int i) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* out() const {
    return static_cast<T*>(output);
  }
  template <class A>
  const A& attrs() const {
    return site->attrs<A>();
  }
};

using Kernel = void (*)(const Call&, std::int64_t begin, std::int64_t end);
using CallKernel = void (*)(const Call&);
using TileKernel = void (*)(const Tile&);

// What a gradient rule gets: the node's inputs x, its output y and the adjoint dy of the output.
struct Adjoint {
  std::span<const Value> inputs;
  Value y;
  Value dy;
  const Attributes* attributes;

  Value x(int i = 0) const { return inputs[static_cast<std::size_t>(i)]; }
  template <class A>
  const A& attrs() const {
    return attributes->as<A>();
  }
};

// What a batching rule gets: the inputs in the new graph; those that are batched have a leading
// axis of `size`. The rule returns the output with that leading axis.
struct Batch {
  Graph* graph;
  const OpDef* op;
  std::span<const Value> inputs;
  std::span<const bool> batched;
  std::int64_t size;
  const Attributes* attributes;

  Value x(int i = 0) const { return inputs[static_cast<std::size_t>(i)]; }
  bool is_batched(int i = 0) const { return batched[static_cast<std::size_t>(i)]; }
  // Input i with the leading axis, broadcast when it had none.
  Value full(int i = 0) const;
  template <class A>
  const A& attrs() const {
    return attributes->as<A>();
  }
};

// What `compose` gets.
struct Composition {
  std::span<const Value> inputs;
  const Attributes* attributes;

  Value x(int i = 0) const { return inputs[static_cast<std::size_t>(i)]; }
  template <class A>
  const A& attrs() const {
    return attributes->as<A>();
  }
};

// One case of the conformance test: an input per entry, filled with uniform numbers in
// [low, high), and attributes. Choose ranges where the op is smooth: orders 1 and 2 are compared
// with differences.
struct SampleInput {
  Shape shape;
  double low = -2;
  double high = 2;
  // Key dtype unless set. Integer inputs are uniform integers in [low, high).
  std::optional<DType> dtype = {};
};
struct Sample {
  std::vector<SampleInput> inputs;
  AttrList attributes = {};
  // Some ops need structured inputs: symmetric positive, lower triangular, ...
  void (*prepare)(std::span<Tensor> inputs) = nullptr;
};

struct OpDef {
  std::string_view name;
  std::span<const std::string_view> input_names;
  bool variadic;
  Traits traits;
  DTypeSet dtypes;
  int key;  // the input whose dtype chooses the kernel; -1: the output's

  const AttrTable* (*attrs)();
  Type (*infer)(const Site&);

  std::array<TileKernel, dtype_count> tile;
  std::array<Kernel, dtype_count> forward;
  std::array<CallKernel, dtype_count> prepare, finish;
  std::int64_t (*units)(const Site&);
  std::int64_t (*scratch)(const Site&);  // bytes
  double (*flops)(const Site&);
  // The output's bytes are those of input 0 from this element on: no work at all.
  std::optional<std::int64_t> (*alias)(const Site&);
  // All elements of the output are the same number (generators only): a loop makes it once.
  bool (*uniform)(const Site&);
  // > 0: the output is this many planes along axis 0, and `coordinates` makes any range of all of
  // them, from the same range of the inputs that have a plane's shape. The first input, and those
  // of another shape, are read whole. 0: a loop cannot make it.
  std::int64_t (*planes)(const Site&);
  std::array<TileKernel, dtype_count> coordinates;

  Value (*gradient)(const Adjoint&, int input);
  std::string_view no_gradient;  // why there is none
  Value (*compose)(const Composition&);
  Value (*batch)(const Batch&);
  std::vector<Sample> (*samples)();

  bool is(Traits trait) const { return has(traits, trait); }
  bool is_composition() const {
    return compose != nullptr && tile == decltype(tile){} && forward == decltype(forward){};
  }
  std::size_t kernel_index(const Site& site) const {
    const DType dtype = key < 0 ? site.out.dtype : site.in[static_cast<std::size_t>(key)].dtype;
    return static_cast<std::size_t>(dtype);
  }
};

// The op table: our own ops in a fixed order, then those that users added.
// register_op is thread safe; the row must live as long as the program.
std::vector<const OpDef*> all_ops();
const OpDef* find_op(std::string_view name);  // nullptr when there is none
void register_op(const OpDef& op);

namespace detail {

struct NoAttrs {
  static constexpr auto fields() { return std::tuple{}; }
};
template <class Op>
constexpr Traits traits_of() {
  if constexpr (requires { Op::traits; }) return Op::traits;
  return Traits::none;
}

template <class Op>
struct AttrsOf {
  using type = NoAttrs;
};
template <class Op>
requires requires { typename Op::Attrs; }
struct AttrsOf<Op> {
  using type = typename Op::Attrs;
};

// Runs apply over a tile. The parameter types of apply are the element types of the inputs.
template <class Op, class T>
struct ElementLoop {
  template <class R, class... X>
  static void run(const Tile& tile, R (*)(X...)) {
    loop<R, X...>(tile, std::index_sequence_for<X...>{});
  }
  template <class R, class... X, std::size_t... I>
  static void loop(const Tile& tile, std::index_sequence<I...>) {
    loop_over<R>(tile.n, static_cast<R*>(tile.output), static_cast<const X*>(tile.inputs[I])...);
  }
  template <class R, class... X>
  static void loop_over(std::int64_t n, R* y, const X*... x) {
    // Inputs may be the output itself (in place), never a shifted overlap of it.
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) y[i] = Op::template apply<T>(x[i]...);
  }
};

template <class Op, class T>
void apply_tile(const Tile& tile) {
  ElementLoop<Op, T>::run(tile, &Op::template apply<T>);
}

Type infer_elementwise(const Site& site);
Value batch_elementwise(const Batch& batch);
double flops_elementwise(const Site& site);

template <class Op, class T>
constexpr TileKernel tile_kernel() {
  if constexpr (requires { &Op::template apply<T>; }) {
    return &apply_tile<Op, T>;
  } else if constexpr (requires { &Op::template tile<T>; }) {
    return &Op::template tile<T>;
  } else {
    return nullptr;
  }
}
template <class Op, class T>
constexpr TileKernel coordinates_kernel() {
  if constexpr (requires { &Op::template coordinates<T>; }) {
    return &Op::template coordinates<T>;
  } else {
    return nullptr;
  }
}
template <class Op, class T>
constexpr Kernel forward_kernel() {
  if constexpr (requires { &Op::template forward<T>; }) {
    return &Op::template forward<T>;
  } else {
    return nullptr;
  }
}
template <class Op, class T>
constexpr CallKernel prepare_kernel() {
  if constexpr (requires { &Op::template prepare<T>; }) {
    return &Op::template prepare<T>;
  } else {
    return nullptr;
  }
}
template <class Op, class T>
constexpr CallKernel finish_kernel() {
  if constexpr (requires { &Op::template finish<T>; }) {
    return &Op::template finish<T>;
  } else {
    return nullptr;
  }
}

template <class Op, class T>
constexpr void add_kernels(OpDef& row) {
  if ((row.dtypes & only(dtype_of<T>)) == 0) return;
  constexpr auto i = static_cast<std::size_t>(dtype_of<T>);
  row.tile[i] = tile_kernel<Op, T>();
  row.forward[i] = forward_kernel<Op, T>();
  row.coordinates[i] = coordinates_kernel<Op, T>();
  row.prepare[i] = prepare_kernel<Op, T>();
  row.finish[i] = finish_kernel<Op, T>();
}

}  // namespace detail

template <class Op>
constexpr OpDef define(std::string_view name) {
  OpDef row{};
  row.name = name;
  row.input_names = Op::inputs;
  if constexpr (requires { Op::variadic; }) row.variadic = Op::variadic;
  row.traits = detail::traits_of<Op>();
  constexpr bool elementwise = has(detail::traits_of<Op>(), Traits::elementwise);
  row.dtypes = Op::dtypes;
  if constexpr (requires { Op::key; }) row.key = Op::key;
  row.attrs = &detail::attr_table<typename detail::AttrsOf<Op>::type>;

  constexpr bool generator = has(detail::traits_of<Op>(), Traits::generator);
  constexpr bool ranged = requires { &Op::template apply<float>; }
  || requires { &Op::template tile<float>; }
  || requires { &Op::template apply<bool>; }
  || requires { &Op::template tile<bool>; };
  static_assert(ranged == (elementwise || generator),
                "apply and tile go with the traits elementwise and generator");

  // `if constexpr` on dtypes keeps kernels for types that the op does not take out of the build.
  if constexpr ((Op::dtypes & only(DType::f32)) != 0) detail::add_kernels<Op, float>(row);
  if constexpr ((Op::dtypes & only(DType::f64)) != 0) detail::add_kernels<Op, double>(row);
  if constexpr ((Op::dtypes & only(DType::i32)) != 0) detail::add_kernels<Op, std::int32_t>(row);
  if constexpr ((Op::dtypes & only(DType::boolean)) != 0) detail::add_kernels<Op, bool>(row);

  if constexpr (requires { &Op::infer; }) {
    row.infer = &Op::infer;
  } else {
    static_assert(elementwise, "infer is missing");
    row.infer = &detail::infer_elementwise;
  }
  row.units = [](const Site&) -> std::int64_t { return 1; };
  row.scratch = [](const Site&) -> std::int64_t { return 0; };
  row.alias = [](const Site&) -> std::optional<std::int64_t> { return std::nullopt; };
  row.uniform = [](const Site&) { return false; };
  row.planes = [](const Site&) -> std::int64_t { return 0; };
  row.flops = &detail::flops_elementwise;
  if constexpr (requires { &Op::units; }) row.units = &Op::units;
  if constexpr (requires { &Op::scratch; }) row.scratch = &Op::scratch;
  if constexpr (requires { &Op::flops; }) row.flops = &Op::flops;
  if constexpr (requires { &Op::alias; }) row.alias = &Op::alias;
  if constexpr (requires { &Op::uniform; }) row.uniform = &Op::uniform;
  if constexpr (requires { &Op::planes; }) row.planes = &Op::planes;

  constexpr bool composed = requires { &Op::compose; };
  if constexpr (composed) row.compose = &Op::compose;
  if constexpr (requires { &Op::gradient; }) {
    row.gradient = &Op::gradient;
  } else if constexpr (requires { Op::no_gradient; }) {
    row.no_gradient = Op::no_gradient;
  } else {
    static_assert(composed, "gradient, no_gradient or compose is missing");
  }
  if constexpr (requires { &Op::batch; }) {
    row.batch = &Op::batch;
  } else {
    static_assert(composed || elementwise, "batch is missing");
    if (!composed) row.batch = &detail::batch_elementwise;
  }
  row.samples = &Op::samples;
  return row;
}

}  // namespace whorl
