#include "driver/print.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

namespace whorl::driver {

namespace {

std::string scaled(double number, double step, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  while (std::abs(number) >= step && unit + 1 < units.size()) {
    number /= step;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} {}", number, units[0])
                   : fmt::format("{:.3g} {}", number, units[unit]);
}

}  // namespace

Summary summarise(const Tensor& tensor) {
  Summary summary{std::numeric_limits<double>::infinity(), 0,
                  -std::numeric_limits<double>::infinity(), 0};
  std::int64_t finite = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double x = tensor.at(i);
    if (!std::isfinite(x)) {
      ++summary.not_finite;
      continue;
    }
    ++finite;
    summary.min = std::min(summary.min, x);
    summary.max = std::max(summary.max, x);
    summary.mean += x;
  }
  summary.mean /= static_cast<double>(finite);
  return summary;
}

std::string elements_text(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (tensor.elements() == 0) return "[]";
  return dispatch(tensor.dtype(), [&](auto zero) {
    const auto values = tensor.values<decltype(zero)>();
    std::string text;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      // As many brackets as there are axes that begin, or end, at this element.
      int begin = 0, end = 0;
      std::int64_t block = 1;
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        block *= shape[axis];
        begin += i % block == 0;
        end += (i + 1) % block == 0;
      }
      if (i > 0) text += ", ";
      text += std::string(static_cast<std::size_t>(begin), '[');
      text += fmt::format("{}", values[static_cast<std::size_t>(i)]);
      text += std::string(static_cast<std::size_t>(end), ']');
    }
    return text;
  });
}

std::string tensor_text(std::string_view name, const Tensor& tensor, bool full) {
  const std::string head = fmt::format("{}  {}  ", name, to_string(tensor.type()));
  if (full || tensor.elements() <= small_elements) return head + elements_text(tensor) + '\n';
  const Summary s = summarise(tensor);
  const std::string faults = s.not_finite == 0 ? "" : fmt::format("  not finite {}", s.not_finite);
  return fmt::format("{}min {:.6g}  mean {:.6g}  max {:.6g}{}\n", head, s.min, s.mean, s.max,
                     faults);
}

void add_tensor(Json& json, const Tensor& tensor, bool full) {
  json.field("type", to_string(tensor.type()));
  if (full || tensor.elements() <= small_elements) {
    json.key("values").array();
    dispatch(tensor.dtype(), [&](auto zero) {
      for (auto value : tensor.values<decltype(zero)>()) json.value(value);
    });
    json.end();
    return;
  }
  const Summary s = summarise(tensor);
  json.field("min", s.min).field("mean", s.mean).field("max", s.max);
  json.field("not_finite", s.not_finite);
}

std::string bytes_text(double bytes) {
  constexpr std::array<std::string_view, 5> units{"bytes", "KiB", "MiB", "GiB", "TiB"};
  return scaled(bytes, 1024, units);
}

std::string seconds_text(double seconds) {
  constexpr std::array<std::string_view, 4> units{"ns", "us", "ms", "s"};
  return scaled(seconds * 1e9, 1000, units);
}

std::string count_text(double count) {
  constexpr std::array<std::string_view, 5> units{"", "thousand", "million", "billion", "trillion"};
  std::string text = scaled(count, 1000, units);
  if (text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace whorl::driver
