// Place: where in a file something stands, and errors that say so.
#pragma once

#include <string>
#include <string_view>

#include "engine/error.hpp"
#include "engine/text.hpp"

namespace whorl::graphs {

struct Place {
  std::string_view origin;
  int line = 0;  // from 1; 0 when not known, as in binary files
  int column = 0;
};

inline std::string to_string(const Place& place) {
  if (place.line == 0) return std::string(place.origin);
  if (place.column == 0) return fmt::format("{}:{}", place.origin, place.line);
  return fmt::format("{}:{}:{}", place.origin, place.line, place.column);
}

template <class... Args>
[[noreturn]] void load_error(const Place& place, fmt::format_string<Args...> format,
                             Args&&... args) {
  graph_error("load", "{}: {}", to_string(place),
              printable(fmt::format(format, std::forward<Args>(args)...)));
}

// Runs f; an Error of kind graph gets the place and `subject` in front, such as "node 'x' (sum)".
template <class Subject, class F>
decltype(auto) located(const Place& place, Subject&& subject, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::graph || std::string_view(error.what()).starts_with("[load] "))
      throw;
    load_error(place, "{}: {}", subject(), bare_text(error));
  }
}

}  // namespace whorl::graphs
