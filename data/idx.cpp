#include "data/idx.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "data/convert.hpp"
#include "data/unpacked_file.hpp"
#include "engine/error.hpp"

namespace whorl {

namespace {

template <class... Args>
[[noreturn]] void refuse(const std::string& path, fmt::format_string<Args...> format,
                         Args&&... args) {
  fail(ErrorKind::data, "idx", "{}: {}", path, fmt::format(format, std::forward<Args>(args)...));
}

// How an element is stored in a file, and what it becomes.
struct Element {
  unsigned char code;
  std::string_view name;
  std::int64_t size;
  DType dtype;
};
constexpr std::array<Element, 6> elements{{{0x08, "u8", 1, DType::i32},
                                           {0x09, "i8", 1, DType::i32},
                                           {0x0b, "i16", 2, DType::i32},
                                           {0x0c, "i32", 4, DType::i32},
                                           {0x0d, "f32", 4, DType::f32},
                                           {0x0e, "f64", 8, DType::f64}}};

const Element* element_of(unsigned char code) {
  const auto found = std::find_if(elements.begin(), elements.end(),
                                  [&](const Element& element) { return element.code == code; });
  return found == elements.end() ? nullptr : &*found;
}

// Calls f with a value of the C++ type that a file's elements have.
template <class F>
void with_stored_type(const Element& element, F&& f) {
  switch (element.code) {
    case 0x08:
      return f(std::uint8_t{});
    case 0x09:
      return f(std::int8_t{});
    case 0x0b:
      return f(std::int16_t{});
    case 0x0c:
      return f(std::int32_t{});
    case 0x0d:
      return f(float{});
    default:
      return f(double{});
  }
}

template <class T>
T load_element(const unsigned char* bytes) {
  using Bits = std::conditional_t<
      sizeof(T) == 8, std::uint64_t,
      std::conditional_t<sizeof(T) == 4, std::uint32_t,
                         std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;
  Bits bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bits = static_cast<Bits>(std::uint64_t{bits} << 8 | bytes[i]);
  return std::bit_cast<T>(bits);
}

struct Header {
  Element element;
  Shape shape;
  std::int64_t size;  // of the header itself

