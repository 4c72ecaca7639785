#include "storage/draws_layout.hpp"

#include "tests/storage/draws_fixture.hpp"

namespace whorl {

namespace {

std::vector<std::string> names_of(const std::vector<DrawsVariable>& parameters) {
  return netcdf_parameter_names(parameters);
}

using Names = std::vector<std::string>;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(draws_layout, testing::DrawsFixture)

BOOST_AUTO_TEST_CASE(names_become_what_netcdf_allows) {
  BOOST_TEST(names_of({{"layer1/w", {2}}, {"a.b-c_d", {}}, {"x y", {}}, {".w", {}}, {"-w", {}}}) ==
             (Names{"layer1.w", "a.b-c_d", "x_y", "_.w", "_-w"}));
  BOOST_TEST(names_of({{std::string(512, 'a'), {}}, {std::string(511, 'a'), {}}}) ==
             (Names{std::string(200, 'a'), std::string(200, 'a') + "_2"}));
}

BOOST_AUTO_TEST_CASE(names_that_become_the_same_are_told_apart) {
  // The one that needs no change keeps its name wherever it stands.
  BOOST_TEST(names_of({{"a/b", {}}, {"a.b", {}}, {"a b", {}}, {"a_b", {}}}) ==
             (Names{"a.b_2", "a.b", "a_b_2", "a_b"}));
  BOOST_TEST(names_of({{"a/b", {}}, {"a.b", {}}, {"a.b_2", {}}}) ==
             (Names{"a.b_3", "a.b", "a.b_2"}));
}

BOOST_AUTO_TEST_CASE(names_of_coordinates_are_taken) {
  BOOST_TEST(names_of({{"chain", {}}, {"draw", {2}}, {"step", {}}}) ==
             (Names{"chain_2", "draw_2", "step"}));
  BOOST_TEST(names_of({{"w", {2, 3}}, {"w_dim_1", {}}, {"w_dim_2", {}}}) ==
             (Names{"w", "w_dim_1_2", "w_dim_2"}));
  BOOST_TEST(names_of({{"w_dim_1", {}}, {"w", {2, 3}}}) == (Names{"w_dim_1", "w_2"}));
  const Names statistics{"step", "chain", "lp"};
  BOOST_TEST(netcdf_statistic_names(statistics) == (Names{"step_2", "chain_2", "lp"}));
}

BOOST_AUTO_TEST_CASE(a_file_can_be_made_with_names_of_every_kind) {
  DrawsLayout layout = small_layout(1);
  layout.parameters = {{"a/b", {2}, 0},
                       {"a.b", {}, 2},
                       {"chain", {}, 3},
                       {"/", {}, 4},
                       {"w_dim_0", {1}, 5},
                       {"w", {1}, 6},
                       {"posterior", {}, 7},
                       {"-", {}, 8},
                       {std::string(512, 'x'), {1, 1, 1, 1, 1, 1, 1, 1}, 9},
                       {"\xc3\xa4\n", {}, 10}};
  layout.statistics = {"step", "a/b", "\xff"};
  make("d.nc", layout, 1);
  BOOST_TEST(has_right_numbers(DrawsReader(scratch / "d.nc")));
  BOOST_TEST(DrawsReader(scratch / "d.nc").layout().parameters[0].name == "a/b");
}

BOOST_AUTO_TEST_CASE(a_layout_that_cannot_be_is_refused) {
  const auto error = [&](auto&& change) {
    DrawsLayout layout = small_layout();
    change(layout);
    const std::string text = error_of([&] { create_draws(scratch / "d.nc", layout); });
    BOOST_TEST(scratch.files() == 0u);
    return text;
  };
  BOOST_TEST(error([](DrawsLayout& l) { l.chains = 0; }) ==
             "[draws] d.nc: cannot be made: 0 chains; at least 1 is needed (2)");
  BOOST_TEST(error([](DrawsLayout& l) { l.draws = -1; }) ==
             "[draws] d.nc: cannot be made: -1 draws; 0 or more are needed (2)");
  BOOST_TEST(error([](DrawsLayout& l) { l.dtype = DType::i32; }) ==
             "[draws] d.nc: cannot be made: numbers of type i32; draws are f32 or f64 (2)");
  BOOST_TEST(error([](DrawsLayout& l) { l.parameters[1].name = "v"; }) ==
             "[draws] d.nc: cannot be made: two parameters have the name 'v' (2)");
  BOOST_TEST(error([](DrawsLayout& l) { l.parameters[1].name = ""; }) ==
             "[draws] d.nc: cannot be made: a parameter has no name (2)");
  BOOST_TEST(error([](DrawsLayout& l) { l.parameters[1].offset = -4; }) ==
             "[draws] d.nc: cannot be made: parameter 'b' lies at -4 in the state (2)");
  BOOST_TEST(error([](DrawsLayout& l) { l.statistics[0] = "step_size"; }) ==
             "[draws] d.nc: cannot be made: two statistics have the name 'step_size' (2)");
  BOOST_TEST(error([](DrawsLayout& l) { l.draws = std::int64_t{1} << 60; }) ==
             "[draws] d.nc: cannot be made: 3 chains of 1152921504606846976 draws, too many for a "
             "file (2)");
  BOOST_TEST(error([](DrawsLayout& l) {
               l.draws = std::int64_t{1} << 40;
               l.parameters = {{"w", {std::int64_t{1} << 30}, 0}};
             }) ==
             "[draws] d.nc: cannot be made: parameter 'w' has 3 chains of 1099511627776 draws of "
             "1073741824 numbers, too many for a file (2)");
  BOOST_TEST(error([](DrawsLayout& l) {
               l.draws = std::int64_t{1} << 50;
               l.parameters.clear();
               for (int i = 0; i < 100; ++i)
                 l.parameters.push_back({fmt::format("w{}", i), {9}, 0});
             }) ==
             "[draws] d.nc: cannot be made: all numbers together are too many for a file (2)");
}

BOOST_AUTO_TEST_CASE(a_file_of_another_layout_is_refused_with_the_first_difference) {
  const std::string path = make("d.nc", small_layout(), 2);
  const auto error = [&](auto&& change) {
    DrawsLayout layout = small_layout();
    change(layout);
    const std::string text = error_of([&] { DrawsWriter writer(path, layout); });
    const std::string start = "[draws] d.nc: not the file of this run: ";
    BOOST_TEST(text.starts_with(start));
    BOOST_TEST(text.ends_with(" (5)"));
    return text.substr(start.size(), text.size() - start.size() - 4);
  };
  BOOST_TEST(error([](auto& l) { l.chains = 4; }) == "3 chains in the file, 4 in the run");
  BOOST_TEST(error([](auto& l) { l.draws = 10; }) == "9 draws in the file, 10 in the run");
  BOOST_TEST(error([](auto& l) { l.dtype = DType::f64; }) ==
             "numbers are 'f32' in the file, 'f64' in the run");
  BOOST_TEST(error([](auto& l) { l.parameters.pop_back(); }) ==
             "4 parameters in the file, 3 in the run");
  BOOST_TEST(error([](auto& l) { l.parameters[1].name = "c"; }) ==
             "parameter 'b' in the file, 'c' in the run");
  BOOST_TEST(error([](auto& l) {
               l.parameters[0].shape = {3, 2};
             }) == "parameter 'layer/w' is [2,3] in the file, [3,2] in the run");
  BOOST_TEST(error([](auto& l) { l.parameters[0].offset = 2; }) ==
             "parameter 'layer/w' lies at 1 of the state in the file, at 2 in the run");
  BOOST_TEST(error([](auto& l) { l.statistics.push_back("x"); }) ==
             "2 statistics in the file, 3 in the run");
  BOOST_TEST(error([](auto& l) { l.statistics[1] = "x"; }) ==
             "statistic 'step_size' in the file, 'x' in the run");
  BOOST_TEST(error([](auto& l) { l.attributes.clear(); }) ==
             "2 attributes in the file, 0 in the run");
  BOOST_TEST(error([](auto& l) { l.attributes[0].first = "x"; }) ==
             "attribute 'inference_library' in the file, 'x' in the run");
  BOOST_TEST(error([](auto& l) { l.attributes[0].second = "x"; }) ==
             "attribute 'inference_library' is 'whorl' in the file, 'x' in the run");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
