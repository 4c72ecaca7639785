#include <algorithm>
#include <cstring>

#include "engine/error.hpp"
#include "storage/draws_bytes.hpp"
#include "storage/draws_file.hpp"
#include "storage/draws_layout.hpp"
#include "storage/draws_trailer.hpp"

namespace whorl {

namespace {

constexpr std::int64_t scratch_bytes = 8 << 20;

// Reading this much and throwing it away takes about as long as one more call of the system.
constexpr std::int64_t cheap_gap = 8 << 10;

// A block of a variable's elements in a number of rows, each row the `row` elements of a draw.
struct Block {
  std::int64_t position = 0;  // of the first row's element 0 in the file
  std::int64_t rows = 0, row = 0;
  std::int64_t first = 0, count = 0;  // which elements
};

// Calls take(numbers, stride, first_row, rows) for stretches of rows, in bounded memory:
// numbers[i * stride + j] is element first + j of row first_row + i.
template <class T, class F>
void for_each_stretch(const DrawsBytes& file, const Block& block, std::vector<std::byte>& scratch,
                      F&& take) {
  constexpr std::int64_t size = sizeof(T);
  const bool whole =
      (block.row - block.count) * size <= cheap_gap && block.row * size <= scratch_bytes;
  const std::int64_t stride = whole ? block.row : block.count;
  const std::int64_t most = std::max<std::int64_t>(1, scratch_bytes / (stride * size));
  scratch.resize(static_cast<std::size_t>(std::min(most, block.rows) * stride * size));
  for (std::int64_t at = 0; at < block.rows; at += most) {
    const std::int64_t rows = std::min(most, block.rows - at);
    const auto place = [&](std::int64_t row) { return block.position + row * block.row * size; };
    const auto bytes = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    if (whole) {
      // The elements before the first and behind the last one are not wanted.
      const std::int64_t n = (rows - 1) * stride + block.count;
      file.read(place(at) + block.first * size, std::span(scratch).first(bytes(n * size)));
    } else {
      for (std::int64_t i = 0; i < rows; ++i)
        file.read(place(at + i) + block.first * size,
                  std::span(scratch).subspan(bytes(i * stride * size), bytes(stride * size)));
    }
    take(scratch.data(), stride, at, rows);
  }
}

// out[j * out_stride + i] = numbers[i * stride + j], in tiles that fit the cache.
template <class T>
void transpose(const std::byte* numbers, std::int64_t stride, std::int64_t rows, std::int64_t count,
               double* out, std::int64_t out_stride) {
  constexpr std::int64_t tile = 32;
  for (std::int64_t i0 = 0; i0 < rows; i0 += tile) {
    for (std::int64_t j0 = 0; j0 < count; j0 += tile) {
      const std::int64_t i_end = std::min(rows, i0 + tile), j_end = std::min(count, j0 + tile);
      for (std::int64_t j = j0; j < j_end; ++j) {
        for (std::int64_t i = i0; i < i_end; ++i) {
          T number;
          std::memcpy(&number, numbers + (i * stride + j) * static_cast<std::int64_t>(sizeof(T)),
                      sizeof number);
          out[j * out_stride + i] = static_cast<double>(number);
        }
      }
    }
  }
}

}  // namespace

struct DrawsReader::Impl {
  DrawsBytes file;
  DrawsTrailer trailer;
  std::vector<std::int64_t> steps;

  Impl(const std::string& path, std::int64_t most)
      : file(path, DrawsBytes::Access::read), trailer(load_trailer(file, ErrorKind::data)) {
    steps.resize(static_cast<std::size_t>(std::min(trailer.layout.draws, most)));
    file.read(trailer.places.steps.offset, std::as_writable_bytes(std::span(steps)));
    const auto end = std::find_if(steps.begin(), steps.end(), [](auto step) { return step < 0; });
    steps.resize(static_cast<std::size_t>(end - steps.begin()));
  }

  std::int64_t draws() const { return static_cast<std::int64_t>(steps.size()); }

