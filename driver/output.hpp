// Output: what a command says, kept until it is done.
//
// Results go to standard output at the end, all at once; notes go to standard error as they come.
// A reader that went away (`whorl show g.pbtxt | head`) is not an error; a full disk or a closed
// standard output is.
// Thread safety: for one thread.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace whorl::driver {

// `text` on one line: blanks for control characters, which a file name may hold.
std::string printable(std::string_view text);

class Output {
 public:
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...);
  }
  void write(std::string_view text) { text_ += text; }
  bool empty() const { return text_.empty(); }
  // "note: ..." on standard error.
  void note(std::string_view text) const;
  // Throws an io Error when standard output cannot take the text.
  void flush();

  bool quiet = false;

 private:
  std::string text_;
};

}  // namespace whorl::driver
