// A list of names for a message: the first of them, where there are many.
//
// Thread safety: a pure function.
#pragma once

#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "engine/text.hpp"

namespace whorl {

inline std::string list_of(std::vector<std::string> names) {
  constexpr std::size_t listed = 20;
  const bool cut = names.size() > listed;
  if (cut) names.resize(listed);
  return printable(fmt::format("{}{}", fmt::join(names, ", "), cut ? ", ..." : ""));
}

}  // namespace whorl
