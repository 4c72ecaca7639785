#include "data/idx.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/data/data_fixture.hpp"
#include "tests/data/idx_bytes.hpp"

namespace whorl {

using testing::big_endian, testing::gzip, testing::idx_bytes, testing::idx_header;

namespace {

struct Fixture : testing::DataFixture {
  Tensor load(std::string_view bytes, std::optional<DType> as = std::nullopt) {
    return load_idx(write("x", bytes), as);
  }
  std::string error_of_bytes(std::string_view bytes, std::optional<DType> as = std::nullopt) {
    return error_of([&] { load(bytes, as); });
  }
};

template <class T>
void check_values(const Tensor& tensor, const Shape& shape, std::initializer_list<T> wanted) {
  BOOST_TEST(to_string(tensor.type()) == to_string(Type{dtype_of<T>, shape}));
  const auto found = tensor.values<T>();
  BOOST_TEST(std::equal(found.begin(), found.end(), wanted.begin(), wanted.end()));
}

constexpr std::uint32_t most = 0xffffffff;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(idx, Fixture)

BOOST_AUTO_TEST_CASE(every_element_type_becomes_one_of_ours) {
  check_values<std::int32_t>(load(idx_bytes({3}, {0, 7, 255})), {3}, {0, 7, 255});
  check_values<std::int32_t>(load(idx_header(0x09, {2}) + "\x80\x7f"), {2}, {-128, 127});
  check_values<std::int32_t>(load(idx_header(0x0b, {2}) + big_endian<std::int16_t>({-32768, 258})),
                             {2}, {-32768, 258});
  check_values<std::int32_t>(
      load(idx_header(0x0c, {2}) + big_endian<std::int32_t>({-2147483647 - 1, 2147483647})), {2},
      {-2147483647 - 1, 2147483647});
  check_values<float>(load(idx_header(0x0d, {2}) + big_endian({1.5f, -0.1f})), {2}, {1.5f, -0.1f});
  check_values<double>(load(idx_header(0x0e, {2}) + big_endian({0.1, -1e300})), {2}, {0.1, -1e300});
}

BOOST_AUTO_TEST_CASE(elements_are_in_c_order) {
  check_values<std::int32_t>(load(idx_bytes({2, 1, 3}, {1, 2, 3, 4, 5, 6})), {2, 1, 3},
                             {1, 2, 3, 4, 5, 6});
}

BOOST_AUTO_TEST_CASE(bytes_become_the_type_that_is_asked_for) {
  const std::string bytes = idx_bytes({2, 2}, {0, 1, 128, 255});
  check_values<float>(load(bytes, DType::f32), {2, 2}, {0, 1, 128, 255});
  check_values<double>(load(bytes, DType::f64), {2, 2}, {0, 1, 128, 255});
  check_values<bool>(load(idx_bytes({2}, {0, 1}), DType::boolean), {2}, {false, true});
  check_values<float>(load(idx_header(0x0e, {1}) + big_endian(0.1), DType::f32), {1}, {0.1f});
  check_values<std::int32_t>(load(idx_header(0x0d, {1}) + big_endian(-3.0f), DType::i32), {1},
                             {-3});
}

BOOST_AUTO_TEST_CASE(files_of_many_blocks_are_read_whole) {
  std::string bytes = idx_header(0x0b, {1000, 200});
  std::vector<float> wanted;
  for (int i = 0; i < 200000; ++i) {
    bytes += big_endian(static_cast<std::int16_t>(i));
    wanted.push_back(static_cast<std::int16_t>(i));
  }
  const Tensor tensor = Tensor::of<float>({1000, 200}, std::span<const float>(wanted));
  BOOST_TEST(load(bytes, DType::f32).same_bits(tensor));
  BOOST_TEST(load(gzip(bytes), DType::f32).same_bits(tensor));
}

BOOST_AUTO_TEST_CASE(a_shape_is_known_without_the_elements) {
  const std::string header = idx_header(0x08, {60000, 28, 28});
  BOOST_TEST(to_string(idx_shape(write("x", header))) == "[60000,28,28]");
  BOOST_TEST(to_string(idx_shape(write("x", gzip(header)))) == "[60000,28,28]");
  BOOST_TEST(to_string(idx_type(write("x", idx_header(0x0e, {7})))) == "f64[7]");
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_read_are_refused_in_the_words_of_the_system) {
  BOOST_TEST(error_of([&] { load_idx(scratch / "none"); }) ==
             "[idx] none: cannot open: No such file or directory (6)");
  BOOST_TEST(error_of([&] { load_idx(scratch.path()); }).ends_with("Is a directory (6)"));
  BOOST_TEST(error_of_bytes("") == "[idx] x: the file is empty (4)");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_idx_file_is_refused) {
  BOOST_TEST(error_of_bytes("\x89PNG\r\n") ==
             "[idx] x: not an IDX file: it begins with 89 50 4e 47 (4)");
  BOOST_TEST(error_of_bytes(gzip("\x93NUMPY")) ==
             "[idx] x: not an IDX file: what is packed in it begins with 93 4e 55 4d (4)");
  BOOST_TEST(error_of_bytes(std::string("\0\0\x08", 3)) ==
             "[idx] x: the file has 3 bytes, too few for a header (4)");
  BOOST_TEST(error_of_bytes(gzip("")) ==
             "[idx] x: what is packed in it has 0 bytes, too few for a header (4)");
  BOOST_TEST(error_of_bytes(idx_bytes({1, 1}, {}).substr(0, 11)) ==
             "[idx] x: the file has 11 bytes, too few for a header (4)");
  for (int type : {0x00, 0x07, 0x0a, 0x0f})
    BOOST_TEST(error_of_bytes(idx_header(type, {1}) + "1") ==
               fmt::format("[idx] x: element type {:02x} is not supported; supported are 08 (u8), "
                           "09 (i8), 0b (i16), 0c (i32), 0d (f32) and 0e (f64) (4)",
                           type));
  BOOST_TEST(error_of_bytes(idx_bytes({}, {1})) ==
             "[idx] x: the array has no axes; expected 1 to 8 (4)");
  BOOST_TEST(error_of_bytes(std::string("\0\0\x08\xff", 4) + std::string(255 * 4, '\1')) ==
             "[idx] x: the array has 255 axes, more than the limit of 8 (4)");
}

BOOST_AUTO_TEST_CASE(a_little_endian_header_is_refused_with_a_hint) {
  BOOST_TEST(error_of_bytes(std::string("\3\x08\0\0\2\0\0\0", 8)) ==
             "[idx] x: the header is little endian: it begins with 03 08 00 00; in an IDX file all "
             "numbers are big endian, so write it again with the bytes of each number swapped (4)");
  // Only the axes are written little endian.
  BOOST_TEST(error_of_bytes(idx_header(0x0b, {2u << 24, 3u << 24}) + std::string(12, '\1')) ==
             "[idx] x: the shape (33554432, 50331648) has more than the limit of 2^40 elements; "
             "little endian, the shape would be (2, 3), which fits: is it written so? (4)");
  BOOST_TEST(error_of_bytes(idx_header(0x0b, {3u << 24}) + std::string(6, '\1')) ==
             "[idx] x: the shape (50331648) of i16 needs 100663296 bytes, but the file has 6: it "
             "is too short; little endian, the shape would be (3), which fits: is it written so? "
             "(4)");
}

BOOST_AUTO_TEST_CASE(a_file_of_another_length_than_declared_is_refused_before_memory_is_taken) {
  BOOST_TEST(error_of_bytes(idx_bytes({3}, {1, 2})) ==
             "[idx] x: the shape (3) of u8 needs 3 bytes, but the file has 2: it is too short (4)");
  BOOST_TEST(error_of_bytes(idx_bytes({1, 2}, {1, 2, 3})) ==
             "[idx] x: the shape (1, 2) of u8 needs 2 bytes, but the file has 3: it is too long "
             "(4)");
  // 8 TiB: asking for them would be a memory Error instead.
  BOOST_TEST(error_of_bytes(idx_header(0x0e, {1u << 20, 1u << 20})) ==
             "[idx] x: the shape (1048576, 1048576) of f64 needs 8796093022208 bytes, but the file "
             "has 0: it is too short (4)");
  BOOST_TEST(error_of_bytes(idx_header(0x08, {most})) ==
             "[idx] x: the shape (4294967295) of u8 needs 4294967295 bytes, but the file has 0: it "
             "is too short (4)");
}

BOOST_AUTO_TEST_CASE(shapes_that_cannot_be_are_refused) {
  for (const auto& header : {idx_header(0x08, {most, most, most}),
                             idx_header(0x08, {most, most, most, most, most, most, most, most})})
    BOOST_TEST(error_of_bytes(header).ends_with(
        "4294967295, 4294967295) has more than the limit of 2^40 elements (4)"));
  BOOST_TEST(error_of_bytes(idx_header(0x08, {most, most, 0})) ==
             "[idx] x: the shape (4294967295, 4294967295, 0) has more than the limit of 2^40 "
             "elements (4)");
}

BOOST_AUTO_TEST_CASE(an_array_without_elements_has_nothing_behind_its_header) {
  check_values<std::int32_t>(load(idx_bytes({0, 28, 28}, {})), {0, 28, 28}, {});
  check_values<std::int32_t>(load(gzip(idx_bytes({0}, {}))), {0}, {});
  BOOST_TEST(error_of_bytes(idx_bytes({0, 28, 28}, {1})) ==
             "[idx] x: the shape (0, 28, 28) of u8 needs 0 bytes, but the file has 1: it is too "
             "long (4)");
}

BOOST_AUTO_TEST_CASE(numbers_that_do_not_fit_are_refused_with_their_row) {
  const std::string nan =
      idx_header(0x0d, {3, 2}) + big_endian({1.f, 2.f, 3.f, 4.f, std::nanf(""), 6.f});
  BOOST_TEST(error_of_bytes(nan) == "[idx] x: row 2: nan is not finite for an array of f32 (4)");
  BOOST_TEST(error_of([&] { load_idx(write("x", nan), DType::f32, "input 'x', which is f32"); }) ==
             "[idx] x: row 2: nan is not finite for input 'x', which is f32 (4)");
  BOOST_TEST(error_of_bytes(idx_header(0x0e, {1}) + big_endian<double>(-INFINITY)) ==
             "[idx] x: row 0: -inf is not finite for an array of f64 (4)");
  const std::string large = idx_header(0x0e, {2, 1}) + big_endian({1.0, 1e39});
  BOOST_TEST(error_of_bytes(large) == "no error");
  BOOST_TEST(error_of_bytes(large, DType::f32) ==
             "[idx] x: row 1: 1e+39 is too large for an array of f32 (4)");
  BOOST_TEST(error_of_bytes(large, DType::i32) ==
             "[idx] x: row 1: 1e+39 is too large for an array of i32 (4)");
  BOOST_TEST(error_of_bytes(idx_header(0x0d, {1}) + big_endian(0.5f), DType::i32) ==
             "[idx] x: row 0: 0.5 is not a whole number for an array of i32 (4)");
  BOOST_TEST(error_of_bytes(idx_bytes({2}, {1, 2}), DType::boolean) ==
             "[idx] x: row 1: 2 is neither 0 nor 1 for an array of bool (4)");
}

BOOST_AUTO_TEST_CASE(a_compressed_file_is_known_by_its_content) {
  const std::string bytes = idx_bytes({2, 2}, {1, 2, 3, 4});
  BOOST_TEST(load(gzip(bytes)).same_bits(load(bytes)));
}

BOOST_AUTO_TEST_CASE(several_members_are_one_content) {
  const std::string bytes = idx_bytes({2, 2}, {1, 2, 3, 4});
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut)
    BOOST_TEST(load(gzip(bytes.substr(0, cut)) + gzip("") + gzip(bytes.substr(cut)))
                   .same_bits(load(bytes)));
}

BOOST_AUTO_TEST_CASE(compressed_content_of_another_length_than_declared_is_refused) {
  BOOST_TEST(error_of_bytes(gzip(idx_bytes({3}, {1, 2}))) ==
             "[idx] x: the shape (3) of u8 needs 3 bytes, but 2 are packed in the file: it is too "
             "short (4)");
  BOOST_TEST(error_of_bytes(gzip(idx_bytes({1}, {1, 2}))) ==
             "[idx] x: the shape (1) of u8 needs 1 bytes, but more are packed in the file: it is "
             "too long (4)");
  BOOST_TEST(error_of_bytes(gzip(idx_bytes({1}, {1})) + gzip("more")) ==
             "[idx] x: the shape (1) of u8 needs 1 bytes, but more are packed in the file: it is "
             "too long (4)");
}

BOOST_AUTO_TEST_CASE(more_than_deflate_can_hold_is_refused_before_memory_is_taken) {
  const std::string packed = gzip(idx_header(0x08, {1u << 20, 1u << 20}));
  BOOST_TEST(error_of_bytes(packed) ==
             fmt::format("[idx] x: the shape (1048576, 1048576) of u8 needs 1099511627776 bytes, "
                         "but the {} compressed bytes of the file cannot hold more than {} (4)",
                         packed.size(), 1032 * packed.size() - 12));
  // 32 MiB of zeros stay below the bound, as they must.
  constexpr std::uint32_t size = 32u << 20;
  const std::string zeros = idx_header(0x08, {size}) + std::string(size, '\0');
  BOOST_TEST(load(gzip(zeros)).elements() == size);
}

BOOST_AUTO_TEST_CASE(what_a_bomb_holds_beyond_the_declared_size_is_not_unpacked) {
  // The damage at the end of the data would be an error of its own.
  std::string bomb = gzip(idx_bytes({1}, {1}) + std::string(std::size_t{64} << 20, '\0'));
  BOOST_TEST(bomb.size() < 100000u);
  bomb.resize(bomb.size() - 1000);
  BOOST_TEST(error_of_bytes(bomb) ==
             "[idx] x: the shape (1) of u8 needs 1 bytes, but more are packed in the file: it is "
             "too long (4)");
}

BOOST_AUTO_TEST_CASE(damaged_compressed_files_are_refused) {
  const std::string packed = gzip(idx_bytes({2, 2}, {1, 2, 3, 4}));
  std::string changed = packed;
  changed[packed.size() - 8] ^= 1;
  BOOST_TEST(error_of_bytes(changed) ==
             "[idx] x: the compressed data are damaged: incorrect data check (4)");
  changed = packed;
  changed[packed.size() - 4] ^= 1;
  BOOST_TEST(error_of_bytes(changed) ==
             "[idx] x: the compressed data are damaged: incorrect length check (4)");
  for (std::string_view more : {"\n", "more", "\x1f"})
    BOOST_TEST(
        error_of_bytes(packed + std::string(more)) ==
        fmt::format("[idx] x: {} bytes follow the end of the compressed data (4)", more.size()));
  BOOST_TEST(error_of_bytes(packed + packed.substr(0, 5)) ==
             "[idx] x: the compressed data end early: the file is cut off (4)");
  BOOST_TEST(error_of_bytes(gzip(packed)) ==
             "[idx] x: the file is compressed twice; unpack it once with gunzip (4)");
}

BOOST_AUTO_TEST_CASE(a_compressed_file_cut_anywhere_is_refused) {
  const std::string packed = gzip(idx_bytes({2, 2}, {1, 2, 3, 4}));
  for (std::size_t n = 2; n < packed.size(); ++n)
    BOOST_TEST(error_of_bytes(packed.substr(0, n)) ==
               "[idx] x: the compressed data end early: the file is cut off (4)");
}

BOOST_AUTO_TEST_CASE(a_plain_file_cut_anywhere_is_refused) {
  const std::string whole = idx_bytes({2, 2}, {1, 2, 3, 4});
  for (std::size_t n = 0; n < whole.size(); ++n)
    BOOST_TEST(error_of_bytes(whole.substr(0, n)).ends_with("(4)"));
}

BOOST_AUTO_TEST_CASE(a_file_with_any_bit_changed_is_read_or_refused) {
  const std::string plain = idx_bytes({2, 2}, {1, 2, 3, 4});
  for (const std::string& whole : {plain, gzip(plain)})
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (int bit = 0; bit < 8; ++bit) {
        std::string changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
        const std::string error = error_of_bytes(changed);
        BOOST_TEST((error == "no error" || error.ends_with(" (4)")), error);
      }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
