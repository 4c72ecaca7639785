#include "data/labels.hpp"

#include <fmt/ranges.h>

#include <cstring>
#include <map>
#include <set>

#include "engine/error.hpp"

namespace whorl {

namespace {

std::span<const std::int32_t> labels_of(const Dataset::Array& array) {
  const Type& type = array.tensor.type();
  if (type.dtype != DType::i32 || type.shape.rank() != 1)
    fail(ErrorKind::usage, "labels", "input '{}' is {}; labels are i32[N]", array.name,
         to_string(type));
  return array.tensor.values<std::int32_t>();
}

// What each kept label becomes.
std::map<std::int64_t, std::int32_t> numbering(std::span<const std::int64_t> kept) {
  if (kept.empty())
    fail(ErrorKind::usage, "labels", "no labels are given, so no row would be left");
  std::map<std::int64_t, std::int32_t> numbers;
  for (std::int64_t label : kept)
    if (!numbers.emplace(label, static_cast<std::int32_t>(numbers.size())).second)
      fail(ErrorKind::usage, "labels", "label {} is listed twice", label);
  return numbers;
}

Tensor rows_of(const Tensor& tensor, const std::vector<std::int64_t>& rows) {
  const Shape row = tensor.shape().without_front();
  Tensor result({tensor.dtype(), row.with_front(std::ssize(rows))});
  const auto bytes = static_cast<std::size_t>(Type{tensor.dtype(), row}.bytes());
  const auto* from = static_cast<const std::byte*>(tensor.raw());
  auto* to = static_cast<std::byte*>(result.raw());
  for (std::int64_t number : rows) {
    std::memcpy(to, from + static_cast<std::size_t>(number) * bytes, bytes);
    to += bytes;
  }
  return result;
}

}  // namespace

Dataset keep_labels(const Dataset& dataset, std::string_view input,
                    std::span<const std::int64_t> kept) {
  const Dataset::Array& array = dataset.array(input);
  const std::span<const std::int32_t> labels = labels_of(array);
  const std::map<std::int64_t, std::int32_t> numbers = numbering(kept);
  std::vector<std::int64_t> rows;
  std::set<std::int64_t> found;
  for (std::size_t row = 0; row < labels.size(); ++row)
    if (numbers.contains(labels[row])) {
      rows.push_back(static_cast<std::int64_t>(row));
      found.insert(labels[row]);
    }
  for (std::int64_t label : kept)
    if (!found.contains(label))
      fail(ErrorKind::data, "labels", "{}: input '{}' has no row with label {}", array.origin,
           array.name, label);

  Dataset result;
  for (const Dataset::Array& whole : dataset.arrays())
    result.add({whole.name, rows_of(whole.tensor, rows), whole.origin, whole.columns});
  for (std::int32_t& label : result[input].values<std::int32_t>()) label = numbers.at(label);
  return result;
}

std::vector<std::string> check_labels(const Dataset& dataset, std::string_view input,
                                      std::int64_t classes) {
  if (classes < 1)
    fail(ErrorKind::usage, "labels", "the number of classes is {}; expected 1 or more", classes);
  const Dataset::Array& array = dataset.array(input);
  const std::span<const std::int32_t> labels = labels_of(array);
  std::set<std::int64_t> found;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] < 0 || labels[row] >= classes)
      fail(ErrorKind::data, "labels", "{}: row {}: label {} of input '{}' is not in 0..{}",
           array.origin, row, labels[row], array.name, classes - 1);
    found.insert(labels[row]);
  }

  const std::int64_t absent = classes - std::ssize(found);
  if (absent == 0) return {};
  constexpr std::int64_t shown = 10;
  std::vector<std::int64_t> listed;
  for (std::int64_t label = 0; label < classes && std::ssize(listed) < shown; ++label)
    if (!found.contains(label)) listed.push_back(label);
  return {fmt::format("{}: input '{}' has no row with label {}{}", array.origin, array.name,
                      fmt::join(listed, ", "),
                      absent > shown ? fmt::format(" and {} more", absent - shown) : "")};
}

}  // namespace whorl
