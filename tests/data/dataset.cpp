#include "data/dataset.hpp"

#include <cmath>
#include <limits>

#include "data/npy.hpp"
#include "tests/data/data_fixture.hpp"

namespace whorl {

namespace {

using Columns = std::vector<std::vector<std::int64_t>>;

struct Fixture : testing::DataFixture {
  Table table(std::string_view text) const { return load_csv(write("d.csv", text)); }
  std::string mapping_error(std::string_view names, const std::vector<WantedInput>& wanted,
                            const ColumnNames& given = {}) const {
    std::string row = "1";
    for (char c : names) row += c == ',' ? ",1" : "";
    const Table made = table(fmt::format("{}\n{}\n", names, row));
    return error_of([&] { map_columns(made, wanted, given); });
  }
  std::string save(std::string_view name, const Tensor& tensor) const {
    save_npy(scratch / name, tensor);
    return scratch / name;
  }
};

const WantedInput x3{"x", DType::f32, {3}};
const WantedInput y{"y", DType::f32, {}};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(dataset, Fixture)

BOOST_AUTO_TEST_CASE(a_column_goes_to_its_own_name_and_the_rest_to_the_array) {
  const Table made = table("a,y,b,c\n1,2,3,4\n5,6,7,8\n");
  BOOST_TEST((map_columns(made, {x3, y}) == Columns{{0, 2, 3}, {1}}));
  const Dataset data = dataset_from(made, {x3, y});
  BOOST_TEST(data.rows() == 2);
  BOOST_TEST(data["x"].same_bits(Tensor::of<float>({2, 3}, {1, 3, 4, 5, 7, 8})));
  BOOST_TEST(data["y"].same_bits(Tensor::of<float>({2}, {2, 6})));
  BOOST_TEST(data.array("x").columns == (std::vector<std::string>{"a", "b", "c"}));
  BOOST_TEST(without_directory(data.array("y").origin) == "d.csv");
}

BOOST_AUTO_TEST_CASE(columns_that_nobody_wants_are_left_where_all_inputs_have_theirs) {
  const Table made = table("id,x,y\n1,2,3\n");
  BOOST_TEST(
      (map_columns(made, {{"y", DType::f64, {}}, {"x", DType::f64, {}}}) == Columns{{2}, {1}}));
  // An input [N,1] is content with the column of its name, too.
  BOOST_TEST(
      (map_columns(made, {{"x", DType::f64, {1}}, {"y", DType::f64, {1}}}) == Columns{{1}, {2}}));
}

BOOST_AUTO_TEST_CASE(a_given_mapping_comes_first_and_in_its_own_order) {
  const Table made = table("a,b,c,d\n1,2,3,4\n");
  BOOST_TEST((map_columns(made, {{"x", DType::f32, {2}}, y}, {{"y", {"c"}}, {"x", {"d", "a"}}}) ==
              Columns{{3, 0}, {2}}));
  BOOST_TEST((map_columns(made, {x3, y}, {{"y", {"b"}}}) == Columns{{0, 2, 3}, {1}}));
  // Two inputs may share a column when that is said.
  BOOST_TEST((map_columns(made, {{"x", DType::f32, {1}}, y}, {{"y", {"b"}}, {"x", {"b"}}}) ==
              Columns{{1}, {1}}));
}

BOOST_AUTO_TEST_CASE(rows_may_have_any_shape) {
  const Dataset data = dataset_from(table("a,b,c,d\n1,2,3,4\n"), {{"image", DType::f32, {2, 2}}});
  BOOST_TEST(to_string(data["image"].type()) == "f32[1,2,2]");
}

BOOST_AUTO_TEST_CASE(a_mapping_that_does_not_work_out_says_what_is_missing) {
  BOOST_TEST(mapping_error("a,b,c,Price", {x3, {"price", DType::f32, {}}}) ==
             "[data] d.csv: there is no column 'price' for the input of that name, did you mean "
             "'Price'?; the columns are a, b, c, Price (4)");
  BOOST_TEST(mapping_error("a,b,y", {x3, y}) ==
             "[data] d.csv: input 'x' is f32[N,3] and takes 3 columns, but 2 are left: a, b (4)");
  BOOST_TEST(mapping_error("y", {x3, y}) ==
             "[data] d.csv: input 'x' is f32[N,3] and takes 3 columns, but 0 are left (4)");
  BOOST_TEST(mapping_error("a,b,c,d,y", {x3, y}) ==
             "[data] d.csv: input 'x' is f32[N,3] and takes 3 columns, but 4 are left: a, b, c, d "
             "(4)");
  BOOST_TEST(mapping_error("a,b,c,d", {x3, {"z", DType::f32, {1}}}) ==
             "[data] d.csv: inputs 'x' and 'z' both need columns; say which; the columns are a, b, "
             "c, d (4)");
  BOOST_TEST(mapping_error("a,b,c,y", {x3, y}, {{"z", {"a"}}}) ==
             "[data] columns are given for 'z', which is no data input (2)");
  BOOST_TEST(mapping_error("age,b,c,y", {x3, y}, {{"x", {"agee", "b", "c"}}}) ==
             "[data] d.csv: input 'x' is to take column 'agee', which is not there, did you mean "
             "'age'?; the columns are age, b, c, y (4)");
  BOOST_TEST(mapping_error("a,b,c,y", {x3, y}, {{"x", {"a", "b"}}}) ==
             "[data] d.csv: input 'x' is f32[N,3] and takes 3 columns, but is given 2 (4)");
  BOOST_TEST(mapping_error("a,b,c,y", {x3, y}, {{"x", {"a", "b", "a"}}}) ==
             "[data] d.csv: input 'x' takes column 'a' twice (4)");
}

BOOST_AUTO_TEST_CASE(long_lists_of_columns_are_cut) {
  std::string names = "c1";
  for (int i = 2; i <= 30; ++i) names += fmt::format(",c{}", i);
  const std::string text = mapping_error(names, {{"target", DType::f32, {}}});
  BOOST_TEST(text.ends_with("c19, c20, ... (4)"));
}

BOOST_AUTO_TEST_CASE(numbers_that_do_not_fit_their_input_are_refused_with_line_and_column) {
  const auto error = [&](std::string_view cell, DType dtype) {
    const Table made = table(fmt::format("y\n1\n{}\n", cell));
    return error_of([&] { dataset_from(made, {{"y", dtype, {}}}); });
  };
  const std::string start = "[csv] d.csv:3: column 'y': ";
  BOOST_TEST(error("1.5", DType::i32) ==
             start + "1.5 is not a whole number for input 'y', which is i32 (4)");
  BOOST_TEST(error("2147483648", DType::i32) ==
             start + "2147483648 is too large for input 'y', which is i32 (4)");
  BOOST_TEST(error("-2147483648", DType::i32) == "no error");
  BOOST_TEST(error("-1e39", DType::f32) ==
             start + "-1e+39 is too large for input 'y', which is f32 (4)");
  BOOST_TEST(error("-1e39", DType::f64) == "no error");
  BOOST_TEST(error("2", DType::boolean) ==
             start + "2 is neither 0 nor 1 for input 'y', which is bool (4)");
  BOOST_TEST(error("0", DType::boolean) == "no error");
}

BOOST_AUTO_TEST_CASE(the_line_is_that_of_the_file_when_rows_were_dropped) {
  const Table made =
      load_csv(scratch.write("d.csv", "y\n1\nNA\n2\n1.5\n"), {.missing = Missing::drop_row});
  BOOST_TEST(
      error_of([&] {
        dataset_from(made, {{"y", DType::i32, {}}});
      }) == "[csv] d.csv:5: column 'y': 1.5 is not a whole number for input 'y', which is i32 (4)");
}

BOOST_AUTO_TEST_CASE(npy_files_become_a_data_set_in_the_types_of_the_inputs) {
  const Dataset data =
      dataset_from({{"x", save("x.npy", Tensor::of<double>({2, 3}, {1, 2, 3, 4, 5, 6}))},
                    {"y", save("y.npy", Tensor::of<std::int32_t>({2}, {7, 8}))}},
                   {x3, y});
  BOOST_TEST(data["x"].same_bits(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})));
  BOOST_TEST(data["y"].same_bits(Tensor::of<float>({2}, {7, 8})));
  const Dataset same = dataset_from(
      {{"y", save("y.npy", Tensor::of<double>({3}, {0.1, -0.0, 1e300}))}}, {{"y", DType::f64, {}}});
  BOOST_TEST(same["y"].same_bits(Tensor::of<double>({3}, {0.1, -0.0, 1e300})));
}

