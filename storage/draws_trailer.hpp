// The trailer of a draws file: what Whorl knows of it, behind the part that is netCDF.
//
//   layout, places and hash of the header; their length (8 bytes); XXH3 of both (16); magic (8)
//
// All numbers are little-endian, texts have their length in front. The header is all of the netCDF
// part that is not draws, so a change there by another program is noticed.
// Whoever reads trusts nothing: what a file declares is checked against its size before it is used
// and before memory is asked for.
// Thread safety: free functions without shared state.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "engine/error.hpp"
#include "storage/draws_bytes.hpp"
#include "storage/draws_layout.hpp"

namespace whorl {

using Hash128 = std::array<std::uint64_t, 2>;

struct DrawsTrailer {
  DrawsLayout layout;
  DrawsPlaces places;
  Hash128 header_hash{};
};

// Its length depends on layout and places alone.
std::string encode_trailer(const DrawsTrailer& trailer);

// The trailer of a file whose header is as it was made. Throws an Error of kind `damaged`
// otherwise.
DrawsTrailer load_trailer(const DrawsBytes& file, ErrorKind damaged);

// Calls f(offset, bytes) for the header from start to end, in blocks of bounded size.
void for_each_header_block(const DrawsBytes& file, const DrawsPlaces& places,
                           const std::function<void(std::int64_t, std::span<const std::byte>)>& f);
Hash128 header_hash(const DrawsBytes& file, const DrawsPlaces& places);

}  // namespace whorl
