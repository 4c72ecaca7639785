#include "data/split.hpp"

#include <cstring>

#include "engine/error.hpp"

namespace whorl {

namespace {

// A copy, and not a view as the rows before them: they may begin anywhere, but kernels want storage
// that begins on a boundary.
Tensor last_rows(const Tensor& tensor, std::int64_t rows) {
  Tensor last({tensor.dtype(), tensor.shape().without_front().with_front(rows)});
  const auto* whole = static_cast<const std::byte*>(tensor.raw());
  std::memcpy(last.raw(), whole + (tensor.bytes() - last.bytes()),
              static_cast<std::size_t>(last.bytes()));
  return last;
}

}  // namespace

std::pair<Dataset, Dataset> split_last(const Dataset& dataset, std::int64_t rows) {
  if (rows < 1)
    fail(ErrorKind::usage, "split", "the number of rows to set aside is {}; expected 1 or more",
         rows);
  const std::int64_t left = dataset.rows() - rows;
  if (left < 1)
    fail(ErrorKind::usage, "split",
         "{} rows cannot be set aside: the data have {}, and none would "
         "be left",
         rows, dataset.rows());
  std::pair<Dataset, Dataset> parts;
  for (const auto& [name, tensor, origin, columns] : dataset.arrays()) {
    const Shape row = tensor.shape().without_front();
    parts.first.add({name, tensor.view(row.with_front(left)), origin, columns});
    parts.second.add({name, last_rows(tensor, rows), origin, columns});
  }
  return parts;
}

}  // namespace whorl
