#include <algorithm>
#include <limits>

#include "engine/error.hpp"
#include "engine/file.hpp"
#include "storage/draws_skeleton.hpp"
#include "storage/draws_trailer.hpp"

namespace whorl {

namespace {

constexpr std::int64_t block_bytes = 1 << 20;

void check_layout(const std::string& shown, const DrawsLayout& layout) {
  if (const std::string fault = layout_fault(layout); !fault.empty())
    fail(ErrorKind::usage, "draws", "{}: cannot be made: {}", shown, fault);
}

// Writes a region in blocks: fill(block, first) gives numbers `first` ... of the region.
template <class T, class F>
void write_region(const DrawsBytes& file, const DrawsRegion& region, F&& fill) {
  constexpr std::int64_t size = sizeof(T);
  std::vector<T> block(static_cast<std::size_t>(std::min(region.bytes, block_bytes) / size));
  for (std::int64_t first = 0; first < region.bytes / size;) {
    const auto n = static_cast<std::int64_t>(block.size());
    const std::span<T> numbers =
        std::span(block).first(static_cast<std::size_t>(std::min(n, region.bytes / size - first)));
    fill(numbers, first);
    file.write(region.offset + first * size, std::as_bytes(numbers));
    first += static_cast<std::int64_t>(numbers.size());
  }
}

template <class T>
void write_constant(const DrawsBytes& file, const DrawsRegion& region, T value) {
  write_region<T>(file, region, [&](std::span<T> numbers, std::int64_t first) {
    if (first == 0) std::fill(numbers.begin(), numbers.end(), value);
  });
}

void write_header(const DrawsBytes& file, const DrawsSkeleton& skeleton) {
  for_each_header_block(
      skeleton.bytes(), skeleton.places(),
      [&](std::int64_t position, std::span<const std::byte> b) { file.write(position, b); });
  for (const DrawsRegion& region : skeleton.coordinates())
    write_region<std::int64_t>(file, region, [](std::span<std::int64_t> numbers, std::int64_t at) {
      for (std::int64_t& number : numbers) number = at++;
    });
}

// What is there before the first draw.
void write_nothing_drawn(const DrawsBytes& file, const DrawsTrailer& trailer) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto& [layout, places, hash] = trailer;
  write_constant<std::int64_t>(file, places.steps, -1);
  for (const DrawsRegion& region : places.statistics) write_constant<double>(file, region, nan);
  for (const DrawsRegion& region : places.parameters) {
    if (layout.dtype == DType::f32)
      write_constant<float>(file, region, std::numeric_limits<float>::quiet_NaN());
    else
      write_constant<double>(file, region, nan);
  }
}

// Writes the file in full and puts it in its place; write_numbers(file, trailer) fills the regions.
template <class F>
void make_file(const std::string& path, const DrawsLayout& layout, F&& write_numbers) {
  const DrawsSkeleton skeleton(layout, path);
  DrawsTrailer trailer{layout, skeleton.places(), {}};
  NewFile place("draws", path);
  const DrawsBytes file(place.temporary_name(), DrawsBytes::Access::write, path);
  const std::int64_t end = trailer.places.netcdf_bytes;
  file.reserve(end + static_cast<std::int64_t>(encode_trailer(trailer).size()));
  write_header(file, skeleton);
  write_numbers(file, trailer);
  trailer.header_hash = header_hash(file, trailer.places);
  const std::string bytes = encode_trailer(trailer);
  file.write(end, std::as_bytes(std::span(bytes.data(), bytes.size())));
  place.commit();
}

// The first `to_bytes / chains` bytes of every chain.
void copy_chains(const DrawsBytes& from, const DrawsRegion& from_region, const DrawsBytes& to,
                 const DrawsRegion& to_region, std::int64_t chains, std::vector<std::byte>& block) {
  const std::int64_t old_stride = from_region.bytes / chains, stride = to_region.bytes / chains;
  for (std::int64_t chain = 0; chain < chains; ++chain) {
    for (std::int64_t at = 0; at < stride;) {
      const std::int64_t n = std::min(stride - at, static_cast<std::int64_t>(block.size()));
      const std::span<std::byte> bytes = std::span(block).first(static_cast<std::size_t>(n));
      from.read(from_region.offset + chain * old_stride + at, bytes);
      to.write(to_region.offset + chain * stride + at, bytes);
      at += n;
    }
  }
}

}  // namespace

std::int64_t draws_file_bytes(const DrawsLayout& layout) {
  check_layout("draws", layout);
  const DrawsSkeleton skeleton(layout, "draws");
  const std::string trailer = encode_trailer({layout, skeleton.places(), {}});
  return skeleton.places().netcdf_bytes + static_cast<std::int64_t>(trailer.size());
}

void create_draws(const std::string& path, const DrawsLayout& layout) {
  check_layout(path, layout);
  make_file(path, layout, write_nothing_drawn);
}

void shrink_draws(const std::string& path, std::int64_t draws) {
  const DrawsBytes old(path, DrawsBytes::Access::read);
  const DrawsTrailer from = load_trailer(old, ErrorKind::data);
  if (draws < 0 || draws > from.layout.draws)
    fail(ErrorKind::usage, "draws", "{}: cannot be shrunk to {} draws: it has {}", path, draws,
         from.layout.draws);
  if (draws == from.layout.draws) return;
  DrawsLayout layout = from.layout;
  layout.draws = draws;
  make_file(path, layout, [&](const DrawsBytes& file, const DrawsTrailer& to) {
    std::vector<std::byte> block(static_cast<std::size_t>(block_bytes));
    copy_chains(old, from.places.steps, file, to.places.steps, 1, block);
    for (std::size_t i = 0; i < to.places.statistics.size(); ++i)
      copy_chains(old, from.places.statistics[i], file, to.places.statistics[i], layout.chains,
                  block);
    for (std::size_t i = 0; i < to.places.parameters.size(); ++i)
      copy_chains(old, from.places.parameters[i], file, to.places.parameters[i], layout.chains,
                  block);
  });
}

}  // namespace whorl
