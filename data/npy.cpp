#include "data/npy.hpp"

#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "data/npy_header.hpp"
#include "engine/error.hpp"
#include "engine/file.hpp"

namespace whorl {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::string_view magic = "\x93NUMPY";

template <class... Args>
[[noreturn]] void refuse(const std::string& path, fmt::format_string<Args...> format,
                         Args&&... args) {
  fail(ErrorKind::data, "npy", "{}: {}", path, fmt::format(format, std::forward<Args>(args)...));
}

// How an element is stored in a file, and what it becomes.
struct Element {
  char kind = 'f';
  int size = 4;
  bool swapped = false;
  DType dtype = DType::f32;

  // NumPy's name of a type that has none here.
  std::string_view converted_from() const {
    if (kind == 'i' && size == 8) return "int64";
    return kind == 'u' ? "uint8" : "";
  }
};

Element parse_element(const std::string& path, const std::string& descr) {
  if (descr.find('O') != std::string::npos)
    refuse(path, "type '{}' holds Python objects, which are never loaded", descr);
  if (descr.find('V') != std::string::npos)
    refuse(path, "type '{}' is structured; save one plain array", descr);
  Element element;
  const std::string_view type = descr.empty() ? descr : std::string_view(descr).substr(1);
  if (type == "f4") {
    element = {'f', 4, false, DType::f32};
  } else if (type == "f8") {
    element = {'f', 8, false, DType::f64};
  } else if (type == "i4" || type == "i8") {
    element = {'i', type[1] - '0', false, DType::i32};
  } else if (type == "u1") {
    element = {'u', 1, false, DType::i32};
  } else if (type == "b1") {
    element = {'b', 1, false, DType::boolean};
  } else {
    refuse(path, "type '{}' is not supported; supported are f4, f8, i4, i8, u1 and b1", descr);
  }
  const char order = descr[0];
  // '|' means that order does not matter, '=' that it is the writer's own, which nobody knows.
  if (order != '<' && order != '>' && !(order == '|' && element.size == 1))
    refuse(path, "type '{}' does not say its byte order by '<' or '>'", descr);
  element.swapped = order == '>' && element.size > 1;
  return element;
}

Shape parse_shape(const std::string& path, const std::vector<std::int64_t>& dims) {
  if (dims.size() > Shape::max_rank)
    refuse(path, "the array has {} axes, more than the limit of {}", dims.size(), Shape::max_rank);
  try {
    return Shape(std::span<const std::int64_t>(dims));
  } catch (const Error&) {
    refuse(path, "the shape ({}) has more than the limit of 2^40 elements", fmt::join(dims, ", "));
  }
}

NpyHeader read_header(const std::string& path, InputFile& file) {
  std::array<unsigned char, 12> start{};
  const auto take = [&](int from, int n) {
    if (file.size() < from + n)
      refuse(path, "the file has {} bytes, too few for a header", file.size());
    file.read(start.data() + from, n);
  };
  constexpr std::string_view zip = "PK\x03\x04";
  if (file.size() == 0) refuse(path, "the file is empty");
  take(0, 8);
  if (std::memcmp(start.data(), zip.data(), zip.size()) == 0)
    refuse(path, "an NPZ or ZIP archive, not an NPY file; save one array with numpy.save");
  if (std::memcmp(start.data(), magic.data(), magic.size()) != 0)
    refuse(path, "not an NPY file: it begins with {:02x}",
           fmt::join(start.begin(), start.begin() + 6, " "));
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0)
    refuse(path, "NPY version {}.{} is not supported; supported are 1.0, 2.0 and 3.0", version,
           start[7]);
  const int length_bytes = version == 1 ? 2 : 4;
  take(8, length_bytes);
  std::int64_t length = 0;
  for (int i = length_bytes; i-- > 0;)
    length = length * 256 + start[static_cast<std::size_t>(8 + i)];
  if (length > npy_header_limit)
    refuse(path, "the header has {} bytes, more than the limit of {}", length, npy_header_limit);
  if (length > file.size() - file.position())
    refuse(path, "the header has {} bytes, but the file ends after {}", length,
           file.size() - file.position());
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(text.data(), length);
  return parse_npy_header(path, text);
}

template <std::size_t size>
using Bits = std::conditional_t<size == 8, std::uint64_t, std::uint32_t>;

template <class From>
From load_element(const unsigned char* bytes, bool swapped) {
  if constexpr (sizeof(From) == 1) {
    return static_cast<From>(*bytes);
  } else {
    Bits<sizeof(From)> bits;
    std::memcpy(&bits, bytes, sizeof bits);
    if (swapped) {
      if constexpr (sizeof(From) == 8) bits = __builtin_bswap64(bits);
      if constexpr (sizeof(From) == 4) bits = __builtin_bswap32(bits);
    }
    return std::bit_cast<From>(bits);
  }
}

// Reads in blocks, so that a conversion needs no second copy of the file.
template <class From, class To, class Convert>
void read_elements(InputFile& file, bool swapped, std::span<To> out, Convert convert) {
  constexpr std::size_t block = 65536 / sizeof(From);
  std::vector<unsigned char> bytes(std::min(block, out.size()) * sizeof(From));
  for (std::size_t begin = 0; begin < out.size(); begin += block) {
    const std::size_t n = std::min(block, out.size() - begin);
    file.read(bytes.data(), static_cast<std::int64_t>(n * sizeof(From)));
    for (std::size_t i = 0; i < n; ++i)
      out[begin + i] =
          convert(load_element<From>(bytes.data() + i * sizeof(From), swapped), begin + i);
  }
}