BOOST_AUTO_TEST_CASE(npy_files_that_do_not_fit_are_refused) {
  const auto error = [&](const Tensor& tensor, const WantedInput& input) {
    const std::string path = save("x.npy", tensor);
    return error_of([&] { dataset_from({{"x", path}}, {input}); });
  };
  const WantedInput x{"x", DType::f32, {}};
  BOOST_TEST(error(Tensor::of<float>({2, 2}, {1, 2, 3, 4}), x3) ==
             "[npy] x.npy: found f32[2,2], but input 'x' takes f32[N,3] (4)");
  BOOST_TEST(error(Tensor::scalar<float>(1), x) ==
             "[npy] x.npy: found f32[], but input 'x' takes f32[N] (4)");
  BOOST_TEST(error(Tensor({DType::f32, {0}}), x) == "[data] x.npy: input 'x' has no rows (4)");
  BOOST_TEST(error(Tensor::of<float>({3}, {1, 2, NAN}), x) ==
             "[npy] x.npy: row 2: nan is not finite for input 'x', which is f32 (4)");
  BOOST_TEST(error(Tensor::of<double>({2, 3}, {1, 2, 3, 4, -1e39, 6}), x3) ==
             "[npy] x.npy: row 1: -1e+39 is too large for input 'x', which is f32 (4)");
  BOOST_TEST(error(Tensor::of<float>({1}, {.5}), {"x", DType::i32, {}}) ==
             "[npy] x.npy: row 0: 0.5 is not a whole number for input 'x', which is i32 (4)");
}

