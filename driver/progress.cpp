#include "driver/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace whorl::driver {

namespace {

constexpr std::chrono::milliseconds redraw{100};
constexpr std::chrono::seconds log_line{5};

// Progress is not worth an error: where standard error is closed, it is lost.
void say(const std::string& text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

std::string with_commas(double number) {
  std::string text = fmt::format("{:.0f}", number);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace

Progress::Progress(std::string_view what, std::string_view unit, std::int64_t total, bool quiet)
    : what_(what),
      unit_(unit),
      total_(total),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      begin_(Clock::now()),
      last_(begin_) {}

Progress::~Progress() {
  if (drawn_) say("\r\x1b[K");
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

bool Progress::due() const {
  if (quiet_) return false;
  const auto passed = Clock::now() - last_;
  return terminal_ ? passed >= redraw : passed >= log_line;
}

void Progress::update(std::int64_t done, std::string_view details) {
  if (quiet_) return;
  last_ = Clock::now();
  const std::string text = progress_text(done, total_, seconds(), unit_);
  if (!terminal_)
    return say(fmt::format("{}: {} of {} {}, {}{}{}\n", what_, done, total_, unit_, text,
                           details.empty() ? "" : "  ", details));
  drawn_ = true;
  say(fmt::format("\r{} {} {}{}{}\x1b[K", what_, progress_bar(done, total_, 20), text,
                  details.empty() ? "" : "  ", details));
}

std::string progress_text(std::int64_t done, std::int64_t total, double seconds,
                          std::string_view unit) {
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  const std::string left =
      rate > 0 ? duration_text(static_cast<double>(total - done) / rate) : std::string("?");
  const std::string speed = rate >= 10 ? with_commas(rate) : fmt::format("{:.2g}", rate);
  return fmt::format("{:.0f}%  {} left  {} {}/s", std::floor(100 * share), left, speed, unit);
}

std::string progress_bar(std::int64_t done, std::int64_t total, int width) {
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  const int full = std::clamp(static_cast<int>(share * width), 0, width);
  std::string bar(static_cast<std::size_t>(full), '=');
  if (full < width) bar += '>';
  bar.resize(static_cast<std::size_t>(width), ' ');
  return '[' + bar + ']';
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace whorl::driver
