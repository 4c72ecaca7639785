#include "graphs/file/decode.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/graph.hpp"
#include "graphs/file/external.hpp"
#include "graphs/file/sizes.hpp"
#include "graphs/graph.pb.h"

namespace whorl::graphs {

static_assert(std::endian::native == std::endian::little, "raw elements are little endian");

namespace {

// One number as an element of type T; false when T cannot hold it.
template <class T>
bool store(double number, T& element) {
  if constexpr (std::is_same_v<T, std::int32_t>) {
    if (!(number == std::floor(number) && number >= -2147483648.0 && number <= 2147483647.0))
      return false;
    element = static_cast<T>(number);
  } else if constexpr (std::is_same_v<T, float>) {
    // The narrowing cast of a finite number beyond float's range is undefined: compare first.
    constexpr double beyond = 0x1.ffffffp127;  // from here on, rounding gives infinity
    if (std::isfinite(number) && std::abs(number) >= beyond) return false;
    element = static_cast<float>(number);
  } else {
    element = static_cast<T>(number);
  }
  return true;
}

template <class List>
void check_count(const char* what, const List& list, const Type& type) {
  if (list.size() != type.elements())
    graph_error("tensor", "{} has {} elements, but {} {} given", to_string(type), type.elements(),
                list.size(), what);
}

void take_values(const file::Tensor& message, Tensor& tensor) {
  if (tensor.dtype() == DType::boolean)
    graph_error("tensor", "a bool tensor takes 'bools' or 'raw', not 'values'");
  dispatch(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* elements = tensor.data<T>();
    for (int i = 0; i < message.values_size(); ++i)
      if (!store(message.values(i), elements[i]))
        graph_error("tensor", "value {} of element {} is not an {}", message.values(i), i,
                    name(tensor.dtype()));
  });
}

void take_raw(std::string_view what, std::string_view raw, Tensor& tensor) {
  if (static_cast<std::int64_t>(raw.size()) != tensor.bytes())
    graph_error("tensor", "{} needs {} bytes, but {} has {}", to_string(tensor.type()),
                tensor.bytes(), what, raw.size());
  if (tensor.dtype() == DType::boolean)
    for (std::size_t i = 0; i < raw.size(); ++i)
      if (static_cast<unsigned char>(raw[i]) > 1)
        graph_error("tensor", "byte {} of {} is {}; a bool is 0 or 1", i, what,
                    static_cast<unsigned char>(raw[i]));
  if (!raw.empty()) std::memcpy(tensor.raw(), raw.data(), raw.size());
}

void check_alternatives(std::string_view what, const std::vector<std::string_view>& given) {
  if (given.size() > 1)
    graph_error("file", "{} has more than one value: {}", what, fmt::join(given, " and "));
}

AttrValue decode_value(const file::Attribute& message, const AttrSpec* spec, Source& source) {
  std::vector<std::string_view> given;
  if (message.has_i()) given.push_back("i");
  if (message.has_f()) given.push_back("f");
  if (message.has_bits()) given.push_back("bits");
  if (message.has_b()) given.push_back("b");
  if (message.has_s()) given.push_back("s");
  if (message.ints_size() > 0) given.push_back("ints");
  if (message.sizes_size() > 0) given.push_back("sizes");
  if (message.has_dtype()) given.push_back("dtype");
  if (message.has_tensor()) given.push_back("tensor");
  check_alternatives(fmt::format("attribute '{}'", message.name()), given);
  if (given.empty() && spec != nullptr && spec->kind != AttrKind::integers)
    graph_error("file", "attribute '{}' has no value: expected {}", message.name(),
                name(spec->kind));
  if (message.has_i()) return message.i();
  if (message.has_f()) return message.f();
  if (message.has_bits()) return std::bit_cast<double>(message.bits());
  if (message.has_b()) return message.b();
  if (message.has_s()) return message.s();
  if (message.has_dtype()) return parse_dtype(message.dtype(), source);
  if (message.has_tensor()) return decode_tensor(message.tensor(), source);
  const std::int64_t count = std::max(message.ints_size(), message.sizes_size());
  if (count > source.limits.list)
    graph_error("file", "attribute '{}' has {} numbers, more than the limit of {}", message.name(),
                count, source.limits.list);
  std::vector<std::int64_t> list(message.ints().begin(), message.ints().end());
  for (const std::string& size : message.sizes())
    list.push_back(parse_size(fmt::format("attribute '{}'", message.name()), size, source));
  if (spec != nullptr && spec->kind == AttrKind::integer && message.sizes_size() == 1)
    return list[0];
  return list;
}

}  // namespace

