#include "data/npy.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/data/data_fixture.hpp"

namespace whorl {

namespace {

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

std::string file_of(std::string_view header, std::string_view elements, int version = 1) {
  std::string text = "\x93NUMPY";
  text += little(static_cast<std::uint64_t>(version), 2);
  text += little(header.size(), version == 1 ? 2 : 4);
  text += header;
  text += elements;
  return text;
}

std::string header(std::string_view descr, std::string_view shape,
                   std::string_view order = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}  \n", descr, order,
                     shape);
}

struct Fixture : testing::DataFixture {
  Tensor load(std::string_view bytes) { return load_npy(write("x.npy", bytes)); }

  std::string error_of_bytes(std::string_view bytes) {
    return error_of([&] { load(bytes); });
  }
  std::string error_of_header(std::string_view text) { return error_of_bytes(file_of(text, "")); }
};

template <class T>
void check_values(const Tensor& tensor, const Shape& shape, std::initializer_list<T> wanted) {
  BOOST_TEST(to_string(tensor.type()) == to_string(Type{dtype_of<T>, shape}));
  const auto found = tensor.values<T>();
  BOOST_TEST(std::equal(found.begin(), found.end(), wanted.begin(), wanted.end()));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(npy, Fixture)

BOOST_AUTO_TEST_CASE(a_shape_is_known_without_the_elements) {
  const std::string path = write("x.npy", file_of(header("<f4", "(3, 1000000)"), ""));
  BOOST_TEST(to_string(npy_shape(path)) == to_string(Shape{3, 1000000}));
  BOOST_TEST(error_of([&] { load_npy(path); }).find("it is too short") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_supported_element_type_becomes_one_of_ours) {
  check_values<float>(load(file_of(header("<f4", "(2,)"), bytes_of({1.5f, -2.0f}))), {2},
                      {1.5f, -2.0f});
  check_values<double>(load(file_of(header("<f8", "(2,)"), bytes_of({1.5, -2e300}))), {2},
                       {1.5, -2e300});
  check_values<std::int32_t>(load(file_of(header("<i4", "(2,)"), bytes_of({7, -7}))), {2}, {7, -7});
  check_values<std::int32_t>(
      load(file_of(header("<i8", "(2,)"), bytes_of<std::int64_t>({2147483647, -2147483648ll}))),
      {2}, {2147483647, std::numeric_limits<std::int32_t>::min()});
  check_values<std::int32_t>(load(file_of(header("|u1", "(2,)"), "\x03\xff")), {2}, {3, 255});
  check_values<bool>(load(file_of(header("|b1", "(2,)"), std::string("\0\1", 2))), {2},
                     {false, true});
}

BOOST_AUTO_TEST_CASE(a_type_that_is_not_one_of_ours_is_told) {
  const auto converted = [&](const std::string& descr, std::size_t bytes) {
    scratch.write("x.npy", file_of(header(descr, "(1,)"), std::string(bytes, '\0')));
    std::string type = "none";
    load_npy(scratch / "x.npy", &type);
    return type;
  };
  BOOST_TEST(converted("<i8", 8) == "int64");
  BOOST_TEST(converted("|u1", 1) == "uint8");
  BOOST_TEST(converted(">f8", 8) == "");
}

BOOST_AUTO_TEST_CASE(the_three_versions_of_the_format_are_read) {
  for (int version : {1, 2, 3})
    check_values<float>(load(file_of(header("<f4", "(1,)"), bytes_of({4.0f}), version)), {1},
                        {4.0f});
}

BOOST_AUTO_TEST_CASE(big_endian_numbers_are_turned_around) {
  check_values<double>(load(file_of(header(">f8", "(1,)"), std::string("\x3f\xf8\0\0\0\0\0\0", 8))),
                       {1}, {1.5});
  check_values<float>(load(file_of(header(">f4", "(1,)"), std::string("\x3f\xc0\0\0", 4))), {1},
                      {1.5f});
  check_values<std::int32_t>(load(file_of(header(">i4", "(1,)"), std::string("\0\0\1\2", 4))), {1},
                             {258});
  check_values<std::int32_t>(
      load(file_of(header(">i8", "(1,)"), std::string("\0\0\0\0\0\0\1\2", 8))), {1}, {258});
}

BOOST_AUTO_TEST_CASE(fortran_order_is_converted) {
  check_values<float>(
      load(file_of(header("<f4", "(2, 3)", "True"), bytes_of({1.f, 4.f, 2.f, 5.f, 3.f, 6.f}))),
      {2, 3}, {1, 2, 3, 4, 5, 6});
  // [2,2,2]: element (i, j, k) is stored at i + 2 j + 4 k, and holds 100 i + 10 j + k.
  check_values<std::int32_t>(load(file_of(header("<i4", "(2, 2, 2)", "True"),
                                          bytes_of({0, 100, 10, 110, 1, 101, 11, 111}))),
                             {2, 2, 2}, {0, 1, 10, 11, 100, 101, 110, 111});
}

BOOST_AUTO_TEST_CASE(scalars_and_arrays_without_elements_are_arrays) {
  check_values<float>(load(file_of(header("<f4", "()"), bytes_of({3.0f}))), {}, {3});
  check_values<float>(load(file_of(header("<f4", "(0, 5)"), "")), {0, 5}, {});
}

BOOST_AUTO_TEST_CASE(keys_may_come_in_any_order_quotes_and_python_2_numbers) {
  check_values<float>(
      load(file_of(R"({"shape":(2L,),"fortran_order":False,"descr":"<f4"})", bytes_of({1.f, 2.f}))),
      {2}, {1, 2});
}

BOOST_AUTO_TEST_CASE(what_is_saved_is_loaded_bit_for_bit) {
  const std::vector<Tensor> tensors{
      Tensor::of<float>({2, 3}, {1, 2, 3, std::nanf(""), -0.0f, INFINITY}),
      Tensor::of<double>({1}, {1e300}),
      Tensor::scalar<std::int32_t>(-5),
      Tensor::of<bool>({2, 1, 2}, {true, false, false, true}),
      Tensor({DType::f32, {3, 0}}),
      Tensor({DType::f32, {1, 2, 3, 4, 3, 2, 1, 2}}),
  };
  for (const Tensor& tensor : tensors) {
    const std::string path = scratch / "saved.npy";
    save_npy(path, tensor);
    BOOST_TEST(load_npy(path).same_bits(tensor));
    const std::string text = scratch.read("saved.npy");
    BOOST_TEST((text.size() - static_cast<std::size_t>(tensor.bytes())) % 64 == 0);
  }
}

BOOST_AUTO_TEST_CASE(the_header_is_the_one_that_numpy_writes) {
  save_npy(scratch / "a.npy", Tensor({DType::f32, {3}}));
  const std::string text = scratch.read("a.npy");
  BOOST_TEST(text.substr(0, 8) == std::string("\x93NUMPY\1\0", 8));
  BOOST_TEST(text.substr(10, 60) == "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }   ");
  BOOST_TEST(text[127] == '\n');
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_npy_file_is_refused) {
  BOOST_TEST(error_of_bytes("\x89PNG\r\n\x1a\n and more") ==
             "[npy] x.npy: not an NPY file: it begins with 89 50 4e 47 0d 0a (4)");
  BOOST_TEST(error_of_bytes("") == "[npy] x.npy: the file is empty (4)");
  BOOST_TEST(error_of_bytes("PK\x03\x04 and more") ==
             "[npy] x.npy: an NPZ or ZIP archive, not an NPY file; save one array with numpy.save "
             "(4)");
  BOOST_TEST(error_of_bytes("\x93NUM") ==
             "[npy] x.npy: the file has 4 bytes, too few for a header (4)");
  BOOST_TEST(error_of_bytes("\x93NUMPY\x09" + std::string(9, '\0')) ==
             "[npy] x.npy: NPY version 9.0 is not supported; supported are 1.0, 2.0 and 3.0 (4)");
  BOOST_TEST(error_of_bytes("\x93NUMPY\x02" + std::string(2, '\0')) ==
             "[npy] x.npy: the file has 9 bytes, too few for a header (4)");
  BOOST_TEST(error_of_bytes(std::string("\x93NUMPY\x02\0", 8) + "\xff\xff\xff\xff{") ==
             "[npy] x.npy: the header has 4294967295 bytes, more than the limit of 4096 (4)");
  BOOST_TEST(error_of_bytes(std::string("\x93NUMPY\x01\0\x76\0{", 11)) ==
             "[npy] x.npy: the header has 118 bytes, but the file ends after 1 (4)");
}

BOOST_AUTO_TEST_CASE(a_header_that_is_no_dictionary_is_refused) {
  BOOST_TEST(error_of_header("[1, 2]") == "[npy] x.npy: the header is not a dictionary (4)");
  BOOST_TEST(error_of_header("") == "[npy] x.npy: the header is not a dictionary (4)");
  BOOST_TEST(error_of_header("{'descr': '<f4'") ==
             "[npy] x.npy: the header ends where ',' was expected (4)");
  BOOST_TEST(error_of_header("{'descr': '<f4, ") ==
             "[npy] x.npy: the header has a string without its closing quote (4)");
  BOOST_TEST(error_of_header("{'descr' '<f4'}") ==
             "[npy] x.npy: the header has ''' at position 9 where ':' was expected (4)");
  BOOST_TEST(error_of_header("{'descr': '<f\\x34'}") ==
             "[npy] x.npy: the header has a string with an escaped or control character (4)");
  BOOST_TEST(error_of_header("{1: 2}") ==
             "[npy] x.npy: the header has '1' at position 1 where ''' was expected (4)");
  BOOST_TEST(error_of_header(header("<f4", "(1,)") + "x") ==
             "[npy] x.npy: the header has 'x' at position 60 after its closing brace (4)");
  BOOST_TEST(error_of_header("{'descr': '<f4', 'descr': '<f4'}") ==
             "[npy] x.npy: the header has the key 'descr' twice (4)");
  BOOST_TEST(error_of_header("{'colour': 'red'}") ==
             "[npy] x.npy: the header has the unknown key 'colour' (4)");
  BOOST_TEST(error_of_header("{'descr': '<f4', 'shape': (1,)}") ==
             "[npy] x.npy: the header has no key 'fortran_order' (4)");
  BOOST_TEST(error_of_header(header("<f4", "(1,)", "maybe")) ==
             "[npy] x.npy: the header's 'fortran_order' is neither True nor False (4)");
}

BOOST_AUTO_TEST_CASE(element_types_that_are_not_plain_numbers_are_refused) {
  BOOST_TEST(error_of_header(header("|O", "(1,)")) ==
             "[npy] x.npy: type '|O' holds Python objects, which are never loaded (4)");
  BOOST_TEST(error_of_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}") ==
             "[npy] x.npy: structured types are not supported: save one plain array (4)");
  BOOST_TEST(error_of_header(header("|V8", "(1,)")) ==
             "[npy] x.npy: type '|V8' is structured; save one plain array (4)");
  BOOST_TEST(
      error_of_header(header("<c8", "(1,)")) ==
      "[npy] x.npy: type '<c8' is not supported; supported are f4, f8, i4, i8, u1 and b1 (4)");
  BOOST_TEST(error_of_header(header("", "(1,)")) ==
             "[npy] x.npy: type '' is not supported; supported are f4, f8, i4, i8, u1 and b1 (4)");
  BOOST_TEST(error_of_header(header("=f4", "(1,)")) ==
             "[npy] x.npy: type '=f4' does not say its byte order by '<' or '>' (4)");
}

BOOST_AUTO_TEST_CASE(shapes_that_cannot_be_are_refused) {
  BOOST_TEST(error_of_header(header("<f4", "(-1,)")) ==
             "[npy] x.npy: the header's shape has the negative dimension -1 (4)");
  BOOST_TEST(error_of_header(header("<f4", "(18446744073709551616,)")) ==
             "[npy] x.npy: the header's shape has a dimension that does not fit 64 bits: "
             "18446744073709551616 (4)");
  BOOST_TEST(error_of_header(header("<f4", "(2147483648, 2147483648, 4)")) ==
             "[npy] x.npy: the shape (2147483648, 2147483648, 4) has more than the limit of 2^40 "
             "elements (4)");
  BOOST_TEST(error_of_header(header("<f4", "(4611686018427387904, 4, 0)")) ==
             "[npy] x.npy: the shape (4611686018427387904, 4, 0) has more than the limit of 2^40 "
             "elements (4)");
  std::string many = "(";
  for (int i = 0; i < 33; ++i) many += "1, ";
  BOOST_TEST(error_of_header(header("<f4", many + ")")) ==
             "[npy] x.npy: the array has 33 axes, more than the limit of 8 (4)");
  BOOST_TEST(error_of_header(header("<f4", "(a,)")) ==
             "[npy] x.npy: the header's shape has 'a' where a number was expected (4)");
  BOOST_TEST(error_of_header(header("<f4", "3")) ==
             "[npy] x.npy: the header has '3' at position 50 where '(' was expected (4)");
}

BOOST_AUTO_TEST_CASE(a_file_of_another_length_than_declared_is_refused_before_memory_is_taken) {
  BOOST_TEST(error_of_bytes(file_of(header("<f4", "(3,)"), bytes_of({1.f, 2.f}))) ==
             "[npy] x.npy: the shape (3) of '<f4' needs 12 bytes, but the file has 8: it is too "
             "short (4)");
  BOOST_TEST(error_of_bytes(file_of(header("<f4", "(1,)"), bytes_of({1.f, 2.f}))) ==
             "[npy] x.npy: the shape (1) of '<f4' needs 4 bytes, but the file has 8: it is too "
             "long (4)");
  // 8 TiB: asking for them would be a memory Error instead.
  BOOST_TEST(error_of_header(header("<f8", "(1048576, 1048576)")) ==
             "[npy] x.npy: the shape (1048576, 1048576) of '<f8' needs 8796093022208 bytes, but "
             "the file has 0: it is too short (4)");
}

BOOST_AUTO_TEST_CASE(a_file_cut_anywhere_is_refused) {
  const std::string whole = file_of(header("<f4", "(2,)"), bytes_of({1.f, 2.f}));
  for (std::size_t n = 1; n < whole.size(); ++n)
    BOOST_CHECK_THROW(load(std::string_view(whole).substr(0, n)), Error);
}

BOOST_AUTO_TEST_CASE(a_file_with_any_byte_changed_is_read_or_refused) {
  const std::string whole = file_of(header("<f4", "(2,)"), bytes_of({1.f, 2.f}));
  std::size_t refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      try {
        BOOST_TEST(load(changed).bytes() <= 8);
      } catch (const Error& error) {
        BOOST_TEST(exit_code(error.kind()) == 4);
        ++refused;
      }
    }
  BOOST_TEST(refused > 8 * (whole.size() - 8) / 2);
}

BOOST_AUTO_TEST_CASE(numbers_that_do_not_fit_are_refused_with_their_element) {
  BOOST_TEST(
      error_of_bytes(file_of(header("<i8", "(2,)"), bytes_of<std::int64_t>({1, 2147483648ll}))) ==
      "[npy] x.npy: element 1 does not fit i32: 2147483648 (4)");
  BOOST_TEST(error_of_bytes(file_of(header("|b1", "(2,)"), std::string("\0\2", 2))) ==
             "[npy] x.npy: element 1 is not a bool: byte 2 (4)");
}

BOOST_AUTO_TEST_CASE(narrowing_to_f32_refuses_what_would_overflow) {
  const auto fits = Tensor::of<double>({3}, {1.1, 3.4028234e38, INFINITY});
  const Tensor narrowed = narrow("x.npy", fits);
  BOOST_TEST(narrowed.values<float>()[0] == 1.1f);
  BOOST_TEST(std::isinf(narrowed.values<float>()[2]));
  BOOST_TEST(error_of([] {
               narrow("x.npy", Tensor::of<double>({2}, {0, -1e39}));
             }) == "[npy] x.npy: element 1 is too large for f32: -1e+39 (4)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
