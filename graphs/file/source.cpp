#include "graphs/file/source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <vector>

#include "engine/text.hpp"
#include "graphs/file/container.hpp"
#include "graphs/file/descriptor.hpp"

namespace whorl::graphs {

namespace {

struct Signature {
  std::string_view bytes;
  std::string_view what;
};
constexpr std::array signatures{
    Signature{"\x89PNG", "a PNG image"},
    Signature{"\xff\xd8\xff", "a JPEG image"},
    Signature{"GIF8", "a GIF image"},
    Signature{"\x1f\x8b", "a gzip archive"},
    Signature{"PK\x03\x04", "a zip archive"},
    Signature{"BZh", "a bzip2 archive"},
    Signature{"\xfd"
              "7zXZ",
              "an xz archive"},
    Signature{"\x28\xb5\x2f\xfd", "a zstd archive"},
    Signature{"\x7f"
              "ELF",
              "an ELF program"},
    Signature{"%PDF-", "a PDF document"},
    Signature{"\x93NUMPY", "a NumPy array"},
    Signature{"\x89HDF", "an HDF5 or netCDF-4 file"},
    Signature{"\xff\xfe", "UTF-16 text"},
    Signature{"\xfe\xff", "UTF-16 text"},
};

std::string first_bytes(std::string_view bytes) {
  std::string text;
  for (unsigned char c : bytes.substr(0, 8))
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", c);
  return text;
}

bool is_control(unsigned char c) {
  return (c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v') || c == 0x7f;
}

// Walks over a text once and follows strings, comments, braces and the names before them.
// Protobuf's own record of places takes more time and memory than the parsing.
class TextScan {
 public:
  TextScan(const Source& source, Lines& lines)
      : source_(source), text_(source.bytes), lines_(lines) {}

  void run() {
    while (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (is_control(c)) refuse_byte("byte 0x{:02x} is not text; the file begins with {}", c);
      const std::size_t length = utf8_length(text_, at_);
      if (length == 0) refuse_byte("byte 0x{:02x} is not UTF-8; the file begins with {}", c);
      follow(static_cast<char>(c));
      at_ += length;
      if (c == '\n') {
        ++line_;
        line_start_ = at_;
      }
    }
    if (!open_.empty() && !broken_)
      load_error(open_.back().place, "'{}' is never closed", open_.back().brace);
  }

 private:
  struct Open {
    char brace;
    Place place;
  };

  void follow(char c) {
    if (comment_) {
      comment_ = c != '\n';
    } else if (quote_ != 0) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == quote_ || c == '\n') {
        broken_ |= c == '\n';
        quote_ = 0;
      }
    } else if (c == '#') {
      comment_ = true;
    } else if (c == '"' || c == '\'') {
      quote_ = c;
    } else if (c == '{' || c == '[' || c == '<') {
      const auto limit = static_cast<std::size_t>(source_.limits.nesting);
      if (open_.size() >= limit)
        load_error(here(), "braces are nested deeper than {} levels", limit);
      if (c != '[') enter();
      open_.push_back({c, here()});
    } else if (c == '}' || c == ']' || c == '>') {
      const char brace = c == '}' ? '{' : c == ']' ? '[' : '<';
      broken_ |= open_.empty() || open_.back().brace != brace;
      if (!open_.empty()) {
        depth_ -= open_.back().brace != '[';
        open_.pop_back();
        if (depth_ == 0) word_ = entered_;  // for the next entry of a list
      }
    } else if (is_word(c)) {
      const bool begins = at_ == 0 || !is_word(text_[at_ - 1]);
      if (begins && depth_ < 2 && (open_.empty() || open_.back().brace != '[')) take_word();
    }
  }

  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  // A word outside of lists is a field's name, or a value that the next name follows.
  void take_word() {
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    word_ = text_.substr(at_, end - at_);
    word_line_ = line_;
    if (depth_ > 0) return;
    if (word_ == "format_version") {
      lines_.format_version = line_;
    } else if (lines_.first_field.empty() && std::isalpha(static_cast<unsigned char>(word_[0]))) {
      lines_.first_field = word_;
      while (end < text_.size() && (text_[end] == ':' || text_[end] == ' ')) ++end;
      lines_.first_is_text = end < text_.size() && (text_[end] == '"' || text_[end] == '\'');
    }
  }

