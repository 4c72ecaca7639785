#include "storage/draws_trailer.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace whorl {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::uint32_t format_version = 1;
constexpr std::string_view magic = "WHORLDRW";
constexpr std::int64_t length_bytes = 8, hash_bytes = 16;
constexpr std::int64_t tail_bytes =
    length_bytes + hash_bytes + static_cast<std::int64_t>(magic.size());
// A million parameters fit.
constexpr std::int64_t most_payload_bytes = std::int64_t{1} << 28;

std::span<std::byte> bytes_of(std::string& text) {
  return std::as_writable_bytes(std::span(text.data(), text.size()));
}

Hash128 hash_of(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

class Encoder {
 public:
  template <class T>
  void add(T value) {
    result_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(const std::string& text) {
    add(static_cast<std::uint32_t>(text.size()));
    result_ += text;
  }
  std::string result() && { return std::move(result_); }

 private:
  std::string result_;
};

// Says what is wrong with a file, in an Error of the kind that its user wants.
struct Refusal {
  const std::string& path;
  ErrorKind kind;

  template <class... Args>
  [[noreturn]] void file(fmt::format_string<Args...> format, Args&&... args) const {
    fail(kind, "draws", "{}: {}", path, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void trailer(fmt::format_string<Args...> format, Args&&... args) const {
    file("the trailer is damaged: {}", fmt::format(format, std::forward<Args>(args)...));
  }
};

// Takes values from the front of a payload, none of them beyond its end.
class Decoder {
 public:
  Decoder(std::string_view rest, const Refusal& refusal) : rest_(rest), refusal_(refusal) {}

  const Refusal& refusal() const { return refusal_; }

  std::string_view take(std::size_t n) {
    if (n > rest_.size()) refusal_.trailer("it ends in the middle of its content");
    const std::string_view result = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return result;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number<std::uint32_t>())); }
  // How many of something follow. Each takes `least` bytes or more, so memory stays in proportion.
  std::size_t count(std::size_t least) {
    const auto n = number<std::uint32_t>();
    if (n > rest_.size() / least) refusal_.trailer("it ends in the middle of its content");
    return n;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  const Refusal& refusal_;
};

Shape decode_shape(Decoder& decoder) {
  const auto rank = decoder.number<std::uint32_t>();
  if (rank > Shape::max_rank) decoder.refusal().trailer("a parameter has {} axes", rank);
  std::vector<std::int64_t> dims;
  for (std::uint32_t axis = 0; axis < rank; ++axis) dims.push_back(decoder.number<std::int64_t>());
  try {
    return Shape(std::span<const std::int64_t>(dims));
  } catch (const Error& error) {
    decoder.refusal().trailer("{}", bare_text(error));
  }
}

// The sizes are the layout's; the trailer has where they begin.
void decode_content(Decoder& decoder, DrawsTrailer& trailer) {
  DrawsLayout& layout = trailer.layout;
  const auto version = decoder.number<std::uint32_t>();
  if (version != format_version)
    decoder.refusal().file("the trailer has version {}; supported is {}", version, format_version);
  const auto number_bytes = decoder.number<std::uint32_t>();
  if (number_bytes != 4 && number_bytes != 8)
    decoder.refusal().trailer("its numbers have {} bytes", number_bytes);
  layout.dtype = number_bytes == 4 ? DType::f32 : DType::f64;
  layout.chains = decoder.number<std::int64_t>();
  layout.draws = decoder.number<std::int64_t>();
  const auto netcdf_bytes = decoder.number<std::int64_t>();
  trailer.header_hash = decoder.number<Hash128>();
  const auto steps = decoder.number<std::int64_t>();
  std::vector<std::int64_t> parameters, statistics;
  for (std::size_t n = decoder.count(24); n > 0; --n) {
    DrawsVariable& parameter = layout.parameters.emplace_back();
    parameter.name = decoder.text();
    parameter.shape = decode_shape(decoder);
    parameter.offset = decoder.number<std::int64_t>();
    parameters.push_back(decoder.number<std::int64_t>());
  }
  for (std::size_t n = decoder.count(12); n > 0; --n) {
    layout.statistics.push_back(decoder.text());
    statistics.push_back(decoder.number<std::int64_t>());
  }
  for (std::size_t n = decoder.count(8); n > 0; --n) {
    std::string name = decoder.text();
    layout.attributes.emplace_back(std::move(name), decoder.text());
  }
  if (!decoder.at_end()) decoder.refusal().trailer("there are bytes behind its content");
  if (const std::string fault = layout_fault(layout); !fault.empty())
    decoder.refusal().trailer("{}", fault);
  trailer.places = sized_places(layout);
  trailer.places.netcdf_bytes = netcdf_bytes;
  trailer.places.steps.offset = steps;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    trailer.places.parameters[i].offset = parameters[i];
  for (std::size_t i = 0; i < statistics.size(); ++i)
    trailer.places.statistics[i].offset = statistics[i];
}

// All variables lie in the netCDF part, and none in another.
void check_places(const DrawsPlaces& places, const Refusal& refusal) {
  std::int64_t free = 0;
  for (const DrawsRegion& region : places.sorted()) {
    if (region.offset < free || region.bytes > places.netcdf_bytes ||
        region.offset > places.netcdf_bytes - region.bytes)
      refusal.trailer("{} bytes of numbers cannot lie at {} of {}", region.bytes, region.offset,
                      places.netcdf_bytes);
    free = region.end();
  }
}

std::string load_payload(const DrawsBytes& file, const Refusal& refusal) {
  if (file.size() == 0) refusal.file("the file is empty");
  std::string tail(static_cast<std::size_t>(std::min(file.size(), tail_bytes)), '\0');
  file.read(file.size() - static_cast<std::int64_t>(tail.size()), bytes_of(tail));
  if (file.size() < tail_bytes || !tail.ends_with(magic))
    refusal.file("not a file of draws, or its end is missing");
  Decoder decoder(tail, refusal);
  const auto length = decoder.number<std::uint64_t>();
  const auto hash = decoder.number<Hash128>();
  const std::int64_t most = std::min(file.size() - tail_bytes, most_payload_bytes);
  if (length > static_cast<std::uint64_t>(most))
    refusal.trailer("it claims {} bytes in a file of {}", length, file.size());
  const auto payload_bytes = static_cast<std::int64_t>(length);
  std::string payload(static_cast<std::size_t>(payload_bytes + length_bytes), '\0');
  file.read(file.size() - tail_bytes - payload_bytes, bytes_of(payload));
  if (hash_of(payload) != hash) refusal.trailer("its checksum is wrong");
  payload.resize(static_cast<std::size_t>(payload_bytes));
  return payload;
}

}  // namespace

std::string encode_trailer(const DrawsTrailer& trailer) {
  const auto& [layout, places, hash] = trailer;
  Encoder encoder;
  encoder.add(format_version);
  encoder.add(static_cast<std::uint32_t>(size_of(layout.dtype)));
  encoder.add(layout.chains);
  encoder.add(layout.draws);
  encoder.add(places.netcdf_bytes);
  encoder.add(hash);
  encoder.add(places.steps.offset);
  encoder.add(static_cast<std::uint32_t>(layout.parameters.size()));
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    const DrawsVariable& parameter = layout.parameters[i];
    encoder.add(parameter.name);
    encoder.add(static_cast<std::uint32_t>(parameter.shape.rank()));
    for (std::int64_t dim : parameter.shape) encoder.add(dim);
    encoder.add(parameter.offset);
    encoder.add(places.parameters[i].offset);
  }
  encoder.add(static_cast<std::uint32_t>(layout.statistics.size()));
  for (std::size_t i = 0; i < layout.statistics.size(); ++i) {
    encoder.add(layout.statistics[i]);
    encoder.add(places.statistics[i].offset);
  }
  encoder.add(static_cast<std::uint32_t>(layout.attributes.size()));
  for (const auto& [name, text] : layout.attributes) {
    encoder.add(name);
    encoder.add(text);
  }
  std::string result = std::move(encoder).result();
  if (static_cast<std::int64_t>(result.size()) > most_payload_bytes)
    fail(ErrorKind::usage, "draws", "names and attributes take {} bytes, more than the limit of {}",
         result.size(), most_payload_bytes);
  Encoder tail;
  tail.add(static_cast<std::uint64_t>(result.size()));
  result += std::move(tail).result();
  Encoder checksum;
  checksum.add(hash_of(result));
  result += std::move(checksum).result();
  return result.append(magic);
}

DrawsTrailer load_trailer(const DrawsBytes& file, ErrorKind damaged) {
  const Refusal refusal{file.path(), damaged};
  const std::string payload = load_payload(file, refusal);
  DrawsTrailer trailer;
  Decoder decoder(payload, refusal);
  decode_content(decoder, trailer);
  const std::int64_t before = file.size() - tail_bytes - static_cast<std::int64_t>(payload.size());
  if (trailer.places.netcdf_bytes != before)
    refusal.trailer("it stands behind {} bytes of netCDF instead of {}", before,
                    trailer.places.netcdf_bytes);
  check_places(trailer.places, refusal);
  if (header_hash(file, trailer.places) != trailer.header_hash)
    refusal.file("the netCDF header is damaged, or was changed by another program");
  return trailer;
}

void for_each_header_block(const DrawsBytes& file, const DrawsPlaces& places,
                           const std::function<void(std::int64_t, std::span<const std::byte>)>& f) {
  constexpr std::int64_t most = 1 << 18;
  std::vector<std::byte> block(static_cast<std::size_t>(std::min(most, places.netcdf_bytes)));
  std::vector<DrawsRegion> regions = places.sorted();
  regions.push_back({places.netcdf_bytes, 0});
  std::int64_t position = 0;
  for (const DrawsRegion& region : regions) {
    while (position < region.offset) {
      const auto n = static_cast<std::size_t>(std::min(most, region.offset - position));
      const std::span<std::byte> bytes = std::span(block).first(n);
      file.read(position, bytes);
      f(position, bytes);
      position += static_cast<std::int64_t>(n);
    }
    position = region.end();
  }
}

Hash128 header_hash(const DrawsBytes& file, const DrawsPlaces& places) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_128bits_reset(state.get());
  for_each_header_block(file, places, [&](std::int64_t, std::span<const std::byte> bytes) {
    XXH3_128bits_update(state.get(), bytes.data(), bytes.size());
  });
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return {hash.low64, hash.high64};
}

}  // namespace whorl