  // [count, chains, draws()] of a region [chains, draws, row].
  template <class T>
  std::vector<double> read(const DrawsRegion& region, std::int64_t row, std::int64_t first,
                           std::int64_t count) const;
  template <class T>
  std::vector<double> read_chain(const DrawsRegion& region, std::int64_t row,
                                 std::int64_t chain) const;
};

// [draws(), row] of one chain of such a region.
template <class T>
std::vector<double> DrawsReader::Impl::read_chain(const DrawsRegion& region, std::int64_t row,
                                                  std::int64_t chain) const {
  constexpr std::int64_t size = sizeof(T);
  const Block block{region.offset + chain * trailer.layout.draws * row * size, draws(), row, 0,
                    row};
  std::vector<double> result(static_cast<std::size_t>(draws() * row));
  if (result.empty()) return result;
  std::vector<std::byte> scratch;
  for_each_stretch<T>(
      file, block, scratch,
      [&](const std::byte* numbers, std::int64_t, std::int64_t at, std::int64_t rows) {
        for (std::int64_t i = 0; i < rows * row; ++i) {
          T number;
          std::memcpy(&number, numbers + i * size, sizeof number);
          result[static_cast<std::size_t>(at * row + i)] = static_cast<double>(number);
        }
      });
  return result;
}

template <class T>
std::vector<double> DrawsReader::Impl::read(const DrawsRegion& region, std::int64_t row,
                                            std::int64_t first, std::int64_t count) const {
  constexpr std::int64_t size = sizeof(T), most = scratch_bytes / size;
  const std::int64_t chains = trailer.layout.chains, plane = chains * draws();
  std::vector<double> result(static_cast<std::size_t>(count * plane));
  std::vector<std::byte> scratch;
  for (std::int64_t done = 0; done < count && draws() > 0; done += most) {
    const std::int64_t n = std::min(most, count - done);
    for (std::int64_t chain = 0; chain < chains; ++chain) {
      const std::int64_t position = region.offset + chain * trailer.layout.draws * row * size;
      const Block block{position, draws(), row, first + done, n};
      double* const out = result.data() + done * plane + chain * draws();
      for_each_stretch<T>(
          file, block, scratch,
          [&](const std::byte* numbers, std::int64_t stride, std::int64_t at, std::int64_t rows) {
            transpose<T>(numbers, stride, rows, n, out + at, plane);
          });
    }
  }
  return result;
}

DrawsReader::DrawsReader(const std::string& path, std::int64_t most)
    : impl_(std::make_unique<Impl>(path, most)) {}
DrawsReader::~DrawsReader() = default;
DrawsReader::DrawsReader(DrawsReader&&) noexcept = default;
DrawsReader& DrawsReader::operator=(DrawsReader&&) noexcept = default;

const DrawsLayout& DrawsReader::layout() const { return impl_->trailer.layout; }
std::int64_t DrawsReader::draws() const { return impl_->draws(); }
std::vector<std::int64_t> DrawsReader::steps() const { return impl_->steps; }

std::vector<double> DrawsReader::read(std::size_t parameter, std::int64_t first,
                                      std::int64_t count) const {
  const DrawsLayout& layout = impl_->trailer.layout;
  if (parameter >= layout.parameters.size())
    fail(ErrorKind::usage, "draws", "{}: parameter {} does not exist: there are {}",
         impl_->file.path(), parameter, layout.parameters.size());
  const std::int64_t row = layout.parameters[parameter].shape.elements();
  if (first < 0 || count < 0 || first > row || count > row - first)
    fail(ErrorKind::usage, "draws", "{}: '{}' has {} elements, not {} from {} on",
         impl_->file.path(), layout.parameters[parameter].name, row, count, first);
  const DrawsRegion& region = impl_->trailer.places.parameters[parameter];
  return layout.dtype == DType::f32 ? impl_->read<float>(region, row, first, count)
                                    : impl_->read<double>(region, row, first, count);
}

std::vector<double> DrawsReader::read_chain(std::size_t parameter, std::int64_t chain) const {
  const DrawsLayout& layout = impl_->trailer.layout;
  if (parameter >= layout.parameters.size() || chain < 0 || chain >= layout.chains)
    fail(ErrorKind::usage, "draws", "{}: chain {} of parameter {} does not exist",
         impl_->file.path(), chain, parameter);
  const std::int64_t row = layout.parameters[parameter].shape.elements();
  const DrawsRegion& region = impl_->trailer.places.parameters[parameter];
  return layout.dtype == DType::f32 ? impl_->read_chain<float>(region, row, chain)
                                    : impl_->read_chain<double>(region, row, chain);
}

void DrawsReader::read_draw(std::int64_t draw, Tensor& states) const {
  const DrawsLayout& layout = impl_->trailer.layout;
  if (draw < 0 || draw >= draws())
    fail(ErrorKind::usage, "draws", "{}: draw {} does not exist: there are {}", impl_->file.path(),
         draw, draws());
  const std::int64_t n = states.shape().rank() == 2 ? states.shape()[1] : 0;
  for (const DrawsVariable& parameter : layout.parameters)
    if (states.shape().rank() != 2 || states.shape()[0] != layout.chains ||
        parameter.offset + parameter.shape.elements() > n || !is_float(states.dtype()))
      fail(ErrorKind::usage, "draws", "{}: a draw of {} chains does not fit {}", impl_->file.path(),
           layout.chains, to_string(states.type()));
  std::vector<std::byte> bytes;
  const auto copy = [&](auto stored, auto wanted) {
    using Stored = decltype(stored);
    using Wanted = decltype(wanted);
    for (std::size_t p = 0; p < layout.parameters.size(); ++p) {
      const std::int64_t row = layout.parameters[p].shape.elements();
      bytes.resize(static_cast<std::size_t>(row) * sizeof(Stored));
      for (std::int64_t chain = 0; chain < layout.chains; ++chain) {
        const std::int64_t place = (chain * layout.draws + draw) * row;
        impl_->file.read(impl_->trailer.places.parameters[p].offset +
                             place * static_cast<std::int64_t>(sizeof(Stored)),
                         bytes);
        Wanted* const out = states.data<Wanted>() + chain * n + layout.parameters[p].offset;
        for (std::int64_t i = 0; i < row; ++i) {
          Stored number;
          std::memcpy(&number, bytes.data() + static_cast<std::size_t>(i) * sizeof number,
                      sizeof number);
          out[i] = static_cast<Wanted>(number);
        }
      }
    }
  };
  const bool short_states = states.dtype() == DType::f32;
  if (layout.dtype == DType::f32)
    short_states ? copy(float{}, float{}) : copy(float{}, double{});
  else
    short_states ? copy(double{}, float{}) : copy(double{}, double{});
}

std::vector<double> DrawsReader::read_statistic(std::size_t statistic) const {
  const DrawsTrailer& trailer = impl_->trailer;
  if (statistic >= trailer.layout.statistics.size())
    fail(ErrorKind::usage, "draws", "{}: statistic {} does not exist: there are {}",
         impl_->file.path(), statistic, trailer.layout.statistics.size());
  return impl_->read<double>(trailer.places.statistics[statistic], 1, 0, 1);
}

}  // namespace whorl
