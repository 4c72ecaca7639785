#include "data/scaling.hpp"

#include <cmath>

#include "data/convert.hpp"
#include "engine/error.hpp"

namespace whorl {

namespace {

void check(const Scaling& scaling, const Dataset::Array& array) {
  const auto refuse = [&](std::string_view what, double number, std::string_view expected) {
    fail(ErrorKind::usage, "scaling", "input '{}': the {} is {}; expected {}", array.name, what,
         number, expected);
  };
  if (!is_float(array.tensor.dtype()))
    fail(ErrorKind::usage, "scaling", "input '{}' is {}; only f32 and f64 can be scaled",
         array.name, name(array.tensor.dtype()));
  if (!std::isfinite(scaling.divisor) || scaling.divisor == 0)
    refuse("divisor", scaling.divisor, "a finite number other than 0");
  if (!std::isfinite(scaling.mean)) refuse("mean", scaling.mean, "a finite number");
  if (!std::isfinite(scaling.sd) || scaling.sd <= 0)
    refuse("sd", scaling.sd, "a finite number above 0");
}

template <class T>
void apply_to(const Scaling& scaling, const Dataset::Array& array, std::span<T> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values[i];
    const auto scaled = static_cast<T>((x / scaling.divisor - scaling.mean) / scaling.sd);
    if (!std::isfinite(scaled))
      fail(ErrorKind::data, "scaling",
           "{}: input '{}', row {}: {} leaves the range of {} with divisor {}, mean {} and sd {}",
           array.origin, array.name, row_of(array.tensor.shape(), static_cast<std::int64_t>(i)),
           values[i], name(array.tensor.dtype()), scaling.divisor, scaling.mean, scaling.sd);
    values[i] = scaled;
  }
}

}  // namespace

void Scaling::apply(Dataset& dataset) const {
  const Dataset::Array& array = dataset.array(input);
  check(*this, array);
  Tensor& tensor = dataset[input];
  if (tensor.dtype() == DType::f32) {
    apply_to(*this, array, tensor.values<float>());
  } else {
    apply_to(*this, array, tensor.values<double>());
  }
}

}  // namespace whorl
