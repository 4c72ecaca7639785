#include "driver/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "driver/json.hpp"

namespace whorl::driver {

namespace {

constexpr std::chrono::milliseconds redraw{100};
constexpr std::chrono::seconds log_line{5}, json_line{1};
// By then it is known how fast a run is.
constexpr std::chrono::milliseconds settled{100};

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

double rate_of(std::int64_t done, std::int64_t first, double seconds) {
  return seconds > 0 ? static_cast<double>(done - first) / seconds : 0;
}

}  // namespace

Progress::Progress(std::string_view what, std::string_view unit, std::int64_t total, bool quiet,
                   bool json)
    : what_(what),
      unit_(unit),
      total_(total),
      quiet_(quiet),
      json_(json),
      terminal_(!json && ::isatty(STDERR_FILENO) == 1),
      begin_(Clock::now()),
      last_(begin_) {}

Progress::~Progress() {
  if (drawn_) say("\r\x1b[K");
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Progress::start(std::int64_t done, std::string_view needs) {
  first_ = done;
  needs_ = needs;
  begin_ = last_ = Clock::now();
}

bool Progress::due() const {
  if (quiet_) return false;
  const auto now = Clock::now();
  if (!needs_.empty() && now - begin_ >= settled) return true;
  const auto passed = now - last_;
  return terminal_ ? passed >= redraw : json_ ? passed >= json_line : passed >= log_line;
}

void Progress::say_needs(std::int64_t done) {
  const double rate = rate_of(done, first_, seconds());
  const double left = rate > 0 ? static_cast<double>(total_ - done) / rate : 0;
  if (json_) {
    say(JsonLine().field("what", what_).field("needs", needs_).field("seconds_left", left).text());
  } else {
    say(fmt::format("{}: {}, about {}\n", what_, needs_, duration_text(left)));
  }
  needs_.clear();
}

void Progress::update(std::int64_t done, std::string_view details) {
  if (quiet_) return;
  if (!needs_.empty()) return say_needs(done);
  last_ = Clock::now();
  if (json_) {
    const double rate = rate_of(done, first_, seconds());
    JsonLine line;
    line.field("what", what_).field("done", done).field("total", total_);
    line.field("seconds", seconds()).field("per_second", rate).field("details", details);
    return say(line.text());
  }
  const std::string text = progress_text(done, total_, seconds(), unit_, first_);
  if (!terminal_)
    return say(fmt::format("{}: {} of {} {}, {}{}{}\n", what_, done, total_, unit_, text,
                           details.empty() ? "" : "  ", details));
  drawn_ = true;
  say(fmt::format("\r{} {} {}{}{}\x1b[K", what_, progress_bar(done, total_, 20), text,
                  details.empty() ? "" : "  ", details));
}

std::string progress_text(std::int64_t done, std::int64_t total, double seconds,
                          std::string_view unit, std::int64_t first) {
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  const double rate = rate_of(done, first, seconds);
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
