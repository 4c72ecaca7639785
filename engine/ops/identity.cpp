// stop_gradient, assert_finite, cast: the same numbers, with a meaning added.
#include <cmath>

#include "engine/ops.hpp"

namespace whorl {

namespace {

// y = x, and the gradient is declared zero: how a sampler's inputs are cut from its tape.
struct StopGradient {
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr Traits traits = Traits::elementwise | Traits::stops_gradient;
  static constexpr DTypeSet dtypes = any_dtype;
  static constexpr std::string_view no_gradient = "the gradient was stopped on purpose";
  static std::optional<std::int64_t> alias(const Site&) { return 0; }
  template <class T>
  static T apply(T x) {
    return x;
  }
  static std::vector<Sample> samples() { return {{{{{2, 3}}}}, {{{{}}}}}; }
};

// y = x where every element is finite; otherwise the run ends with a numeric Error.
struct AssertFinite {
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr Traits traits = Traits::elementwise;
  static constexpr DTypeSet dtypes = floats;
  template <class T>
  static void tile(const Tile& t) {
    const T* x = t.in<T>(0);
    T* y = t.out<T>();
    for (std::int64_t i = 0; i < t.n; ++i) {
      if (!std::isfinite(x[i]))
        fail(ErrorKind::numeric, "assert_finite", "element {} is {}", t.begin + i, x[i]);
      y[i] = x[i];
    }
  }
  static Value gradient(const Adjoint& a, int) { return a.dy; }
  static std::vector<Sample> samples() { return {{{{{2, 3}}}}, {{{{}}}}}; }
};

// To another element type. Numbers become integers by truncation (out of range: the nearest one,
// NaN: 0) and bools by x != 0. A gradient flows between floating types.
struct Cast {
  struct Attrs {
    DType dtype = DType::f32;
    static constexpr auto fields() { return std::tuple{field("dtype", &Attrs::dtype)}; }
  };
  static constexpr std::array<std::string_view, 1> inputs{"x"};
  static constexpr Traits traits = Traits::elementwise;
  static constexpr DTypeSet dtypes = any_dtype;
  static Type infer(const Site& site) { return {site.attrs<Attrs>().dtype, site.in[0].shape}; }
  template <class To, class From>
  static To convert(From x) {
    if constexpr (std::is_same_v<To, bool>) {
      return x != From(0);
    } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
      constexpr double low = -2147483648.0, high = 2147483647.0;
      const double wide = static_cast<double>(x);
      return static_cast<To>(wide >= high ? high : (wide <= low ? low : (wide == wide ? wide : 0)));
    } else {
      return static_cast<To>(x);
    }
  }
  template <class T>
  static void tile(const Tile& t) {
    dispatch(t.site->out.dtype, [&](auto zero) {
      using To = decltype(zero);
      // Of bool the compiler makes no vector code: its bytes, 0 and 1, are read as they are.
      using From = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;
      const From* x = t.in<From>(0);
      To* y = t.out<To>();
#pragma GCC ivdep
      for (std::int64_t i = 0; i < t.n; ++i) y[i] = convert<To>(x[i]);
    });
  }
  static Value gradient(const Adjoint& a, int) { return cast(a.dy, a.x().dtype()); }
  static std::vector<Sample> samples() {
    return {{{{{2, 3}}}, {{"dtype", DType::f64}}}, {{{{}}}, {{"dtype", DType::f64}}}};
  }
};

}  // namespace

extern constinit const OpDef stop_gradient_op = define<StopGradient>("stop_gradient");
extern constinit const OpDef assert_finite_op = define<AssertFinite>("assert_finite");
extern constinit const OpDef cast_op = define<Cast>("cast");

Value stop_gradient(Value x) { return call(stop_gradient_op, {x}); }
Value assert_finite(Value x) { return call(assert_finite_op, {x}); }
Value cast(Value x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return call(cast_op, {x}, attributes(Cast::Attrs{dtype}));
}

}  // namespace whorl
