// input, constant, fill, iota: values that come from outside or from an index.
#include <cmath>

#include "engine/ops.hpp"

namespace whorl {

namespace {

std::vector<std::string_view> input_roles() { return {"data", "parameter"}; }

// A value that the caller binds at run time, under the node's name. Its role tells drivers what it
// is for: parameters are what is sampled or trained.
struct Input {
  struct Attrs {
    DType dtype = DType::f32;
    Shape shape;
    std::string role = "data";
    static constexpr auto fields() {
      return std::tuple{field("dtype", &Attrs::dtype).optional(), field("shape", &Attrs::shape),
                        field("role", &Attrs::role).optional().one_of(input_roles)};
    }
  };
  static constexpr std::array<std::string_view, 0> inputs{};
  static constexpr Traits traits = Traits::source;
  static constexpr DTypeSet dtypes = any_dtype;
  static constexpr int key = -1;
  static constexpr std::string_view no_gradient = "an input has no inputs";
  static Type infer(const Site& site) {
    return {site.attrs<Attrs>().dtype, site.attrs<Attrs>().shape};
  }
  static Value batch(const Batch& b) { return call(*b.graph, *b.op, *b.attributes); }
  static std::vector<Sample> samples() { return {}; }
};

// A value known when the graph is written.
struct Constant {
  struct Attrs {
    Tensor value;
    bool allow_nonfinite = false;
    static constexpr auto fields() {
      return std::tuple{field("value", &Attrs::value),
                        field("allow_nonfinite", &Attrs::allow_nonfinite).optional()};
    }
  };
  static constexpr std::array<std::string_view, 0> inputs{};
  static constexpr Traits traits = Traits::source;
  static constexpr DTypeSet dtypes = any_dtype;
  static constexpr int key = -1;
  static constexpr std::string_view no_gradient = "a constant has no inputs";
  template <class T>
  static void check_finite(const Tensor& value) {
    const auto values = value.values<T>();
    const auto bad =
        std::find_if(values.begin(), values.end(), [](T v) { return !std::isfinite(v); });
    if (bad != values.end())
      graph_error("constant", "element {} is {}; set allow_nonfinite if that is meant",
                  bad - values.begin(), *bad);
  }
  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    const Tensor& value = attrs.value;
    if (!attrs.allow_nonfinite && value.dtype() == DType::f32) check_finite<float>(value);
    if (!attrs.allow_nonfinite && value.dtype() == DType::f64) check_finite<double>(value);
    return value.type();
  }
  static Value batch(const Batch& b) { return call(*b.graph, *b.op, *b.attributes); }
  static std::vector<Sample> samples() { return {}; }
};

// Every element the same number.
struct Fill {
  struct Attrs {
    DType dtype = DType::f32;
    Shape shape;
    double value = 0;
    static constexpr auto fields() {
      return std::tuple{field("dtype", &Attrs::dtype).optional(), field("shape", &Attrs::shape),
                        field("value", &Attrs::value).allow_nonfinite()};
    }
  };
  static constexpr std::array<std::string_view, 0> inputs{};
  static constexpr Traits traits = Traits::generator;
  static constexpr DTypeSet dtypes = any_dtype;
  static constexpr int key = -1;
  static constexpr std::string_view no_gradient = "fill has no inputs";
  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    const double v = attrs.value;
    if (attrs.dtype == DType::i32 && !(v == std::floor(v) && std::abs(v) <= 2147483647.0))
      graph_error("fill", "value {} is not an i32", v);
    if (attrs.dtype == DType::boolean && v != 0 && v != 1)
      graph_error("fill", "value {} is not a bool: expected 0 or 1", v);
    return {attrs.dtype, attrs.shape};
  }
  static bool uniform(const Site&) { return true; }
  template <class T>
  static void tile(const Tile& t) {
    std::fill_n(t.out<T>(), t.n, static_cast<T>(t.attrs<Attrs>().value));
  }
  static Value batch(const Batch& b) { return call(*b.graph, *b.op, *b.attributes); }
  static std::vector<Sample> samples() {
    return {{{}, {{"shape", std::vector<std::int64_t>{2, 3}}, {"value", 1.5}}},
            {{}, {{"shape", std::vector<std::int64_t>{}}, {"value", -1.0}}}};
  }
};

// The index along one axis: iota [2,3] over axis 1 is 0 1 2, 0 1 2.
struct Iota {
  struct Attrs {
    DType dtype = DType::i32;
    Shape shape;
    std::int64_t axis = 0;
    static constexpr auto fields() {
      return std::tuple{field("dtype", &Attrs::dtype).optional(), field("shape", &Attrs::shape),
                        field("axis", &Attrs::axis)};
    }
  };
  static constexpr std::array<std::string_view, 0> inputs{};
  static constexpr Traits traits = Traits::generator;
  static constexpr DTypeSet dtypes = numbers;
  static constexpr int key = -1;
  static constexpr std::string_view no_gradient = "iota has no inputs";
  static Type infer(const Site& site) {
    const auto& attrs = site.attrs<Attrs>();
    if (attrs.dtype == DType::boolean) graph_error("iota", "dtype bool cannot count");
    if (attrs.axis < 0 || attrs.axis >= attrs.shape.rank())
      graph_error("iota", "axis {} is out of range for shape {}", attrs.axis,
                  to_string(attrs.shape));
    return {attrs.dtype, attrs.shape};
  }
  template <class T>
  static void tile(const Tile& t) {
    const auto& attrs = t.attrs<Attrs>();
    const int axis = static_cast<int>(attrs.axis);
    const std::int64_t inner = attrs.shape.span_elements(axis + 1, attrs.shape.rank());
    const std::int64_t size = attrs.shape[axis];
    T* y = t.out<T>();
    for (std::int64_t i = 0; i < t.n; ++i) y[i] = static_cast<T>((t.begin + i) / inner % size);
  }
  static Value batch(const Batch& b) { return call(*b.graph, *b.op, *b.attributes); }
  static std::vector<Sample> samples() {
    return {{{}, {{"shape", std::vector<std::int64_t>{2, 3}}, {"axis", std::int64_t{1}}}},
            {{},
             {{"shape", std::vector<std::int64_t>{4, 2}},
              {"axis", std::int64_t{0}},
              {"dtype", DType::f64}}}};
  }
};

}  // namespace

extern constinit const OpDef input_op = define<Input>("input");
extern constinit const OpDef constant_op = define<Constant>("constant");
extern constinit const OpDef fill_op = define<Fill>("fill");
extern constinit const OpDef iota_op = define<Iota>("iota");

Value input(Graph& graph, std::string_view name, const Type& type, std::string_view role) {
  check_name("input", name);
  const NodeId id = graph.append(
      input_op, {}, attributes(Input::Attrs{type.dtype, type.shape, std::string(role)}), name);
  return {&graph, id};
}
Value constant(Graph& graph, const Tensor& value) {
  return call(graph, constant_op, attributes(Constant::Attrs{value, true}));
}
Value fill(Graph& graph, const Type& type, double value) {
  return call(graph, fill_op, attributes(Fill::Attrs{type.dtype, type.shape, value}));
}
Value fill_like(Value like, double value) { return fill(*like.graph, like.type(), value); }
Value iota(Graph& graph, const Type& type, std::int64_t axis) {
  if (axis < 0) axis += type.shape.rank();
  return call(graph, iota_op, attributes(Iota::Attrs{type.dtype, type.shape, axis}));
}

}  // namespace whorl
