#include "data/mat.hpp"

#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>

#include "data/convert.hpp"
#include "data/name_list.hpp"
#include "data/unpacked_file.hpp"
#include "engine/attributes.hpp"
#include "engine/error.hpp"
#include "engine/file.hpp"
#include "engine/text.hpp"

namespace whorl {

static_assert(std::endian::native == std::endian::little);

namespace {

// `place` is the file, or the file and the variable, or the cell, too.
template <class... Args>
[[noreturn]] void refuse(const std::string& place, fmt::format_string<Args...> format,
                         Args&&... args) {
  fail(ErrorKind::data, "mat", "{}: {}", place, fmt::format(format, std::forward<Args>(args)...));
}

// Types of elements, by the numbers that MATLAB gives them.
constexpr std::uint32_t int8_element = 1, int32_element = 5, uint32_element = 6, array_element = 14,
                        compressed_element = 15;

// Classes of arrays, by the same. 6 to 15 are numbers.
constexpr std::array<std::string_view, 18> classes{
    "unknown", "cell",  "struct", "object", "char",   "sparse", "double", "single",   "int8",
    "uint8",   "int16", "uint16", "int32",  "uint32", "int64",  "uint64", "function", "object"};
constexpr std::uint8_t cell_class = 1, first_number_class = 6, last_number_class = 15,
                       opaque_class = 17;

// A variable that nobody asks for may have more dimensions than a Shape.
constexpr std::int64_t tag_bytes = 8, most_axes = Shape::max_rank, most_axes_unasked = 256,
                       most_name_bytes = 63;
// More than the flags, the dimensions and the name of an array can take.
constexpr std::int64_t header_bytes = 2048;

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

struct Tag {
  explicit Tag(std::string_view bytes) : type(word_at(bytes, 0)), size(word_at(bytes, 4)) {}

  std::uint32_t type;
  std::int64_t size;
};

struct Element {
  std::uint32_t type = 0;
  std::string_view bytes;
};

// Takes the first element, `what`, off `bytes`; it may have `most` bytes.
Element take(const std::string& place, std::string_view& bytes, std::string_view what,
             std::int64_t most) {
  if (std::ssize(bytes) < tag_bytes) refuse(place, "the array ends before {}", what);
  Tag tag(bytes);
  std::int64_t begin = tag_bytes;
  // Up to 4 bytes may stand in the tag itself; the upper half of its type is then their number.
  if (tag.type >> 16 != 0) {
    tag.size = tag.type >> 16;
    tag.type &= 0xffff;
    begin = 4;
    most = std::min<std::int64_t>(most, 4);
  }
  if (tag.size > most)
    refuse(place, "{} has {} bytes, more than the limit of {}", what, tag.size, most);
  if (tag.size > std::ssize(bytes) - begin)
    refuse(place, "{} has {} bytes, but the array ends after {}", what, tag.size,
           std::ssize(bytes) - begin);
  const Element element{
      tag.type, bytes.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(tag.size))};
  // The next one begins at a multiple of 8 bytes.
  const auto end = static_cast<std::size_t>((begin + tag.size + 7) / 8 * 8);
  bytes.remove_prefix(std::min(end, bytes.size()));
  return element;
}

struct Array {
  std::uint8_t kind = 0;  // its class
  bool complex = false;
  std::vector<std::int64_t> dims;
  std::string name;
  std::string_view content;  // the elements behind the header
};

// `bytes` are those of an array, or the first header_bytes of them.
Array parse_array(const std::string& place, std::string_view bytes, std::int64_t axes = most_axes) {
  Array array;
  const Element flags = take(place, bytes, "the list of flags", 8);
  if (flags.type != uint32_element || flags.bytes.size() != 8)
    refuse(place, "the array begins with {} bytes of type {}; expected 8 bytes of flags, type {}",
           flags.bytes.size(), flags.type, uint32_element);
  array.kind = static_cast<std::uint8_t>(flags.bytes[0]);
  array.complex = (flags.bytes[1] & 0x08) != 0;
  if (array.kind != opaque_class) {  // has no dimensions
    const Element dims = take(place, bytes, "the list of dimensions", axes * 4);
    if (dims.type != int32_element || dims.bytes.size() % 4 != 0 || dims.bytes.size() < 8)
      refuse(place, "the dimensions are {} bytes of type {}; expected 8 or more of type {}",
             dims.bytes.size(), dims.type, int32_element);
    for (std::size_t at = 0; at < dims.bytes.size(); at += 4) {
      array.dims.push_back(std::bit_cast<std::int32_t>(word_at(dims.bytes, at)));
      if (array.dims.back() < 0) refuse(place, "the dimension {} is negative", array.dims.back());
    }
  }
  const Element name = take(place, bytes, "the name", most_name_bytes);
  if (name.type != int8_element)
    refuse(place, "the name is of type {}; expected {}", name.type, int8_element);
  array.name = name.bytes;
  array.content = bytes;
  return array;
}

// The bytes of an array in the file, without its tag, where they are plain or compressed. What is
// not asked for is not unpacked, and of what is packed a block is in memory.
class ArrayReader {
 public:
  // `tag` is the element's, and its content is next in the file.
  ArrayReader(const std::string& place, InputFile& file, const Tag& tag)
      : file_(file), left_(tag.size), size_(tag.size) {
    if (tag.type != compressed_element) return;
    stream_.reset(new z_stream{});
    if (::inflateInit(stream_.get()) != Z_OK) no_memory(place);
    std::string packed_tag(tag_bytes, '\0');
    unpack(place, packed_tag.data(), tag_bytes);
    const Tag array(packed_tag);
    if (array.type != array_element)
      refuse(place, "the compressed element is of type {}; expected an array, type {}", array.type,
             array_element);
    size_ = array.size;
    if (const std::int64_t can_be = most_from_one_byte * tag.size; size_ > can_be)
      refuse(place, "the compressed array declares {} bytes, but its {} cannot hold more than {}",
             size_, tag.size, can_be);
  }

