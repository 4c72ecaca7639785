#include "driver/report/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/progress.hpp"

namespace whorl::driver::report {

namespace {

constexpr const char* minus = "\u2212";
// From here on, and below the other, a power of ten is easier to read.
constexpr double large = 1e7, small = 1e-4;

// "1234567.25" with commas; a sign in front becomes a real one.
std::string with_commas(std::string digits) {
  const bool negative = digits.starts_with('-');
  if (negative) digits.erase(0, 1);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  for (std::size_t at = point; at > 3; at -= 3) digits.insert(at - 3, ",");
  return negative ? minus + digits : digits;
}

std::string without_zeros(std::string digits) {
  if (digits.find('.') == std::string::npos) return digits;
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits == "-0" ? "0" : digits;
}

std::string not_finite_text(double number) {
  if (std::isnan(number)) return "\u2013";
  return number > 0 ? "\u221e" : std::string(minus) + "\u221e";
}

int exponent_of(double number) {
  return static_cast<int>(std::floor(std::log10(std::abs(number))));
}

std::string scientific(double number, int digits) {
  const std::string text = fmt::format("{:.{}e}", number, std::max(digits - 1, 0));
  const std::size_t e = text.find('e');
  return with_commas(without_zeros(text.substr(0, e))) + "\u00d7" +
         power_of_ten(std::stoi(text.substr(e + 1)));
}

}  // namespace

std::string grouped(std::int64_t number) { return with_commas(fmt::format("{}", number)); }

std::string power_of_ten(int exponent) {
  constexpr const char* raised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                    "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  std::string text = "10";
  for (char c : std::to_string(exponent)) text += c == '-' ? "\u207b" : raised[c - '0'];
  return text;
}

std::string number_text(double number, int digits) {
  if (!std::isfinite(number)) return not_finite_text(number);
  if (number == 0) return "0";
  if (std::abs(number) >= large || std::abs(number) < small) return scientific(number, digits);
  const int decimals = std::max(digits - 1 - exponent_of(number), 0);
  return with_commas(without_zeros(fmt::format("{:.{}f}", number, decimals)));
}

std::string fixed_text(double number, int decimals) {
  if (!std::isfinite(number)) return not_finite_text(number);
  if (std::abs(number) >= large) return scientific(number, 4);
  return with_commas(fmt::format("{:.{}f}", number, decimals));
}

std::string time_text(double seconds) {
  return seconds < 60 ? number_text(seconds, 2) + " s" : duration_text(seconds);
}

std::string tick_text(double value, double step) {
  if (!std::isfinite(value) || !(step > 0)) return number_text(value);
  if (std::abs(value) < step * 1e-9) return "0";
  // Digits that tell it from its neighbour.
  const int digits = std::max(exponent_of(value) - exponent_of(step) + 1, 1);
  if (std::abs(value) >= large || step < small) return scientific(value, digits);
  const int decimals = std::max(-static_cast<int>(std::floor(std::log10(step) + 1e-9)), 0);
  return with_commas(fmt::format("{:.{}f}", value, decimals));
}

}  // namespace whorl::driver::report
