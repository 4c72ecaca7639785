#include "data/npy_header.hpp"

#include <charconv>

#include "engine/error.hpp"

namespace whorl {

namespace {

// A reader of the few Python literals that a header may hold. It goes forward only.
class Literals {
 public:
  Literals(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::data, "npy", "{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

  // The next character after blanks, or '\0' at the end.
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char wanted) {
    if (peek() != wanted || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (accept(wanted)) return;
    if (at_ >= text_.size()) refuse("the header ends where '{}' was expected", wanted);
    refuse("the header has {} at position {} where '{}' was expected", found(), at_, wanted);
  }
  void expect_end() {
    if (peek() != '\0' || at_ < text_.size())
      refuse("the header has {} at position {} after its closing brace", found(), at_);
  }

  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') expect('\'');
    const std::size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) refuse("the header has a string without its closing quote");
    const std::string_view result = text_.substr(at_, end - at_);
    for (char c : result)
      if (c == '\\' || static_cast<unsigned char>(c) < 0x20)
        refuse("the header has a string with an escaped or control character");
    at_ = end + 1;
    return std::string(result);
  }
  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      const std::string_view literal = word;
      if (text_.substr(at_, literal.size()) != literal) continue;
      at_ += literal.size();
      return value;
    }
    refuse("the header's 'fortran_order' is neither True nor False");
  }
  std::int64_t integer() {
    peek();
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::invalid_argument)
      refuse("the header's shape has {} where a number was expected", found());
    at_ += static_cast<std::size_t>(end - begin);
    if (error == std::errc::result_out_of_range)
      refuse("the header's shape has a dimension that does not fit 64 bits: {}",
             std::string_view(begin, end));
    accept('L');  // how Python 2 wrote long integers
    return value;
  }

 private:
  std::string found() const {
    if (at_ >= text_.size()) return "its end";
    const auto c = static_cast<unsigned char>(text_[at_]);
    return c > 0x20 && c < 0x7f ? fmt::format("'{}'", text_[at_]) : fmt::format("0x{:02x}", c);
  }

  const std::string& path_;
  std::string_view text_;
  std::size_t at_ = 0;
};

std::vector<std::int64_t> tuple(Literals& in) {
  std::vector<std::int64_t> values;
  in.expect('(');
  while (!in.accept(')')) {
    values.push_back(in.integer());
    if (values.back() < 0)
      in.refuse("the header's shape has the negative dimension {}", values.back());
    if (in.peek() != ')') in.expect(',');
  }
  return values;
}

std::string type_string(Literals& in) {
  const char next = in.peek();
  if (next == '[' || next == '(' || next == '{')
    in.refuse("structured types are not supported: save one plain array");
  return in.string();
}

}  // namespace

NpyHeader parse_npy_header(const std::string& path, std::string_view text) {
  Literals in(path, text);
  if (in.peek() != '{') in.refuse("the header is not a dictionary");
  in.expect('{');
  NpyHeader header;
  bool descr = false, order = false, shape = false;
  const auto once = [&](bool& seen, std::string_view key) {
    if (seen) in.refuse("the header has the key '{}' twice", key);
    seen = true;
  };
  while (!in.accept('}')) {
    const std::string key = in.string();
    in.expect(':');
    if (key == "descr") {
      once(descr, key);
      header.descr = type_string(in);
    } else if (key == "fortran_order") {
      once(order, key);
      header.fortran_order = in.boolean();
    } else if (key == "shape") {
      once(shape, key);
      header.shape = tuple(in);
    } else {
      in.refuse("the header has the unknown key '{}'", key);
    }
    if (in.peek() != '}') in.expect(',');
  }
  in.expect_end();
  for (const auto& [seen, key] :
       {std::pair{descr, "descr"}, std::pair{order, "fortran_order"}, std::pair{shape, "shape"}})
    if (!seen) in.refuse("the header has no key '{}'", key);
  return header;
}

}  // namespace whorl