  std::int64_t size() const { return size_; }

  // `bytes` are the first of the array, those read so far, and become the first `n`, or all.
  void extend(const std::string& place, std::string& bytes, std::int64_t n) {
    const std::int64_t old = std::ssize(bytes), more = std::min(n, size_) - old;
    if (more == 0) return;
    bytes.resize(static_cast<std::size_t>(old + more));
    if (stream_ == nullptr) return read_file(bytes.data() + old, more);
    unpack(place, bytes.data() + old, more);
    if (std::ssize(bytes) == size_) check_end(place);
  }

  // To the end of the element, whatever is in it.
  void skip() {
    while (left_ > 0) fill();
  }

 private:
  struct End {
    void operator()(z_stream* stream) const {
      ::inflateEnd(stream);
      delete stream;
    }
  };

  [[noreturn]] static void no_memory(const std::string& place) {
    fail(ErrorKind::memory, "mat", "{}: there is no memory to unpack the file", place);
  }

  void read_file(char* memory, std::int64_t n) {
    file_.read(memory, n);
    left_ -= n;
    // What somebody writes meanwhile is not a damaged file.
    file_.check_unchanged();
  }

  void fill() {
    buffer_.resize(static_cast<std::size_t>(std::min<std::int64_t>(left_, 1 << 16)));
    read_file(buffer_.data(), std::ssize(buffer_));
  }

  // Returns how many of n bytes there are.
  std::int64_t inflate(const std::string& place, char* memory, std::int64_t n) {
    stream_->next_out = reinterpret_cast<Bytef*>(memory);
    stream_->avail_out = static_cast<uInt>(n);
    do {
      if (stream_->avail_in == 0) {
        fill();
        stream_->next_in = reinterpret_cast<Bytef*>(buffer_.data());
        stream_->avail_in = static_cast<uInt>(buffer_.size());
      }
      const int code = ::inflate(stream_.get(), Z_NO_FLUSH);
      ended_ = code == Z_STREAM_END;
      if (code == Z_MEM_ERROR) no_memory(place);
      // Z_BUF_ERROR is the want of more packed bytes.
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        refuse(place, "the compressed data are damaged: {}",
               stream_->msg != nullptr ? stream_->msg : "unknown reason");
    } while (!ended_ && stream_->avail_out != 0 && stream_->avail_in + left_ != 0);
    return n - stream_->avail_out;
  }

  void unpack(const std::string& place, char* memory, std::int64_t n) {
    if (inflate(place, memory, n) < n) refuse(place, "the compressed data end early");
  }

  // To see the end, the checksum is read and compared.
  void check_end(const std::string& place) {
    char more = 0;
    if (inflate(place, &more, 1) != 0)
      refuse(place, "the compressed array declares {} bytes, but more are packed", size_);
    if (!ended_) refuse(place, "the compressed data end early");
    if (const std::int64_t behind = stream_->avail_in + left_; behind != 0)
      refuse(place, "{} bytes follow the end of the compressed data", behind);
  }

