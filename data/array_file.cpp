#include "data/array_file.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "data/convert.hpp"
#include "data/idx.hpp"
#include "data/npy.hpp"
#include "engine/error.hpp"
#include "engine/file.hpp"

namespace whorl {

namespace {

bool is_idx(const std::string& path) {
  InputFile file("data", path);
  std::string start(static_cast<std::size_t>(std::min<std::int64_t>(file.size(), 6)), '\0');
  file.read(start.data(), static_cast<std::int64_t>(start.size()));
  if (looks_like_idx(start)) return true;
  // Of empty files and archives the reader of NPY files has more to say.
  if (std::string_view("\x93NUMPY").starts_with(start) || start.starts_with("PK")) return false;
  fail(ErrorKind::data, "data", "{}: neither an NPY nor an IDX file: it begins with {:02x}", path,
       fmt::join(std::vector<unsigned char>(start.begin(), start.end()), " "));
}

Tensor converted(const std::string& path, const Tensor& stored, DType as, std::string_view user) {
  // The same type may stay where it is, but its numbers are looked at all the same.
  Tensor result = stored.dtype() == as ? stored : Tensor({as, stored.shape()});
  dispatch(stored.dtype(), [&]<class From>(From) {
    dispatch(as, [&]<class To>(To) {
      const From* from = stored.data<From>();
      To* to = result.data<To>();
      for (std::int64_t i = 0; i < stored.elements(); ++i) {
        const auto value = static_cast<double>(from[i]);
        if (const auto why = obstacle<To>(value); !why.empty())
          fail(ErrorKind::data, "npy", "{}: row {}: {} is {} for {}", path,
               row_of(stored.shape(), i), value, why, taker(as, user));
        to[i] = static_cast<To>(value);
      }
    });
  });
  return result;
}

}  // namespace

ArrayHeader array_header(const std::string& path) {
  if (is_idx(path)) return {"idx", idx_type(path)};
  return {"npy", npy_type(path)};
}

Tensor load_array(const std::string& path, std::optional<DType> as, std::string_view user) {
  if (is_idx(path)) return load_idx(path, as, user);
  const Tensor stored = load_npy(path);
  return as ? converted(path, stored, *as, user) : stored;
}

}  // namespace whorl
