#include "data/sequences.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <system_error>

#include "data/array_file.hpp"
#include "data/mat.hpp"
#include "data/name_list.hpp"
#include "engine/error.hpp"
#include "engine/file.hpp"

namespace whorl {

namespace {

constexpr std::string_view where = "sequences";
constexpr std::int64_t most_frames = std::numeric_limits<std::int32_t>::max();

// The variable's name behind FILE.mat: in `source`, with the file; nothing for other sources.
std::optional<std::pair<std::string, std::string>> mat_source(const std::string& source) {
  if (source.ends_with(".mat")) return {{source, ""}};
  constexpr std::string_view mark = ".mat:";
  const auto at = source.rfind(mark);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t file_end = at + mark.size() - 1;
  return {{source.substr(0, file_end), source.substr(file_end + 1)}};
}

// Starts of the sequences of these shapes, one more than there are. Errors call a sequence
// origin(its number).
template <class Origin>
std::vector<std::int64_t> checked_starts(const std::vector<Shape>& shapes, Origin&& origin) {
  std::vector<std::int64_t> starts{0};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Shape& shape = shapes[i];
    const auto wanted = [&] { return i == 0 ? "C" : std::to_string(shapes[0][1]); };
    if (shape.rank() == 2 && shape[0] == 0)
      fail(ErrorKind::data, where, "{}: the sequence has no frames: found {}; expected [T,{}]",
           origin(i), to_string(shape), wanted());
    if (shape.rank() != 2 || shape[1] == 0 || shape[1] != shapes[0][1])
      fail(ErrorKind::data, where, "{}: found {}; expected a sequence [T,{}]", origin(i),
           to_string(shape), wanted());
    starts.push_back(starts.back() + shape[0]);
    if (starts.back() > most_frames)
      fail(ErrorKind::data, where, "{}: the sequences have more than the limit of 2^31 - 1 frames",
           origin(i));
  }
  return starts;
}

Sequences mat_sequences(const std::string& path, const std::string& variable, DType dtype) {
  if (variable.empty()) {
    const std::vector<std::string> names = mat_variables(path);
    fail(ErrorKind::usage, where, "{}: which variable? the file has: {}; write {}:{}", path,
         list_of(names), path, printable(names[0]));
  }
  const auto [numbers, shapes] = load_mat_cells(path, variable, dtype);
  if (shapes.empty())
    fail(ErrorKind::data, where, "{}: variable '{}' has no cells", path, variable);
  std::vector<std::int64_t> starts = checked_starts(shapes, [&](std::size_t i) {
    return fmt::format("{}: variable '{}': cell {}", path, variable, i + 1);
  });
  // Cells of the same width, one after the other, are the frames already.
  return {numbers.view({starts.back(), shapes[0][1]}), std::move(starts)};
}

Sequences folder_sequences(const std::string& folder, DType dtype) {
  std::error_code fault;
  std::vector<std::string> paths;
  std::vector<Shape> shapes;
  for (const std::string& name : names_in(folder, fault))
    if (name.ends_with(".npy") && name[0] != '.') {
      paths.push_back((std::filesystem::path(folder) / name).string());
      shapes.push_back(array_shape(paths.back()));
    }
  if (fault) fail(ErrorKind::io, where, "{}: cannot read: {}", folder, fault.message());
  if (paths.empty()) fail(ErrorKind::data, where, "{}: there are no .npy files in it", folder);
  std::vector<std::int64_t> starts =
      checked_starts(shapes, [&](std::size_t i) { return paths[i]; });
  // The shapes are known before the numbers, so that only one file is in memory beside the frames.
  Tensor frames({dtype, {starts.back(), shapes[0][1]}});
  auto* place = static_cast<std::byte*>(frames.raw());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Tensor part = load_array(paths[i], dtype);
    if (part.shape() != shapes[i])
      fail(ErrorKind::io, where, "{}: the file was changed while it was read", paths[i]);
    std::memcpy(place, part.raw(), static_cast<std::size_t>(part.bytes()));
    place += part.bytes();
  }
  return {std::move(frames), std::move(starts)};
}

}  // namespace

