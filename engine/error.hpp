// Error: the one exception type of Whorl.
//
// A caller's mistake, a bad file or a fault of the machine throws an Error; its kind decides the
// driver's exit code. The text has the form "[where] what is wrong: what was found; context" and
// is one sentence that a user can act on. Our own bugs are asserts and cannot be reached from
// input.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace whorl {

enum class ErrorKind { internal, usage, graph, data, checkpoint, io, numeric, memory, cancelled };

// The driver's documented exit code for a kind.
constexpr int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::internal:
      return 1;
    case ErrorKind::usage:
      return 2;
    case ErrorKind::graph:
      return 3;
    case ErrorKind::data:
      return 4;
    case ErrorKind::checkpoint:
      return 5;
    case ErrorKind::io:
      return 6;
    case ErrorKind::numeric:
      return 7;
    case ErrorKind::memory:
      return 8;
    case ErrorKind::cancelled:
      return 130;
  }
  return 1;
}

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string_view where, std::string_view what)
      : std::runtime_error(fmt::format("[{}] {}", where, what)), kind_(kind) {}

  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// An Error's text without its "[where] ", for one that says it again with another place.
inline std::string_view bare_text(const Error& error) {
  const std::string_view what = error.what();
  const auto end = what.find("] ");
  return end == std::string_view::npos ? what : what.substr(end + 2);
}

// Throws an Error of `kind`, its text made from a format and arguments.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, std::string_view where, fmt::format_string<Args...> format,
                       Args&&... args) {
  throw Error(kind, where, fmt::format(format, std::forward<Args>(args)...));
}

// Mistakes in a graph are by far the most frequent: they get the short name.
template <class... Args>
[[noreturn]] void graph_error(std::string_view where, fmt::format_string<Args...> format,
                              Args&&... args) {
  throw Error(ErrorKind::graph, where, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace whorl
