// DataFixture: a scratch directory, and what goes wrong with the files in it.
#pragma once

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <string>

#include "engine/error.hpp"
#include "scratch.hpp"

namespace whorl::testing {

struct DataFixture {
  Scratch scratch;

  // A new file each time: some file systems bring one that is written over to disk at once.
  std::string write(std::string_view name, std::string_view bytes) const {
    std::filesystem::remove(scratch / name);
    return scratch.write(name, bytes);
  }

  std::string without_directory(std::string text) const {
    const std::string directory = scratch.path() + "/";
    for (auto at = text.find(directory); at != std::string::npos; at = text.find(directory))
      text.erase(at, directory.size());
    return text;
  }

  // The text of the Error without the directory's name, with its exit code.
  template <class F>
  std::string error_of(F&& f) const {
    try {
      f();
    } catch (const Error& error) {
      return fmt::format("{} ({})", without_directory(error.what()), exit_code(error.kind()));
    }
    return "no error";
  }
};

}  // namespace whorl::testing