  InputFile& file_;
  std::int64_t left_;  // bytes of the element that are still in the file
  std::int64_t size_;  // of the array
  std::vector<char> buffer_;
  std::unique_ptr<z_stream, End> stream_;  // none for a plain array
  bool ended_ = false;
};

void read_header(const std::string& path, InputFile& file) {
  constexpr std::int64_t size = 128;
  if (file.size() == 0) refuse(path, "the file is empty");
  std::string header(static_cast<std::size_t>(std::min(size, file.size())), '\0');
  file.read(header.data(), std::ssize(header));
  const std::string_view end =
      std::string_view(header).substr(std::min<std::size_t>(header.size(), 124));
  if (header.starts_with("\x89HDF") || end == std::string_view("\0\2IM", 4))
    refuse(path, "a file of MATLAB 7.3, which is HDF5; save with -v7");
  // What Octave saves without an option, and with -binary.
  if (header.starts_with("# Created by Octave"))
    refuse(path, "a text file of Octave; save with -v7");
  if (header.starts_with("Octave-1-")) refuse(path, "a binary file of Octave; save with -v7");
  if (std::ssize(header) < size)
    refuse(path, "the file has {} bytes, too few for a header of {}", header.size(), size);
  if (end.ends_with("MI"))
    refuse(path,
           "the file is big endian; load it in MATLAB or Octave on a machine of today and "
           "save with -v7");
  if (end != std::string_view("\0\1IM", 4))
    refuse(path, "not a MAT file of version 5: bytes 125 to 128 are {:02x}; expected 00 01 49 4d",
           fmt::join(std::vector<unsigned char>(end.begin(), end.end()), " "));
}

// Calls f(name, place, whole) for every variable in a file. `place` is that of the element;
// whole(place) is its bytes, at most once, and what is wrong with them is said of the place given.
template <class F>
void for_each_variable(const std::string& path, F&& f) {
  InputFile file("mat", path);
  read_header(path, file);
  bool found = false;
  while (file.position() < file.size()) {
    const std::int64_t begin = file.position();
    const std::string place = fmt::format("{}: the element at byte {}", path, begin);
    if (file.size() - begin < tag_bytes)
      refuse(place, "{} bytes are left, too few for a tag", file.size() - begin);
    std::string bytes(tag_bytes, '\0');
    file.read(bytes.data(), tag_bytes);
    const Tag tag(bytes);
    if (tag.type != array_element && tag.type != compressed_element)
      refuse(place, "type {} is neither an array, {}, nor a compressed one, {}", tag.type,
             array_element, compressed_element);
    if (tag.size > file.size() - file.position())
      refuse(place, "it has {} bytes, but the file ends after {}: it is cut off", tag.size,
             file.size() - file.position());
    ArrayReader reader(place, file, tag);
    bytes.clear();
    reader.extend(place, bytes, header_bytes);
    // MATLAB's notes on objects are an array without a name.
    if (const std::string name = parse_array(place, bytes, most_axes_unasked).name; !name.empty()) {
      found = true;
      f(name, place, [&](const std::string& variable) {
        if (reader.size() > mat_limit)
          refuse(variable, "the array has {} bytes, but a variable cannot hold more than {}",
                 reader.size(), mat_limit);
        reader.extend(variable, bytes, reader.size());
        return std::move(bytes);
      });
    }
    reader.skip();
  }
  if (!found) refuse(path, "the file has no variables");
}

// Calls f with a value of the C++ type of stored numbers; returns false where they are none.
template <class F>
bool with_stored_type(std::uint32_t type, F&& f) {
  switch (type) {
    case 1:
      return f(std::int8_t{}), true;
    case 2:
      return f(std::uint8_t{}), true;
    case 3:
      return f(std::int16_t{}), true;
    case 4:
      return f(std::uint16_t{}), true;
    case 5:
      return f(std::int32_t{}), true;
    case 6:
      return f(std::uint32_t{}), true;
    case 7:
      return f(float{}), true;
    case 9:
      return f(double{}), true;
    case 12:
      return f(std::int64_t{}), true;
    case 13:
      return f(std::uint64_t{}), true;
    default:
      return false;
  }
}

// The numbers of an array as they are stored, in column-major order.
struct Numbers {
  std::int64_t rows = 0, columns = 0;
  Element stored;
};

// From column-major order to ours.
template <class From, class To>
void convert(const std::string& place, const Numbers& numbers, To* to) {
  for (std::int64_t row = 0; row < numbers.rows; ++row)
    for (std::int64_t column = 0; column < numbers.columns; ++column) {
      From value;
      const auto at = static_cast<std::size_t>(column * numbers.rows + row) * sizeof value;
      std::memcpy(&value, numbers.stored.bytes.data() + at, sizeof value);
      if constexpr (!always_fits<From, To>)
        if (const auto why = obstacle<To>(static_cast<double>(value)); !why.empty())
          refuse(place, "element ({},{}): {} is {} for {}", row + 1, column + 1, value, why,
                 taker(dtype_of<To>, ""));
      *to++ = static_cast<To>(value);
    }
}

Numbers numbers_of(const std::string& place, Array array) {
  if (array.kind < first_number_class || array.kind > last_number_class)
    refuse(place, "the class is {}; expected a dense array of real numbers",
           array.kind < classes.size() ? classes[array.kind] : classes[0]);
  if (array.complex) refuse(place, "the numbers are complex; expected real ones");
  if (array.dims.size() != 2)
    refuse(place, "the array is {}; expected frames x columns", fmt::join(array.dims, " x "));
  const Numbers numbers{array.dims[0], array.dims[1],
                        take(place, array.content, "the list of numbers", mat_limit)};
  if (!array.content.empty())
    refuse(place, "{} bytes follow the numbers of the array", array.content.size());
  const auto bytes = std::ssize(numbers.stored.bytes);
  const bool known = with_stored_type(numbers.stored.type, [&]<class From>(From) {
    // Both dimensions are below 2^31: only their product with the size could overflow.
    constexpr std::int64_t size = sizeof(From);
    if (bytes % size != 0 || bytes / size != numbers.rows * numbers.columns)
      refuse(place, "the array is {} x {}, but its numbers of {} bytes each have {} bytes",
             numbers.rows, numbers.columns, size, bytes);
  });
  if (!known)
    refuse(place, "the numbers are stored as type {}, which is not known", numbers.stored.type);
  return numbers;
}

std::string cell_place(const std::string& place, std::size_t index) {
  return fmt::format("{}: cell {}", place, index + 1);
}

std::vector<Numbers> cells_of(const std::string& place, Array cells) {
  std::int64_t count = 1;
  bool overflow = false;
  for (std::int64_t dim : cells.dims) overflow |= __builtin_mul_overflow(count, dim, &count);
  if (overflow || count > mat_cell_limit)
    refuse(place, "the cell array is {}, more cells than the limit of {}",
           fmt::join(cells.dims, " x "), mat_cell_limit);
  std::vector<Numbers> result;
  while (std::ssize(result) < count) {
    const std::string cell = cell_place(place, result.size());
    const Element element = take(cell, cells.content, "the cell", mat_limit);
    if (element.type != array_element)
      refuse(cell, "it is of type {}; expected an array, type {}", element.type, array_element);
    // That is how MATLAB writes [].
    result.push_back(element.bytes.empty() ? Numbers{}
                                           : numbers_of(cell, parse_array(cell, element.bytes)));
  }
  if (!cells.content.empty())
    refuse(place, "{} bytes follow the last cell, {}", cells.content.size(), count);
  return result;
}

// All is known of all cells before the first is converted: they go where they stay.
MatCells converted(const std::string& place, const Array& array, DType as) {
  const bool has_cells = array.kind == cell_class;
  const std::vector<Numbers> cells =
      has_cells ? cells_of(place, array) : std::vector{numbers_of(place, array)};
  MatCells result;
  std::int64_t total = 0;
  for (const Numbers& cell : cells) {
    result.shapes.push_back({cell.rows, cell.columns});
    total += cell.rows * cell.columns;
  }
  // A byte of the file may become 8.
  const std::int64_t bytes = total * static_cast<std::int64_t>(size_of(as));
  if (bytes > mat_limit)
    refuse(place, "its {} numbers take {} bytes as {}, more than the limit of {}", total, bytes,
           name(as), mat_limit);
  result.numbers = Tensor({as, {total}});
  dispatch(as, [&]<class To>(To) {
    To* to = result.numbers.data<To>();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string cell = has_cells ? cell_place(place, i) : place;
      with_stored_type(cells[i].stored.type,
                       [&]<class From>(From) { convert<From>(cell, cells[i], to); });
      to += result.shapes[i].elements();
    }
  });
  return result;
}

}  // namespace

std::vector<std::string> mat_variables(const std::string& path) {
  std::vector<std::string> names;
  for_each_variable(path, [&](const std::string& name, auto&&...) { names.push_back(name); });
  return names;
}

MatCells load_mat_cells(const std::string& path, std::string_view variable, DType as) {
  std::optional<MatCells> cells;
  std::vector<std::string> names;
  for_each_variable(path, [&](const std::string& name, const std::string& element, auto&& whole) {
    names.push_back(name);
    if (name != variable) return;
    const std::string place = fmt::format("{}: variable '{}'", path, printable(name));
    if (cells) refuse(place, "the file has two of this name");
    const std::string bytes = whole(place);
    cells = converted(place, parse_array(element, bytes), as);
  });
  if (cells) return std::move(*cells);
  const std::string near = did_you_mean(variable, {names.begin(), names.end()});
  refuse(path, "there is no variable '{}'{}", printable(variable),
         near.empty() ? "; the file has: " + list_of(names) : printable(near));
}

}  // namespace whorl
