#include "data/mat.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/data/data_fixture.hpp"
#include "tests/data/mat_bytes.hpp"

namespace whorl {

using testing::mat_array, testing::mat_bytes, testing::mat_cells, testing::mat_compressed,
    testing::mat_element, testing::mat_file, testing::mat_numbers, testing::mat_small_element,
    testing::mat_tag;
using Bytes = std::vector<std::uint8_t>;

namespace {

// An array each.
std::vector<Tensor> apart(const MatCells& cells) {
  std::vector<Tensor> result;
  const auto* from = static_cast<const std::byte*>(cells.numbers.raw());
  for (const Shape& shape : cells.shapes) {
    Tensor& cell = result.emplace_back(Type{cells.numbers.dtype(), shape});
    std::memcpy(cell.raw(), from, static_cast<std::size_t>(cell.bytes()));
    from += cell.bytes();
  }
  const auto* begin = static_cast<const std::byte*>(cells.numbers.raw());
  BOOST_TEST(from - begin == cells.numbers.bytes());
  return result;
}

struct Fixture : testing::DataFixture {
  std::vector<Tensor> load(const std::string& bytes, DType as = DType::f32,
                           std::string_view variable = "v") {
    return apart(load_mat_cells(write("m.mat", bytes), variable, as));
  }
  std::string error_of_bytes(const std::string& bytes, DType as = DType::f32) {
    return error_of([&] { load(bytes, as); });
  }
  // Of a file with one variable.
  std::string error_of_variable(const std::string& variable, DType as = DType::f32) {
    return error_of_bytes(mat_file({variable}), as);
  }
};

template <class T>
void check_values(const Tensor& tensor, const Shape& shape, std::initializer_list<T> wanted) {
  BOOST_TEST(to_string(tensor.type()) == to_string(Type{dtype_of<T>, shape}));
  const auto found = tensor.values<T>();
  BOOST_TEST(std::equal(found.begin(), found.end(), wanted.begin(), wanted.end()));
}

// Two cells, 2 x 3 and 1 x 3.
std::string two_cells(const std::string& name = "v") {
  return mat_cells(name, {mat_numbers<std::uint8_t>({2, 3}, {1, 4, 2, 5, 3, 6}),
                          mat_numbers<double>({1, 3}, {0.5, -1, 2})});
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(mat, Fixture)

BOOST_AUTO_TEST_CASE(cells_become_arrays_in_row_major_order) {
  for (const std::string& variable : {two_cells(), mat_compressed(two_cells())}) {
    const std::vector<Tensor> cells = load(mat_file({variable}));
    BOOST_TEST_REQUIRE(cells.size() == 2u);
    check_values<float>(cells[0], {2, 3}, {1, 2, 3, 4, 5, 6});
    check_values<float>(cells[1], {1, 3}, {0.5f, -1, 2});
  }
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_no_cell_array_is_one_array) {
  const std::vector<Tensor> cells =
      load(mat_file({mat_numbers<double>({2, 2}, {1, 3, 2, 4}, "v")}), DType::f64);
  BOOST_TEST_REQUIRE(cells.size() == 1u);
  check_values<double>(cells[0], {2, 2}, {1, 2, 3, 4});
}

BOOST_AUTO_TEST_CASE(every_type_of_stored_numbers_is_read) {
  const auto check = [&]<class T>(T) {
    constexpr T low = std::numeric_limits<T>::lowest();
    const std::string bytes = mat_file({mat_numbers<T>({1, 2}, {low, 7}, "v")});
    check_values<double>(load(bytes, DType::f64)[0], {1, 2}, {static_cast<double>(low), 7});
  };
  check(std::int8_t{}), check(std::uint8_t{}), check(std::int16_t{}), check(std::uint16_t{});
  check(std::int32_t{}), check(std::uint32_t{}), check(std::int64_t{}), check(std::uint64_t{});
  check(float{}), check(double{});
}

BOOST_AUTO_TEST_CASE(up_to_four_bytes_may_stand_in_their_tag) {
  const std::string flags = mat_element(6, mat_bytes<std::uint32_t>({9, 0}));
  const std::string dims = mat_element(5, mat_bytes<std::int32_t>({3, 1}));
  const std::string bytes = mat_file(
      {mat_element(14, flags + dims + mat_small_element(1, "v") + mat_small_element(2, "\1\2\3"))});
  check_values<float>(load(bytes)[0], {3, 1}, {1, 2, 3});
  BOOST_TEST(error_of_variable(mat_element(14, flags + dims + mat_small_element(1, "v") +
                                                   mat_bytes<std::uint32_t>({2 | 5 << 16, 0}))) ==
             "[mat] m.mat: variable 'v': the list of numbers has 5 bytes, more than the limit of 4 "
             "(4)");
}

BOOST_AUTO_TEST_CASE(the_variable_is_found_by_its_name) {
  const std::string bytes = mat_file(
      {mat_compressed(two_cells("train")), two_cells("valid"),
       mat_array(2, {1, 1}, "settings", "whatever it has."),
       // An object has no dimensions, and its notes have no name.
       mat_element(14, mat_element(6, mat_bytes<std::uint32_t>({17, 0})) + mat_element(1, "table") +
                           mat_element(1, "MCOS")),
       mat_numbers<std::uint8_t>({1, 1}, {1}, ""), mat_numbers<std::uint8_t>({1, 1}, {9}, "v")});
  BOOST_TEST(mat_variables(write("m.mat", bytes)) ==
                 (std::vector<std::string>{"train", "valid", "settings", "table", "v"}),
             boost::test_tools::per_element());
  check_values<float>(load(bytes)[0], {1, 1}, {9});
  BOOST_TEST(load(bytes, DType::f32, "valid").size() == 2u);
  BOOST_TEST(error_of([&] { load(bytes, DType::f32, "tarin"); }) ==
             "[mat] m.mat: there is no variable 'tarin', did you mean 'train'? (4)");
  BOOST_TEST(error_of([&] { load(bytes, DType::f32, "song\n"); }) ==
             "[mat] m.mat: there is no variable 'song\\x0a'; the file has: train, valid, "
             "settings, table, v (4)");
  BOOST_TEST(error_of_bytes(mat_file({two_cells(), mat_compressed(two_cells())})) ==
             "[mat] m.mat: variable 'v': the file has two of this name (4)");
}

BOOST_AUTO_TEST_CASE(a_variable_that_nobody_asks_for_may_have_any_number_of_dimensions) {
  for (std::size_t axes : {9u, 64u, 256u}) {
    const std::string name(63, 'n');
    const std::string other =
        mat_numbers<std::uint8_t>(std::vector<std::int32_t>(axes, 1), {1}, name);
    for (const std::string& unasked : {other, mat_compressed(other)}) {
      const std::string bytes = mat_file({unasked, two_cells()});
      BOOST_TEST(mat_variables(write("m.mat", bytes)) == (std::vector<std::string>{name, "v"}),
                 boost::test_tools::per_element());
      BOOST_TEST(load(bytes).size() == 2u);
      BOOST_TEST(error_of([&] { load(bytes, DType::f32, name); }) ==
                 fmt::format("[mat] m.mat: the element at byte 128: the list of dimensions has {} "
                             "bytes, more than the limit of 32 (4)",
                             4 * axes));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_variable_that_nobody_asks_for_is_passed_over_by_its_size) {
  // Larger than the header that is looked at, and than a block of the file.
  const std::string other =
      mat_numbers<std::uint8_t>({300000, 1}, Bytes(300000, std::uint8_t{0xff}), "other");
  for (const std::string& unasked : {other, mat_compressed(other)})
    BOOST_TEST(load(mat_file({unasked, two_cells(), unasked})).size() == 2u);
}

BOOST_AUTO_TEST_CASE(arrays_without_elements_keep_their_shape) {
  const std::vector<Tensor> cells =
      load(mat_file({mat_cells("v", {mat_numbers<std::uint8_t>({0, 88}, {}), mat_tag(14, 0),
                                     mat_numbers<double>({2147483647, 0}, {})})}));
  BOOST_TEST_REQUIRE(cells.size() == 3u);
  check_values<float>(cells[0], {0, 88}, {});
  check_values<float>(cells[1], {0, 0}, {});
  check_values<float>(cells[2], {2147483647, 0}, {});
  BOOST_TEST(load(mat_file({mat_cells("v", {})})).empty());
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_read_are_refused_in_the_words_of_the_system) {
  BOOST_TEST(error_of([&] { load_mat_cells(scratch / "none", "v", DType::f32); }) ==
             "[mat] none: cannot open: No such file or directory (6)");
  BOOST_TEST(error_of([&] { mat_variables(scratch.path()); }).ends_with("Is a directory (6)"));
  BOOST_TEST(error_of_bytes("") == "[mat] m.mat: the file is empty (4)");
}

BOOST_AUTO_TEST_CASE(a_file_of_another_format_is_refused) {
  BOOST_TEST(error_of_bytes("\x89PNG\r\n") ==
             "[mat] m.mat: the file has 6 bytes, too few for a header of 128 (4)");
  BOOST_TEST(error_of_bytes(std::string(200, '1')) ==
             "[mat] m.mat: not a MAT file of version 5: bytes 125 to 128 are 31 31 31 31; expected "
             "00 01 49 4d (4)");
  BOOST_TEST(error_of_bytes(mat_file({two_cells()}, {"\1\0MI", 4})) ==
             "[mat] m.mat: the file is big endian; load it in MATLAB or Octave on a machine of "
             "today and save with -v7 (4)");
  const std::string hdf5 = "[mat] m.mat: a file of MATLAB 7.3, which is HDF5; save with -v7 (4)";
  BOOST_TEST(error_of_bytes(mat_file({}, {"\0\2IM", 4})) == hdf5);
  BOOST_TEST(error_of_bytes("\x89HDF\r\n\x1a\n and more") == hdf5);
  BOOST_TEST(error_of_bytes("# Created by Octave 8.4.0, Mon Jan 01 00:00:00 2024 UTC <me@here>\n"
                            "# name: v\n# type: scalar\n1\n") ==
             "[mat] m.mat: a text file of Octave; save with -v7 (4)");
  BOOST_TEST(error_of_bytes("Octave-1-L" + std::string(200, '\0')) ==
             "[mat] m.mat: a binary file of Octave; save with -v7 (4)");
  BOOST_TEST(error_of_bytes(mat_file({})) == "[mat] m.mat: the file has no variables (4)");
}

BOOST_AUTO_TEST_CASE(elements_that_cannot_be_are_refused) {
  BOOST_TEST(error_of_variable(mat_element(9, "12345678")) ==
             "[mat] m.mat: the element at byte 128: type 9 is neither an array, 14, nor a "
             "compressed one, 15 (4)");
  BOOST_TEST(error_of_variable(mat_tag(14, 0xffffffff)) ==
             "[mat] m.mat: the element at byte 128: it has 4294967295 bytes, but the file ends "
             "after 0: it is cut off (4)");
  BOOST_TEST(error_of_variable(two_cells() + "123") ==
             "[mat] m.mat: the element at byte 328: 3 bytes are left, too few for a tag (4)");
  BOOST_TEST(error_of_variable(mat_tag(14, 0)) ==
             "[mat] m.mat: the element at byte 128: the array ends before the list of flags (4)");
  BOOST_TEST(error_of_variable(mat_element(14, mat_element(6, "1234"))) ==
             "[mat] m.mat: the element at byte 128: the array begins with 4 bytes of type 6; "
             "expected 8 bytes of flags, type 6 (4)");
  const std::string flags = mat_element(6, mat_bytes<std::uint32_t>({6, 0}));
  BOOST_TEST(error_of_variable(mat_element(14, flags + mat_element(6, "12345678"))) ==
             "[mat] m.mat: the element at byte 128: the dimensions are 8 bytes of type 6; expected "
             "8 or more of type 5 (4)");
  BOOST_TEST(error_of_variable(mat_array(6, std::vector<std::int32_t>(9, 1), "v", "")) ==
             "[mat] m.mat: the element at byte 128: the list of dimensions has 36 bytes, more than "
             "the limit of 32 (4)");
  BOOST_TEST(error_of_variable(mat_array(6, {2, -1}, "v", "")) ==
             "[mat] m.mat: the element at byte 128: the dimension -1 is negative (4)");
}

BOOST_AUTO_TEST_CASE(names_beyond_their_limit_are_refused) {
  const std::string longest(63, 'n');
  const std::string bytes = mat_file({mat_numbers<std::uint8_t>({1, 1}, {1}, longest)});
  BOOST_TEST(mat_variables(write("m.mat", bytes)) == std::vector{longest},
             boost::test_tools::per_element());
  BOOST_TEST(error_of_variable(mat_numbers<std::uint8_t>({1, 1}, {1}, longest + "n")) ==
             "[mat] m.mat: the element at byte 128: the name has 64 bytes, more than the limit of "
             "63 (4)");
  const std::string start = mat_element(6, mat_bytes<std::uint32_t>({6, 0})) +
                            mat_element(5, mat_bytes<std::int32_t>({1, 1}));
  BOOST_TEST(error_of_variable(mat_element(14, start + mat_tag(1, std::size_t{1} << 31))) ==
             "[mat] m.mat: the element at byte 128: the name has 2147483648 bytes, more than the "
             "limit of 63 (4)");
  BOOST_TEST(error_of_variable(mat_element(14, start + mat_tag(1, 10) + "12345678")) ==
             "[mat] m.mat: the element at byte 128: the name has 10 bytes, but the array ends "
             "after 8 (4)");
  BOOST_TEST(error_of_variable(mat_element(14, start + mat_element(2, "v"))) ==
             "[mat] m.mat: the element at byte 128: the name is of type 2; expected 1 (4)");
}

BOOST_AUTO_TEST_CASE(arrays_of_other_classes_are_refused) {
  const std::vector<std::pair<std::uint32_t, std::string>> classes{
      {2, "struct"}, {3, "object"}, {4, "char"}, {5, "sparse"}, {16, "function"}, {99, "unknown"}};
  for (const auto& [number, name] : classes) {
    const std::string what =
        fmt::format("the class is {}; expected a dense array of real numbers (4)", name);
    BOOST_TEST(error_of_variable(mat_array(number, {1, 1}, "v", "")) ==
               "[mat] m.mat: variable 'v': " + what);
    const std::string good = mat_numbers<std::uint8_t>({1, 1}, {1});
    BOOST_TEST(error_of_variable(mat_cells("v", {good, mat_array(number, {1, 1}, "", "")})) ==
               "[mat] m.mat: variable 'v': cell 2: " + what);
  }
  BOOST_TEST(error_of_variable(mat_cells("v", {mat_cells("", {})})) ==
             "[mat] m.mat: variable 'v': cell 1: the class is cell; expected a dense array of real "
             "numbers (4)");
  BOOST_TEST(error_of_variable(mat_cells("v", {mat_array(6, {1, 1}, "", "", 0x08)})) ==
             "[mat] m.mat: variable 'v': cell 1: the numbers are complex; expected real ones (4)");
  BOOST_TEST(error_of_variable(mat_numbers<std::uint8_t>({1, 2, 1}, {1, 2}, "v")) ==
             "[mat] m.mat: variable 'v': the array is 1 x 2 x 1; expected frames x columns (4)");
}

BOOST_AUTO_TEST_CASE(dimensions_must_agree_with_the_bytes_before_memory_is_taken) {
  BOOST_TEST(error_of_variable(mat_numbers<std::uint16_t>({2, 3}, {1, 2, 3, 4, 5}, "v")) ==
             "[mat] m.mat: variable 'v': the array is 2 x 3, but its numbers of 2 bytes each have "
             "10 bytes (4)");
  // 2^65 bytes, which 64 bits would take for 0.
  BOOST_TEST(error_of_variable(mat_numbers<double>({2147483647, 2147483647}, {}, "v")) ==
             "[mat] m.mat: variable 'v': the array is 2147483647 x 2147483647, but its numbers of "
             "8 bytes each have 0 bytes (4)");
  BOOST_TEST(error_of_variable(mat_array(6, {1, 1}, "v", mat_element(9, "1234567"))) ==
             "[mat] m.mat: variable 'v': the array is 1 x 1, but its numbers of 8 bytes each have "
             "7 bytes (4)");
  BOOST_TEST(error_of_variable(mat_array(6, {1, 1}, "v", mat_element(8, "12345678"))) ==
             "[mat] m.mat: variable 'v': the numbers are stored as type 8, which is not known (4)");
  BOOST_TEST(error_of_variable(mat_array(6, {1, 1}, "v", mat_tag(9, 0xfffffff0))) ==
             "[mat] m.mat: variable 'v': the list of numbers has 4294967280 bytes, more than the "
             "limit of 1073741824 (4)");
  BOOST_TEST(error_of_variable(mat_array(6, {1, 1}, "v", mat_tag(9, 16) + "12345678")) ==
             "[mat] m.mat: variable 'v': the list of numbers has 16 bytes, but the array ends "
             "after 8 (4)");
  const std::string twice = mat_element(9, "12345678") + mat_element(9, "12345678");
  BOOST_TEST(error_of_variable(mat_array(6, {1, 1}, "v", twice)) ==
             "[mat] m.mat: variable 'v': 16 bytes follow the numbers of the array (4)");
}

BOOST_AUTO_TEST_CASE(the_number_of_cells_must_be_the_declared_one) {
  const std::string cell = mat_numbers<std::uint8_t>({1, 1}, {1});
  BOOST_TEST(load(mat_file({mat_array(1, {2, 2}, "v", cell + cell + cell + cell)})).size() == 4u);
  BOOST_TEST(error_of_variable(mat_array(1, {1, 3}, "v", cell + cell)) ==
             "[mat] m.mat: variable 'v': cell 3: the array ends before the cell (4)");
  BOOST_TEST(
      error_of_variable(mat_array(1, {1, 1}, "v", cell + cell)) ==
      fmt::format("[mat] m.mat: variable 'v': {} bytes follow the last cell, 1 (4)", cell.size()));
  BOOST_TEST(error_of_variable(mat_array(1, {1, 1}, "v", mat_element(9, "12345678"))) ==
             "[mat] m.mat: variable 'v': cell 1: it is of type 9; expected an array, type 14 (4)");
  constexpr std::int32_t most = 2147483647;
  BOOST_TEST(error_of_variable(mat_array(1, {most, most, most, 2}, "v", "")) ==
             "[mat] m.mat: variable 'v': the cell array is 2147483647 x 2147483647 x 2147483647 x "
             "2, more cells than the limit of 1048576 (4)");
}

BOOST_AUTO_TEST_CASE(numbers_that_do_not_fit_are_refused_with_their_place) {
  const std::string nan = mat_numbers<double>({2, 2}, {1, 2, std::nan(""), 4});
  BOOST_TEST(error_of_variable(mat_cells("v", {mat_tag(14, 0), mat_tag(14, 0), nan})) ==
             "[mat] m.mat: variable 'v': cell 3: element (1,2): nan is not finite for an array of "
             "f32 (4)");
  const std::string large = mat_numbers<double>({2, 1}, {1, 1e39}, "v");
  BOOST_TEST(error_of_variable(large, DType::f64) == "no error");
  BOOST_TEST(error_of_variable(large) ==
             "[mat] m.mat: variable 'v': element (2,1): 1e+39 is too large for an array of f32 "
             "(4)");
  BOOST_TEST(error_of_variable(mat_numbers<std::uint32_t>({1, 1}, {4294967295}, "v"), DType::i32) ==
             "[mat] m.mat: variable 'v': element (1,1): 4294967295 is too large for an array of "
             "i32 (4)");
}

BOOST_AUTO_TEST_CASE(what_a_bomb_declares_is_refused_before_memory_is_taken) {
  const auto start = [](std::size_t size, const std::string& name = "v") {
    return mat_tag(14, size) + mat_array(6, {1, 1}, name, "").substr(8);
  };
  const std::string packed = mat_compressed(start(0xfffffff0));
  BOOST_TEST(error_of_variable(packed) ==
             fmt::format("[mat] m.mat: the element at byte 128: the compressed array declares "
                         "4294967280 bytes, but its {} cannot hold more than {} (4)",
                         packed.size() - 8, 1032 * (packed.size() - 8)));
  // Beyond the limit, whatever the bytes could hold.
  std::string noise(2000000, '\0');
  std::uint32_t state = 1;
  for (char& byte : noise) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  BOOST_TEST(error_of_variable(mat_compressed(start(mat_limit + 8) + noise))
                 .ends_with("cannot hold more than 1073741824 (4)"));
  BOOST_TEST(error_of_bytes(mat_file({mat_compressed(start(mat_limit + 8, "unasked") + noise),
                                      two_cells()})) == "no error");
}

BOOST_AUTO_TEST_CASE(the_limit_is_one_of_the_numbers_as_they_are_asked_for_too) {
  // 2^27 + 8 bytes, which would become more than 2^30. The file is a hole for the most part.
  constexpr std::int32_t count = (1 << 27) + 8;
  const std::string start = mat_array(6, {count, 1}, "v", mat_tag(2, count)).substr(8);
  const std::string path =
      write("m.mat", mat_file({mat_tag(14, start.size() + std::size_t{count}) + start}));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + std::uintmax_t{count});
  BOOST_TEST(error_of([&] { load_mat_cells(path, "v", DType::f64); }) ==
             "[mat] m.mat: variable 'v': its 134217736 numbers take 1073741888 bytes as f64, more "
             "than the limit of 1073741824 (4)");
}

BOOST_AUTO_TEST_CASE(what_a_bomb_holds_beyond_the_declared_size_is_not_unpacked) {
  const std::string good = mat_numbers<std::uint8_t>({1, 1}, {1}, "v");
  // The damage at the end of the data would be an error of its own.
  std::string bomb = mat_compressed(good + std::string(std::size_t{64} << 20, '\0'));
  BOOST_TEST(bomb.size() < 100000u);
  bomb = mat_tag(15, bomb.size() - 1008) + bomb.substr(8, bomb.size() - 1008);
  BOOST_TEST(error_of_variable(bomb) ==
             fmt::format("[mat] m.mat: the element at byte 128: the compressed array declares {} "
                         "bytes, but more are packed (4)",
                         good.size() - 8));
  // What nobody asks for is not unpacked either.
  bomb = mat_compressed(mat_numbers<std::uint8_t>({1, 1 << 20}, Bytes(1 << 20), "large"));
  bomb.back() ^= 1;
  BOOST_TEST(error_of_bytes(mat_file({bomb, two_cells()})) == "no error");
  BOOST_TEST(error_of([&] { load(mat_file({bomb}), DType::f32, "large"); }) ==
             "[mat] m.mat: variable 'large': the compressed data are damaged: incorrect data check "
             "(4)");
}

BOOST_AUTO_TEST_CASE(damaged_compressed_variables_are_refused) {
  const std::string place = "[mat] m.mat: the element at byte 128: ";
  const std::string packed = mat_compressed(two_cells());
  const auto resized = [&](std::size_t size) {
    std::string bytes = packed;
    bytes.resize(size + 8, '\0');
    return mat_tag(15, size) + bytes.substr(8);
  };
  for (std::size_t size = 0; size < packed.size() - 8; ++size)
    BOOST_TEST(error_of_variable(resized(size)) == place + "the compressed data end early (4)");
  BOOST_TEST(error_of_variable(resized(packed.size() - 5)) ==
             place + "3 bytes follow the end of the compressed data (4)");
  BOOST_TEST(error_of_variable(mat_compressed(packed)) ==
             place + "the compressed element is of type 15; expected an array, type 14 (4)");
  BOOST_TEST(error_of_variable(mat_compressed(two_cells().substr(0, 100))) ==
             place + "the compressed data end early (4)");
}

BOOST_AUTO_TEST_CASE(a_file_cut_anywhere_is_refused) {
  for (const std::string& variable : {two_cells(), mat_compressed(two_cells())}) {
    const std::string whole = mat_file({variable});
    for (std::size_t n = 0; n < whole.size(); ++n)
      BOOST_TEST(error_of_bytes(whole.substr(0, n)).ends_with(" (4)"));
  }
}

BOOST_AUTO_TEST_CASE(a_file_with_any_bit_changed_is_read_or_refused) {
  for (const std::string& variable : {two_cells(), mat_compressed(two_cells())}) {
    const std::string whole = mat_file({variable});
    for (std::size_t i = 124; i < whole.size(); ++i)
      for (int bit = 0; bit < 8; ++bit) {
        std::string changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
        const std::string error = error_of_bytes(changed);
        BOOST_TEST((error == "no error" || error.ends_with(" (4)")), error);
      }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