BOOST_AUTO_TEST_CASE(files_with_different_numbers_of_rows_are_both_named) {
  const FileNames files{{"x", save("x.npy", Tensor({DType::f32, {4, 3}}))},
                        {"y", save("y.npy", Tensor({DType::f32, {5}}))}};
  BOOST_TEST(error_of([&] {
               dataset_from(files, {x3, y});
             }) == "[data] y.npy has 5 rows for input 'y', but x.npy has 4 for input 'x' (4)");
}

BOOST_AUTO_TEST_CASE(inputs_and_files_must_belong_together) {
  const std::string path = save("y.npy", Tensor({DType::f32, {5}}));
  BOOST_TEST(error_of([&] {
               dataset_from(FileNames{{"y", path}}, {x3, y});
             }) == "[data] there is no file for input 'x' (2)");
  BOOST_TEST(error_of([&] {
               dataset_from({{"y", path}, {"yy", path}}, {y});
             }) == "[data] y.npy is given for 'yy', which is no data input, did you mean 'y'? (2)");
}

BOOST_AUTO_TEST_CASE(a_data_set_keeps_its_invariants) {
  Dataset data;
  BOOST_TEST(data.rows() == 0);
  data.add({"x", Tensor({DType::f32, {4, 3}}), "here", {}});
  BOOST_TEST(error_of([&] {
               data.add({"x", Tensor({DType::f32, {4}}), "there", {}});
             }) == "[data] there: input 'x' is there already (4)");
  BOOST_TEST(error_of([&] {
               data.add({"z", Tensor(), "there", {}});
             }) == "[data] there: input 'z' has no rows: it is a single number (4)");
  BOOST_TEST(error_of([&] { data["z"]; }) == "[data] the data have no input 'z' (2)");
  BOOST_TEST(data.arrays().size() == 1u);
  BOOST_TEST(data.rows() == 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