void read_values(const std::string& path, InputFile& file, const Element& element, Tensor& tensor) {
  const auto keep = [](auto value, std::size_t) { return value; };
  const auto fit = [&](std::int64_t value, std::size_t i) {
    if (value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max())
      refuse(path, "element {} does not fit i32: {}", i, value);
    return static_cast<std::int32_t>(value);
  };
  const auto zero_or_one = [&](unsigned char value, std::size_t i) {
    if (value > 1) refuse(path, "element {} is not a bool: byte {}", i, value);
    return value == 1;
  };
  const bool swapped = element.swapped;
  if (!swapped && (element.kind == 'f' || (element.kind == 'i' && element.size == 4))) {
    file.read(tensor.raw(), tensor.bytes());
  } else if (element.dtype == DType::f32) {
    read_elements<float>(file, swapped, tensor.values<float>(), keep);
  } else if (element.dtype == DType::f64) {
    read_elements<double>(file, swapped, tensor.values<double>(), keep);
  } else if (element.kind == 'i' && element.size == 4) {
    read_elements<std::int32_t>(file, swapped, tensor.values<std::int32_t>(), keep);
  } else if (element.kind == 'i') {
    read_elements<std::int64_t>(file, swapped, tensor.values<std::int32_t>(), fit);
  } else if (element.kind == 'u') {
    read_elements<unsigned char>(file, swapped, tensor.values<std::int32_t>(), keep);
  } else {
    read_elements<unsigned char>(file, swapped, tensor.values<bool>(), zero_or_one);
  }
}

// From Fortran order, where the first axis moves fastest, to ours, where the last one does.
Tensor from_fortran_order(const Tensor& source) {
  Tensor result(source.type());
  const Shape& shape = source.shape();
  dispatch(source.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = source.data<T>();
    T* y = result.data<T>();
    std::array<std::int64_t, Shape::max_rank> index{}, stride{};
    std::int64_t step = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      stride[static_cast<std::size_t>(axis)] = step;
      step *= shape[axis];
    }
    std::int64_t from = 0;
    for (std::int64_t to = 0; to < source.elements(); ++to) {
      y[to] = x[from];
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        const auto a = static_cast<std::size_t>(axis);
        from += stride[a];
        if (++index[a] < shape[axis]) break;
        from -= stride[a] * shape[axis];
        index[a] = 0;
      }
    }
  });
  return result;
}

std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::i32:
      return "<i4";
    case DType::boolean:
      break;
  }
  return "|b1";
}

std::string header_of(const Type& type) {
  std::string shape;
  for (std::int64_t dim : type.shape) shape += fmt::format("{}, ", dim);
  // A tuple of one keeps its comma.
  if (type.shape.rank() > 1) shape.resize(shape.size() - 2);
  if (type.shape.rank() == 1) shape.resize(shape.size() - 1);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 descr_of(type.dtype), shape);
  // NumPy's rule: the elements begin at a multiple of 64 bytes.
  constexpr std::size_t before = magic.size() + 4;
  text.resize((before + text.size() + 64) / 64 * 64 - before - 1, ' ');
  text += '\n';
  const auto length = static_cast<unsigned>(text.size());
  std::string start(magic);
  for (unsigned byte : {1u, 0u, length % 256, length / 256}) start += static_cast<char>(byte);
  return start + text;
}

}  // namespace

Tensor load_npy(const std::string& path, std::string* converted_from) {
  InputFile file("npy", path);
  const NpyHeader header = read_header(path, file);
  const Element element = parse_element(path, header.descr);
  if (converted_from != nullptr) *converted_from = element.converted_from();
  const Shape shape = parse_shape(path, header.shape);
  const std::int64_t declared = shape.elements() * element.size;
  const std::int64_t there = file.size() - file.position();
  if (declared != there)
    refuse(path, "the shape ({}) of '{}' needs {} bytes, but the file has {}: it is too {}",
           fmt::join(header.shape, ", "), header.descr, declared, there,
           there < declared ? "short" : "long");
  Tensor tensor({element.dtype, shape});
  read_values(path, file, element, tensor);
  file.check_unchanged();
  return header.fortran_order && shape.rank() > 1 ? from_fortran_order(tensor) : tensor;
}

Type npy_type(const std::string& path) {
  InputFile file("npy", path);
  const NpyHeader header = read_header(path, file);
  return {parse_element(path, header.descr).dtype, parse_shape(path, header.shape)};
}

void save_npy(const std::string& path, const Tensor& tensor) {
  const std::string header = header_of(tensor.type());
  const std::array<std::span<const std::byte>, 2> parts{
      std::as_bytes(std::span(header.data(), header.size())),
      {static_cast<const std::byte*>(tensor.raw()), static_cast<std::size_t>(tensor.bytes())}};
  write_file("npy", path, parts);
}

Tensor narrow(const std::string& path, const Tensor& tensor) {
  Tensor result({DType::f32, tensor.shape()});
  const auto wide = tensor.values<double>();
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const auto number = static_cast<float>(wide[i]);
    if (std::isfinite(wide[i]) && !std::isfinite(number))
      refuse(path, "element {} is too large for f32: {}", i, wide[i]);
    result.data<float>()[i] = number;
  }
  return result;
}

}  // namespace whorl
