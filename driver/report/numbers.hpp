// Numbers as a reader of a report wants them: few digits, thousands apart, a real minus sign.
//
// A number that is not finite has a text, too: a dash or the sign of infinity.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace whorl::driver::report {

std::string grouped(std::int64_t number);  // "12,000"
// So many significant digits, without zeros at the end: "12,345", "0.0123", "1.2×10⁻⁷".
std::string number_text(double number, int digits = 4);
// The label of a tick where the next one is `step` away: all labels of an axis get the same digits.
std::string tick_text(double value, double step);
std::string power_of_ten(int exponent);  // "10⁻³"
std::string time_text(double seconds);   // "0.71 s", "2 min 5 s"
// The same number of decimals whatever the size, as for R-hat: "1.003".
std::string fixed_text(double number, int decimals);

}  // namespace whorl::driver::report