  std::int64_t declared() const { return shape.elements() * element.size; }
  std::string text() const {
    return fmt::format("the shape ({}) of {} needs {} bytes", fmt::join(shape, ", "), element.name,
                       declared());
  }
};

// 00 00 TYPE AXES, as somebody writes it who takes it for a number and stores that little endian.
bool is_swapped(std::string_view magic) {
  const auto axes = static_cast<unsigned char>(magic[0]);
  const auto type = static_cast<unsigned char>(magic[1]);
  return axes >= 1 && axes <= Shape::max_rank && element_of(type) != nullptr && magic[2] == 0 &&
         magic[3] == 0;
}

bool is_gzip(std::string_view start) { return start.starts_with("\x1f\x8b"); }

void check_magic(const std::string& path, const UnpackedFile& file,
                 const std::array<unsigned char, 4>& bytes) {
  const std::string_view magic(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (is_gzip(magic)) refuse(path, "the file is compressed twice; unpack it once with gunzip");
  if (is_swapped(magic))
    refuse(path,
           "the header is little endian: it begins with {:02x}; in an IDX file all numbers are big "
           "endian, so write it again with the bytes of each number swapped",
           fmt::join(bytes, " "));
  if (magic[0] != 0 || magic[1] != 0)
    refuse(path, "not an IDX file: {} begins with {:02x}",
           file.packed() ? "what is packed in it" : "it", fmt::join(bytes, " "));
}

// A hint where the axes would give just the size of the file if their bytes were swapped, else "".
std::string swapped_hint(const UnpackedFile& file, const Element& element,
                         std::span<const std::int64_t> dims) {
  const auto header = 4 + 4 * std::ssize(dims);
  std::vector<std::int64_t> swapped;
  std::int64_t bytes = element.size;
  for (std::int64_t dim : dims) {
    swapped.push_back(__builtin_bswap32(static_cast<std::uint32_t>(dim)));
    if (__builtin_mul_overflow(bytes, swapped.back(), &bytes)) return "";
  }
  if (file.packed() || bytes != file.file_size() - header) return "";
  return fmt::format("; little endian, the shape would be ({}), which fits: is it written so?",
                     fmt::join(swapped, ", "));
}

Shape parse_shape(const std::string& path, const UnpackedFile& file, const Element& element,
                  std::span<const std::int64_t> dims) {
  try {
    return Shape(dims);
  } catch (const Error&) {
    refuse(path, "the shape ({}) has more than the limit of 2^40 elements{}", fmt::join(dims, ", "),
           swapped_hint(file, element, dims));
  }
}

Header read_header(const std::string& path, UnpackedFile& file) {
  std::int64_t size = 0;
  const auto take = [&](unsigned char* memory, std::int64_t n) {
    const std::int64_t got = file.read(memory, n);
    size += got;
    if (got < n)
      refuse(path, "{} has {} bytes, too few for a header",
             file.packed() ? "what is packed in it" : "the file", size);
  };
  if (file.file_size() == 0) refuse(path, "the file is empty");
  std::array<unsigned char, 4> magic{};
  take(magic.data(), 4);
  check_magic(path, file, magic);
  const Element* element = element_of(magic[2]);
  if (element == nullptr)
    refuse(path,
           "element type {:02x} is not supported; supported are 08 (u8), 09 (i8), 0b (i16), 0c "
           "(i32), 0d (f32) and 0e (f64)",
           magic[2]);
  const int rank = magic[3];
  if (rank == 0) refuse(path, "the array has no axes; expected 1 to {}", Shape::max_rank);
  if (rank > Shape::max_rank)
    refuse(path, "the array has {} axes, more than the limit of {}", rank, Shape::max_rank);
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis < rank; ++axis) {
    std::array<unsigned char, 4> bytes{};
    take(bytes.data(), 4);
    dims.push_back(load_element<std::uint32_t>(bytes.data()));
  }
  return {*element, parse_shape(path, file, *element, dims), size};
}

// Before memory is asked for. The exact size of what is packed shows only when it is unpacked.
void check_size(const std::string& path, const UnpackedFile& file, const Header& header) {
  const std::int64_t declared = header.declared();
  const std::int64_t there = file.most_bytes() - header.size;
  if (file.packed() && declared > there)
    refuse(path, "{}, but the {} compressed bytes of the file cannot hold more than {}",
           header.text(), file.file_size(), there);
  if (!file.packed() && declared != there)
    refuse(path, "{}, but the file has {}: it is too {}{}", header.text(), there,
           there < declared ? "short" : "long",
           swapped_hint(file, header.element, header.shape.dims()));
}

// Converts block by block, so that the array of the stored type never exists.
template <class From, class To>
void read_elements(const std::string& path, UnpackedFile& file, const Header& header,
                   std::string_view user, std::span<To> out) {
  constexpr std::size_t block = 65536 / sizeof(From);
  std::vector<unsigned char> bytes(std::min(block, out.size()) * sizeof(From));
  for (std::size_t begin = 0; begin < out.size(); begin += block) {
    const std::size_t n = std::min(block, out.size() - begin);
    const auto wanted = static_cast<std::int64_t>(n * sizeof(From));
    if (const std::int64_t got = file.read(bytes.data(), wanted); got < wanted)
      refuse(path, "{}, but {} are packed in the file: it is too short", header.text(),
             static_cast<std::int64_t>(begin * sizeof(From)) + got);
    for (std::size_t i = 0; i < n; ++i) {
      const From value = load_element<From>(bytes.data() + i * sizeof(From));
      if constexpr (!always_fits<From, To>)
        if (const auto why = obstacle<To>(static_cast<double>(value)); !why.empty())
          refuse(path, "row {}: {} is {} for {}",
                 row_of(header.shape, static_cast<std::int64_t>(begin + i)), value, why,
                 taker(dtype_of<To>, user));
      out[begin + i] = static_cast<To>(value);
    }
  }
}

}  // namespace

Tensor load_idx(const std::string& path, std::optional<DType> as, std::string_view user) {
  UnpackedFile file("idx", path);
  const Header header = read_header(path, file);
  check_size(path, file, header);
  Tensor tensor({as.value_or(header.element.dtype), header.shape});
  with_stored_type(header.element, [&]<class From>(From) {
    dispatch(tensor.dtype(), [&]<class To>(To) {
      read_elements<From>(path, file, header, user, tensor.values<To>());
    });
  });
  if (!file.at_end())
    refuse(path, "{}, but more are packed in the file: it is too long", header.text());
  file.check_unchanged();
  return tensor;
}

Type idx_type(const std::string& path) {
  UnpackedFile file("idx", path);
  const Header header = read_header(path, file);
  return {header.element.dtype, header.shape};
}

bool looks_like_idx(std::string_view start) {
  return start.size() >= 4 &&
         ((start[0] == 0 && start[1] == 0) || is_gzip(start) || is_swapped(start));
}

}  // namespace whorl