  // A message opens: `word {`, or one of `word: [{`, where all but the first stand where they open.
  void enter() {
    const bool listed = !open_.empty() && open_.back().brace == '[';
    const int line = listed ? line_ : word_line_;
    if (depth_ == 0) {
      in_function_ = word_ == "functions";
      if (in_function_) {
        lines_.functions.push_back(line);
        lines_.bodies.emplace_back();
      } else if (word_ == "metadata") {
        lines_.metadata.push_back(line);
      } else if (word_ == "sizes") {
        lines_.sizes.push_back(line);
      } else if (word_ == "ops") {
        lines_.ops.push_back(line);
      } else {
        enter(lines_.main, line);
      }
      entered_ = word_;
    } else if (depth_ == 1 && in_function_) {
      enter(lines_.bodies.back(), line);
    }
    ++depth_;
  }
  void enter(BodyLines& body, int line) {
    if (word_ == "nodes") body.nodes.push_back(line);
    if (word_ == "inputs") body.inputs.push_back(line);
    if (word_ == "constants") body.constants.push_back(line);
    if (word_ == "outputs") body.outputs.push_back(line);
  }

  Place here() const { return source_.place(line_, static_cast<int>(at_ - line_start_) + 1); }

  [[noreturn]] void refuse_byte(fmt::format_string<unsigned char&, std::string> format,
                                unsigned char byte) {
    load_error(here(), format, byte, first_bytes(text_));
  }

  const Source& source_;
  std::string_view text_;
  Lines& lines_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
  bool comment_ = false, escaped_ = false;
  bool broken_ = false;  // a brace or quote does not match: the parser says where
  char quote_ = 0;
  std::vector<Open> open_;
  int depth_ = 0;                    // of messages, without lists
  std::string_view word_, entered_;  // the last word, and that of the entry at depth 0
  int word_line_ = 0;
  bool in_function_ = false;
};

}  // namespace

std::string read_file(const std::filesystem::path& path, const LoadLimits& limits) {
  const auto refuse = [&](std::string_view what) {
    fail(ErrorKind::io, "load", "{}: cannot be read: {}", path.string(), what);
  };
  // O_NONBLOCK: opening a pipe must not wait for a writer that never comes.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0) refuse(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) refuse("it is a directory");
  if (!S_ISREG(status.st_mode)) refuse("it is not a regular file");
  const auto check_size = [&](std::int64_t size) {
    if (size > limits.file_bytes)
      graph_error("load", "{}: the file has {}{} bytes, more than the limit of {}", path.string(),
                  size > status.st_size ? "at least " : "", size, limits.file_bytes);
  };
  check_size(status.st_size);
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t have = 0;
  while (true) {
    if (have == bytes.size()) bytes.resize(have + 4096);
    const ssize_t got = ::read(file.number(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(std::strerror(errno));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
    check_size(static_cast<std::int64_t>(have));  // it may grow while it is read
  }
  bytes.resize(have);
  return bytes;
}

Form check_form(Source& source, Lines& lines) {
  const std::string_view bytes = source.bytes;
  if (static_cast<std::int64_t>(bytes.size()) > source.limits.file_bytes)
    load_error(source.place(), "the file has {} bytes, more than the limit of {}", bytes.size(),
               source.limits.file_bytes);
  if (bytes.starts_with(container_magic)) return Form::binary;
  if (!bytes.empty() && container_magic.starts_with(bytes))
    load_error(source.place(), "the file is cut off: {} bytes of a binary graph", bytes.size());
  for (const Signature& signature : signatures)
    if (bytes.starts_with(signature.bytes))
      load_error(source.place(), "this looks like {}, not like {}; the file begins with {}",
                 signature.what, source.what, first_bytes(bytes));
  if (is_bare_message(bytes))
    load_error(source.place(),
               "this looks like a bare protobuf message: a binary graph needs Whorl's container, "
               "which save_graph writes; the file begins with {}",
               first_bytes(bytes));
  if (bytes.starts_with("\xef\xbb\xbf")) source.bytes.erase(0, 3);
  TextScan(source, lines).run();
  return Form::text;
}

}  // namespace whorl::graphs
