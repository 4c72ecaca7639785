// Progress: how far a long run is, on standard error.
//
// On a terminal it is one line that is drawn anew about ten times a second; elsewhere a line every
// few seconds, so that logs stay short and quick runs say nothing. For other programs it is a JSON
// object a line, every second. What the run needs is said first, as soon as it is clear how long it
// will take.
// Thread safety: for one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace whorl::driver {

class Progress {
 public:
  // `unit` is what is counted, as in "steps". A quiet one says nothing.
  Progress(std::string_view what, std::string_view unit, std::int64_t total, bool quiet,
           bool json = false);
  // Clears the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The clock begins anew, with so much done that says nothing about the speed. What the run needs,
  // as in "3 MiB of memory", is said with the time before anything else.
  void start(std::int64_t done, std::string_view needs);
  // Whether it is time to say something again: asked before making the text for update().
  bool due() const;
  // `details` follows the time left, as in "U 12.3".
  void update(std::int64_t done, std::string_view details);

  double seconds() const;  // since the beginning

 private:
  using Clock = std::chrono::steady_clock;

  void say_needs(std::int64_t done);

  std::string what_, unit_, needs_;
  std::int64_t total_, first_ = 0;
  bool quiet_, json_, terminal_, drawn_ = false;
  Clock::time_point begin_, last_;
};

// "45%  12 s left  8,200 steps/s": `done` of `total`, `seconds` after it was `first`.
std::string progress_text(std::int64_t done, std::int64_t total, double seconds,
                          std::string_view unit, std::int64_t first = 0);
// "[=====>    ]" with `width` characters inside.
std::string progress_bar(std::int64_t done, std::int64_t total, int width);
// "4 s", "2 min 5 s", "3 h 20 min"
std::string duration_text(double seconds);

}  // namespace whorl::driver