Sequences::Sequences(Tensor frames, std::vector<std::int64_t> starts)
    : tensor_(std::move(frames)), starts_(std::move(starts)) {
  const auto refuse = [&](const std::string& what) { fail(ErrorKind::data, where, "{}", what); };
  const bool floating = tensor_.dtype() == DType::f32 || tensor_.dtype() == DType::f64;
  if (!floating || tensor_.shape().rank() != 2 || columns() < 1)
    refuse(fmt::format("the frames are {}; expected f32 or f64 [T,C]", to_string(tensor_.type())));
  const std::int64_t total = tensor_.shape()[0];
  if (total > most_frames) refuse("there are more than the limit of 2^31 - 1 frames");
  if (count() < 1) refuse("there are no sequences");
  if (starts_.front() != 0 || starts_.back() != total)
    refuse(fmt::format("the sequences are frames {} to {}; expected 0 to {}", starts_.front(),
                       starts_.back(), total));
  for (std::int64_t s = 0; s < count(); ++s)
    if (length(s) < 1) refuse(fmt::format("sequence {} has no frames", s));
  dispatch(tensor_.dtype(), [&]<class T>(T) {
    const std::span<const T> values = std::as_const(tensor_).values<T>();
    const auto bad =
        std::find_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
    if (bad != values.end())
      refuse(fmt::format("frame {} has a number that is not finite: {}",
                         (bad - values.begin()) / columns(), *bad));
  });
}

std::int64_t Sequences::longest() const {
  std::int64_t most = 0;
  for (std::int64_t s = 0; s < count(); ++s) most = std::max(most, length(s));
  return most;
}

Sequences load_sequences(const std::string& source, DType dtype) {
  if (dtype != DType::f32 && dtype != DType::f64)
    fail(ErrorKind::usage, where, "frames cannot be {}; expected f32 or f64", name(dtype));
  if (const auto mat = mat_source(source)) return mat_sequences(mat->first, mat->second, dtype);
  std::error_code none;
  if (std::filesystem::is_directory(source, none)) return folder_sequences(source, dtype);
  Tensor frames = load_array(source, dtype);
  std::vector<std::int64_t> starts =
      checked_starts({frames.shape()}, [&](std::size_t) { return source; });
  return {std::move(frames), std::move(starts)};
}

Sequences cut(const Sequences& sequences, std::int64_t window) {
  if (window < 1)
    fail(ErrorKind::usage, where, "the window is {} frames; expected 1 or more", window);
  std::vector<std::int64_t> starts;
  for (std::int64_t s = 0; s < sequences.count(); ++s)
    for (std::int64_t at = 0; at < sequences.length(s); at += window)
      starts.push_back(sequences.start(s) + at);
  starts.push_back(sequences.frames());
  return {sequences.tensor(), std::move(starts)};
}

std::vector<std::int64_t> bucket_lengths(const Sequences& sequences, std::int64_t most) {
  if (most < 1)
    fail(ErrorKind::usage, where, "the number of bucket lengths is {}; expected 1 or more", most);
  // Whole numbers only, so that every machine finds the same: the ratio is twentieths / 20.
  for (std::int64_t twentieths = 27;; twentieths = twentieths * 21 / 20) {
    std::vector<std::int64_t> ladder;  // ascending at the end
    for (std::int64_t step = sequences.longest(); step > 0; step = step * 20 / twentieths)
      if (const std::int64_t rung = (step + 7) / 8 * 8; ladder.empty() || rung < ladder.back())
        ladder.push_back(rung);
    std::reverse(ladder.begin(), ladder.end());
    std::set<std::int64_t> used;
    for (std::int64_t s = 0; s < sequences.count(); ++s)
      used.insert(ladder[bucket_of(ladder, sequences.length(s))]);
    if (std::ssize(used) <= most) return {used.begin(), used.end()};
  }
}

std::size_t bucket_of(std::span<const std::int64_t> buckets, std::int64_t length) {
  const auto found = std::lower_bound(buckets.begin(), buckets.end(), length);
  if (found == buckets.end())
    fail(ErrorKind::data, where, "a sequence has {} frames, more than the longest length of {}",
         length, buckets.empty() ? 0 : buckets.back());
  return static_cast<std::size_t>(found - buckets.begin());
}

}  // namespace whorl
