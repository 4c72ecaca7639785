#include "data/array_file.hpp"

#include <cmath>

#include "data/dataset.hpp"
#include "data/npy.hpp"
#include "tests/data/data_fixture.hpp"
#include "tests/data/idx_bytes.hpp"

namespace whorl {

using testing::gzip, testing::idx_bytes;

namespace {

struct Fixture : testing::DataFixture {
  std::string save(std::string_view name, const Tensor& tensor) const {
    save_npy(scratch / name, tensor);
    return scratch / name;
  }
  std::string error_of_bytes(std::string_view bytes) const {
    const std::string path = write("x", bytes);
    return error_of([&] { load_array(path); });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(array_file, Fixture)

BOOST_AUTO_TEST_CASE(the_content_decides_and_not_the_name) {
  const auto wanted = Tensor::of<std::int32_t>({3}, {1, 2, 3});
  const std::string bytes = idx_bytes({3}, {1, 2, 3});
  for (const std::string& path : {save("a.gz", wanted), write("b.npy", bytes),
                                  write("c.npy", gzip(bytes)), write("d", bytes)}) {
    BOOST_TEST(load_array(path).same_bits(wanted));
    BOOST_TEST(load_array(path, DType::f32).same_bits(Tensor::of<float>({3}, {1, 2, 3})));
    BOOST_TEST(to_string(array_shape(path)) == "[3]");
    BOOST_TEST(to_string(array_header(path).type) == "i32[3]");
    BOOST_TEST(array_header(path).format == (path.ends_with("a.gz") ? "npy" : "idx"));
  }
}

BOOST_AUTO_TEST_CASE(files_of_other_kinds_are_refused) {
  BOOST_TEST(error_of_bytes("this is no array") ==
             "[data] x: neither an NPY nor an IDX file: it begins with 74 68 69 73 20 69 (4)");
  BOOST_TEST(error_of_bytes(std::string(1, '\0')) ==
             "[data] x: neither an NPY nor an IDX file: it begins with 00 (4)");
  BOOST_TEST(error_of([&] { load_array(scratch / "none"); }) ==
             "[data] none: cannot open: No such file or directory (6)");
}

BOOST_AUTO_TEST_CASE(the_reader_of_the_format_says_what_is_wrong_with_a_file) {
  BOOST_TEST(error_of_bytes("") == "[npy] x: the file is empty (4)");
  BOOST_TEST(error_of_bytes("\x93NUM") ==
             "[npy] x: the file has 4 bytes, too few for a header (4)");
  BOOST_TEST(error_of_bytes("PK\x03\x04 and more") ==
             "[npy] x: an NPZ or ZIP archive, not an NPY file; save one array with numpy.save (4)");
  BOOST_TEST(error_of_bytes(std::string("\3\x08\0\0\2\0\0\0", 8))
                 .starts_with("[idx] x: the header is little endian"));
  BOOST_TEST(error_of_bytes(gzip("\x93NUMPY")) ==
             "[idx] x: not an IDX file: what is packed in it begins with 93 4e 55 4d (4)");
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_the_wanted_type_is_refused_with_its_row) {
  const std::string path = save("x.npy", Tensor::of<double>({2, 2}, {1, 2, 3, 1e39}));
  BOOST_TEST(error_of([&] { load_array(path, DType::f32); }) ==
             "[npy] x.npy: row 1: 1e+39 is too large for an array of f32 (4)");
  const std::string nan = save("x.npy", Tensor::scalar<float>(NAN));
  BOOST_TEST(error_of([&] { load_array(nan); }) == "no error");
  BOOST_TEST(error_of([&] { load_array(nan, DType::f32); }) ==
             "[npy] x.npy: row 0: nan is not finite for an array of f32 (4)");
}

BOOST_AUTO_TEST_CASE(the_inputs_of_a_data_set_may_come_from_either_format) {
  const Dataset data = dataset_from({{"x", write("x", gzip(idx_bytes({2, 3}, {1, 2, 3, 4, 5, 6})))},
                                     {"y", save("y.npy", Tensor::of<std::int32_t>({2}, {7, 8}))}},
                                    {{"x", DType::f32, {3}}, {"y", DType::i32, {}}});
  BOOST_TEST(data["x"].same_bits(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})));
  BOOST_TEST(data["y"].same_bits(Tensor::of<std::int32_t>({2}, {7, 8})));
}

BOOST_AUTO_TEST_CASE(a_list_takes_rows_of_any_shape_and_nothing_else_is_guessed) {
  const auto wanted = Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const WantedInput list{"x", DType::f32, {4}};
  const std::string images = write("images", idx_bytes({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  BOOST_TEST(dataset_from({{"x", images}}, {list})["x"].same_bits(wanted));
  const std::string same = save("x.npy", Tensor::of<double>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  BOOST_TEST(dataset_from({{"x", same}}, {list})["x"].same_bits(wanted));

  const auto error = [&](const std::string& path, const Shape& row) {
    return error_of([&] { dataset_from({{"x", path}}, {{"x", DType::f32, row}}); });
  };
  BOOST_TEST(error(images, {5}) ==
             "[idx] images: found i32[2,2,2], but input 'x' takes f32[N,5] (4)");
  BOOST_TEST(error(images, {1, 4}) ==
             "[idx] images: found i32[2,2,2], but input 'x' takes f32[N,1,4] (4)");
  const std::string lists = save("lists.npy", wanted);
  BOOST_TEST(error(lists, {2, 2}) ==
             "[npy] lists.npy: found f32[2,4], but input 'x' takes f32[N,2,2] (4)");
  const std::string column = save("column.npy", Tensor({DType::f32, {2, 1}}));
  BOOST_TEST(error(column, {}) ==
             "[npy] column.npy: found f32[2,1], but input 'x' takes f32[N] (4)");
}

BOOST_AUTO_TEST_CASE(images_and_labels_of_different_numbers_are_both_named) {
  const FileNames files{{"x", write("train-images", idx_bytes({3, 1, 1}, {1, 2, 3}))},
                        {"y", write("t10k-labels", idx_bytes({2}, {1, 2}))}};
  BOOST_TEST(
      error_of([&] {
        dataset_from(files, {{"x", DType::f32, {1}}, {"y", DType::i32, {}}});
      }) ==
      "[data] t10k-labels has 2 rows for input 'y', but train-images has 3 for input 'x' (4)");
  BOOST_TEST(error_of([&] {
               dataset_from({{"y", write("none", idx_bytes({0}, {}))}}, {{"y", DType::i32, {}}});
             }) == "[data] none: input 'y' has no rows (4)");
}

BOOST_AUTO_TEST_CASE(what_an_input_cannot_hold_is_refused_with_the_inputs_name) {
  const std::string path = write("x", idx_bytes({2}, {1, 2}));
  BOOST_TEST(error_of([&] {
               dataset_from({{"x", path}}, {{"x", DType::boolean, {}}});
             }) == "[idx] x: row 1: 2 is neither 0 nor 1 for input 'x', which is bool (4)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
