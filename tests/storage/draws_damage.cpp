// Files of draws that were cut, changed or made up: each is refused, or harmless.

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cstring>
#include <random>

#include "storage/draws_trailer.hpp"
#include "tests/storage/draws_fixture.hpp"

namespace whorl {

namespace {

constexpr std::size_t tail_bytes = 32;

struct Fixture : testing::DrawsFixture {
  std::string path = make("d.nc", small_layout(), 6);
  const std::string bytes = scratch.read("d.nc");
  const DrawsTrailer trailer =
      load_trailer(DrawsBytes(path, DrawsBytes::Access::read), ErrorKind::data);

  std::string error() const {
    return error_of([&] { DrawsReader reader(path); });
  }

  // Reads all there is; an Error is as good as numbers.
  bool opens_and_reads() const {
    try {
      const DrawsReader reader(path);
      for (std::size_t i = 0; i < reader.layout().parameters.size(); ++i)
        reader.read(i, 0, reader.layout().parameters[i].shape.elements());
      for (std::size_t i = 0; i < reader.layout().statistics.size(); ++i) reader.read_statistic(i);
      return true;
    } catch (const Error& failure) {
      BOOST_TEST((failure.kind() == ErrorKind::data));
      return false;
    }
  }

  std::string error_of_bytes(std::string_view content) {
    write("d.nc", content);
    return error();
  }

  // The file with another trailer, whose checksum is right.
  std::string error_with(const std::function<void(DrawsTrailer&)>& change) {
    DrawsTrailer changed = trailer;
    change(changed);
    return error_of_bytes(bytes.substr(0, netcdf_bytes()) + encode_trailer(changed));
  }
  std::string with_payload(std::string payload) const {
    const std::uint64_t length = payload.size();
    payload.append(reinterpret_cast<const char*>(&length), sizeof length);
    const XXH128_hash_t hash = XXH3_128bits(payload.data(), payload.size());
    payload.append(reinterpret_cast<const char*>(&hash.low64), 8);
    payload.append(reinterpret_cast<const char*>(&hash.high64), 8);
    return bytes.substr(0, netcdf_bytes()) + payload + "WHORLDRW";
  }

  std::size_t netcdf_bytes() const { return static_cast<std::size_t>(trailer.places.netcdf_bytes); }
  std::string payload() const {
    return bytes.substr(netcdf_bytes(), bytes.size() - tail_bytes - netcdf_bytes());
  }
  bool is_number(std::size_t at) const {
    const auto position = static_cast<std::int64_t>(at);
    for (const DrawsRegion& region : trailer.places.sorted())
      if (position >= region.offset && position < region.end()) return true;
    return false;
  }
};

// One file, changed in place: a new one for each of many thousand changes would take minutes.
class Patch {
 public:
  explicit Patch(const std::string& path) : descriptor_(::open(path.c_str(), O_WRONLY)) {}
  ~Patch() { ::close(descriptor_); }
  bool write(std::size_t at, char byte) const {
    return ::pwrite(descriptor_, &byte, 1, static_cast<off_t>(at)) == 1;
  }
  bool cut(std::size_t size) const {
    return ::ftruncate(descriptor_, static_cast<off_t>(size)) == 0;
  }

