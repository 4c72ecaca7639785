// The text of the Error that a call throws, or "" when it throws none.
#pragma once

#include <string>

#include "engine/error.hpp"

namespace whorl::testing {

template <class F>
std::string error_text(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace whorl::testing