DType parse_dtype(std::string_view text, const Source& source) {
  if (const auto dtype = dtype_from_name(text))
    return is_float(*dtype) ? source.floating.value_or(*dtype) : *dtype;
  std::vector<std::string_view> known;
  for (int d = 0; d < dtype_count; ++d) known.push_back(name(static_cast<DType>(d)));
  graph_error("type", "unknown dtype '{}'; expected one of: {}", shown(text),
              fmt::join(known, ", "));
}

Type parse_type(std::string_view text, const Source& source) {
  const TypeText type = split_type(text, source.limits);
  const DType dtype = parse_dtype(type.dtype, source);
  const std::string whole = fmt::format("type '{}'", shown(text));
  std::vector<std::int64_t> dims;
  for (std::string_view dimension : type.dimensions)
    dims.push_back(parse_size(whole, dimension, source));
  try {
    return {dtype, Shape(std::span<const std::int64_t>(dims))};
  } catch (const Error& error) {
    graph_error("type", "{}: {}", whole, bare_text(error));
  }
}

Tensor decode_tensor(const file::Tensor& message, Source& source) {
  if (!message.has_type()) graph_error("tensor", "the tensor has no type");
  const Type type = parse_type(message.type(), source);
  std::vector<std::string_view> given;
  if (message.values_size() > 0) given.push_back("values");
  if (message.bools_size() > 0) given.push_back("bools");
  if (message.has_raw()) given.push_back("raw");
  if (message.has_external()) given.push_back("external");
  check_alternatives("the tensor", given);
  if (type.bytes() > source.limits.constant_bytes - source.constant_bytes)
    graph_error("tensor", "{} would need {} bytes, more than the {} left for constants",
                to_string(type), type.bytes(),
                source.limits.constant_bytes - source.constant_bytes);
  source.constant_bytes += type.bytes();

  // Nothing is allocated before the bytes are there.
  if (message.has_external()) {
    const std::string raw = read_external(message.external(), type.bytes(), source);
    Tensor tensor(type);
    take_raw("the external file", raw, tensor);
    return tensor;
  }
  if (message.has_raw()) {
    if (static_cast<std::int64_t>(message.raw().size()) != type.bytes())
      graph_error("tensor", "{} needs {} bytes, but 'raw' has {}", to_string(type), type.bytes(),
                  message.raw().size());
    Tensor tensor(type);
    take_raw("'raw'", message.raw(), tensor);
    return tensor;
  }
  if (message.bools_size() > 0 && type.dtype != DType::boolean)
    graph_error("tensor", "a tensor of {} takes 'values' or 'raw', not 'bools'", name(type.dtype));
  if (message.bools_size() > 0) {
    check_count("bools are", message.bools(), type);
    Tensor tensor(type);
    std::copy(message.bools().begin(), message.bools().end(), tensor.data<bool>());
    return tensor;
  }
  check_count(message.values_size() == 1 ? "value is" : "values are", message.values(), type);
  Tensor tensor(type);
  if (message.values_size() > 0) take_values(message, tensor);
  return tensor;
}

Attributes decode_attributes(const file::Node& node, const OpDef& op, Source& source) {
  const AttrTable* table = op.attrs();
  // What builders give to an op without fields.
  if (table->specs.empty() && node.attr_size() == 0) return {};
  AttrList list;
  for (const file::Attribute& message : node.attr()) {
    const AttrSpec* spec = nullptr;
    for (const AttrSpec& known : table->specs)
      if (known.name == message.name()) spec = &known;
    list.emplace_back(message.name(), decode_value(message, spec, source));
  }
  return make_attributes(op.name, table, list);
}

bool is_placeholder(std::string_view name) {
  return name.size() > 1 && name[0] == '_' &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

void check_file_name(std::string_view name, const LoadLimits& limits) {
  check_name("name", name);
  if (static_cast<std::int64_t>(name.size()) > limits.name_bytes)
    graph_error("name", "a name has {} characters, more than the limit of {}: '{}...'", name.size(),
                limits.name_bytes, name.substr(0, 40));
  if (name[0] == '_' && !is_placeholder(name))
    graph_error("name", "name '{}' begins with '_', which is reserved for nodes without a name",
                name);
}

}  // namespace whorl::graphs