 private:
  int descriptor_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(draws_damage, Fixture)

BOOST_AUTO_TEST_CASE(every_changed_bit_that_is_not_of_a_number_is_noticed) {
  const Patch patch(path);
  std::size_t numbers = 0, refused = 0, wrong = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      patch.write(at, static_cast<char>(bytes[at] ^ (1 << bit)));
      const bool opens = is_number(at) ? opens_and_reads() : error() == "no error";
      (is_number(at) ? numbers : refused) += 1;
      if (opens != is_number(at)) ++wrong;
    }
    patch.write(at, bytes[at]);
  }
  BOOST_TEST(wrong == 0u);
  BOOST_TEST(numbers > 5'000u);
  BOOST_TEST(refused > 50'000u);
  BOOST_TEST(error() == "no error");
}

BOOST_AUTO_TEST_CASE(every_file_that_is_cut_is_refused) {
  const Patch patch(path);
  for (std::size_t size = bytes.size(); size-- > 0;) {
    patch.cut(size);
    const std::string text = error();
    BOOST_REQUIRE_MESSAGE(
        text == (size == 0 ? "[draws] d.nc: the file is empty (4)"
                           : "[draws] d.nc: not a file of draws, or its end is missing (4)"),
        size << " bytes: " << text);
  }
}

BOOST_AUTO_TEST_CASE(what_is_damaged_is_said) {
  const auto flipped = [&](std::size_t at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    return error_of_bytes(changed);
  };
  BOOST_TEST(flipped(0) ==
             "[draws] d.nc: the netCDF header is damaged, or was changed by another program (4)");
  BOOST_TEST(flipped(netcdf_bytes() + 40) ==
             "[draws] d.nc: the trailer is damaged: its checksum is wrong (4)");
  BOOST_TEST(flipped(bytes.size() - 10) ==
             "[draws] d.nc: the trailer is damaged: its checksum is wrong (4)");
  BOOST_TEST(flipped(bytes.size() - 1) ==
             "[draws] d.nc: not a file of draws, or its end is missing (4)");
  BOOST_TEST(flipped(bytes.size() - 27) ==
             fmt::format("[draws] d.nc: the trailer is damaged: it claims {} bytes in a file of {} "
                         "(4)",
                         payload().size() + (std::size_t{1} << 40), bytes.size()));
  BOOST_TEST(error_of_bytes("") == "[draws] d.nc: the file is empty (4)");
  BOOST_TEST(error_of_bytes("WHORLDRW") ==
             "[draws] d.nc: not a file of draws, or its end is missing (4)");
  BOOST_TEST(error_of_bytes(bytes + " ") ==
             "[draws] d.nc: not a file of draws, or its end is missing (4)");
  BOOST_TEST(
      error_of_bytes(bytes.substr(1)) ==
      fmt::format("[draws] d.nc: the trailer is damaged: it stands behind {} bytes of netCDF "
                  "instead of {} (4)",
                  netcdf_bytes() - 1, netcdf_bytes()));
}

BOOST_AUTO_TEST_CASE(a_writer_calls_damage_a_fault_of_the_checkpoint) {
  std::string changed = bytes;
  changed[8] ^= 1;
  write("d.nc", changed);
  BOOST_TEST(error_of([&] { DrawsWriter writer(path, small_layout()); }) ==
             "[draws] d.nc: the netCDF header is damaged, or was changed by another program (5)");
  BOOST_TEST(error_of([&] { shrink_draws(path, 3); }) ==
             "[draws] d.nc: the netCDF header is damaged, or was changed by another program (4)");
  BOOST_TEST((scratch.read("d.nc") == changed));
  BOOST_TEST(scratch.files() == 1u);
}

BOOST_AUTO_TEST_CASE(a_made_up_trailer_is_refused_before_it_is_used) {
  const std::string start = "[draws] d.nc: the trailer is damaged: ";
  const auto fault = [&](const std::function<void(DrawsTrailer&)>& change) {
    const std::string text = error_with(change);
    return text.starts_with(start) ? text.substr(start.size()) : text;
  };
  const std::size_t end = netcdf_bytes();
  BOOST_TEST(fault([](DrawsTrailer&) {}) == "no error");
  BOOST_TEST(fault([](DrawsTrailer& t) { t.layout.chains = 0; }) ==
             "0 chains; at least 1 is needed (4)");
  BOOST_TEST(fault([](DrawsTrailer& t) { t.layout.draws = -1; }) ==
             "-1 draws; 0 or more are needed (4)");
  BOOST_TEST(fault([](DrawsTrailer& t) { t.layout.draws = std::int64_t{1} << 62; }) ==
             "3 chains of 4611686018427387904 draws, too many for a file (4)");
  BOOST_TEST(fault([](DrawsTrailer& t) { t.places.parameters[1].offset = -8; }) ==
             fmt::format("108 bytes of numbers cannot lie at -8 of {} (4)", end));
  BOOST_TEST(fault([&](DrawsTrailer& t) {
               t.places.parameters[1].offset = static_cast<std::int64_t>(end) - 107;
             }) == fmt::format("108 bytes of numbers cannot lie at {} of {} (4)", end - 107, end));
  BOOST_TEST(fault([](DrawsTrailer& t) {
               t.places.parameters[1].offset = std::numeric_limits<std::int64_t>::max();
             }) ==
             fmt::format("108 bytes of numbers cannot lie at 9223372036854775807 of {} (4)", end));
  BOOST_TEST(fault([](DrawsTrailer& t) {
               t.places.parameters[0].offset = t.places.parameters[3].offset - 4;
             }).find(" bytes of numbers cannot lie at ") != std::string::npos);
  BOOST_TEST(fault([](DrawsTrailer& t) {
               t.layout.draws = std::int64_t{1} << 40;
             }).find(" bytes of numbers cannot lie at ") != std::string::npos);
  BOOST_TEST(fault([](DrawsTrailer& t) { t.places.netcdf_bytes += 1; }) ==
             fmt::format("it stands behind {} bytes of netCDF instead of {} (4)", end, end + 1));
  BOOST_TEST(fault([](DrawsTrailer& t) { t.places.netcdf_bytes = -1; }) ==
             fmt::format("it stands behind {} bytes of netCDF instead of -1 (4)", end));
  BOOST_TEST(fault([](DrawsTrailer& t) { t.header_hash[1] ^= 1; }) ==
             "[draws] d.nc: the netCDF header is damaged, or was changed by another program (4)");
}

BOOST_AUTO_TEST_CASE(a_made_up_payload_is_refused_with_its_fault) {
  const auto fault = [&](std::size_t at, std::uint32_t value) {
    std::string changed = payload();
    std::memcpy(changed.data() + at, &value, sizeof value);
    return error_of_bytes(with_payload(changed));
  };
  BOOST_TEST(error_of_bytes(with_payload(payload())) == "no error");
  BOOST_TEST(fault(0, 2) == "[draws] d.nc: the trailer has version 2; supported is 1 (4)");
  BOOST_TEST(fault(4, 7) == "[draws] d.nc: the trailer is damaged: its numbers have 7 bytes (4)");
  constexpr std::size_t parameters = 56;  // behind version, size, three counts, hash, offset
  BOOST_TEST(fault(parameters, 0xffffffff) ==
             "[draws] d.nc: the trailer is damaged: it ends in the middle of its content (4)");
  BOOST_TEST(fault(parameters + 4, 0xffffffff) ==
             "[draws] d.nc: the trailer is damaged: it ends in the middle of its content (4)");
  const std::size_t rank = parameters + 8 + std::strlen("layer/w");
  BOOST_TEST(fault(rank, 9) == "[draws] d.nc: the trailer is damaged: a parameter has 9 axes (4)");
  BOOST_TEST(
      fault(rank + 8, 0x80000000) ==
      "[draws] d.nc: the trailer is damaged: dimension -9223372036854775806 is negative (4)");
  BOOST_TEST(fault(rank + 8, 0x40000000) ==
             "[draws] d.nc: the trailer is damaged: [4611686018427387906,3] has more than the "
             "limit of 2^40 elements (4)");
  BOOST_TEST(error_of_bytes(with_payload(payload() + "x")) ==
             "[draws] d.nc: the trailer is damaged: there are bytes behind its content (4)");
  BOOST_TEST(error_of_bytes(with_payload("")) ==
             "[draws] d.nc: the trailer is damaged: it ends in the middle of its content (4)");
}

BOOST_AUTO_TEST_CASE(any_payload_with_a_right_checksum_is_refused_or_harmless) {
  const std::string good = payload();
  std::size_t opened = 0, refused = 0;
  const auto test = [&](const std::string& changed) {
    write("d.nc", with_payload(changed));
    (opens_and_reads() ? opened : refused) += 1;
  };
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char byte : {'\0', '\1', '\x7f', '\x80', '\xff'}) {
      std::string changed = good;
      changed[at] = byte;
      test(changed);
    }
  }
  for (std::size_t size = 0; size < good.size(); ++size) test(good.substr(0, size));
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string changed = good;
    for (int n = 0; n < 1 + i % 4; ++n)
      changed[random() % good.size()] = static_cast<char>(random());
    test(changed);
  }
  BOOST_TEST(opened > 100u);
  BOOST_TEST(refused > 1000u);
}

BOOST_AUTO_TEST_CASE(a_file_that_shrinks_while_it_is_read_is_an_error) {
  const DrawsReader reader(path);
  Patch(path).cut(100);
  BOOST_TEST(
      error_of([&] { reader.read(0, 0, 6); }).starts_with("[draws] d.nc: the file ended at byte "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
