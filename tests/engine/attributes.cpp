// Attributes: rules, messages, equality, hash and text, all from one field list.
#include "engine/attributes.hpp"

#include <limits>

#include "tests/engine/op_checks.hpp"

namespace whorl {
namespace {

using testing::message_of;

std::vector<std::string_view> colours() { return {"red", "green"}; }

struct Every {
  std::int64_t count = 3;
  double ratio = 0.5;
  bool flag = false;
  std::string colour = "red";
  std::vector<std::int64_t> axes;
  DType dtype = DType::f32;
  Tensor value;
  Shape shape;
  static constexpr auto fields() {
    return std::tuple{field("count", &Every::count).within(1, 10),
                      field("ratio", &Every::ratio).optional().within(0, 1),
                      field("flag", &Every::flag).optional(),
                      field("colour", &Every::colour).optional().one_of(colours),
                      field("axes", &Every::axes).optional().within(-8, 7),
                      field("dtype", &Every::dtype).optional(),
                      field("value", &Every::value).optional(),
                      field("shape", &Every::shape).optional()};
  }
};

Attributes make(const AttrList& list) {
  return make_attributes("op", detail::attr_table<Every>(), list);
}
const std::pair<std::string, AttrValue> three{"count", std::int64_t{3}};
constexpr double inf = std::numeric_limits<double>::infinity();

BOOST_AUTO_TEST_SUITE(attributes)

BOOST_AUTO_TEST_CASE(fields_that_are_left_out_keep_their_defaults) {
  const Attributes made = make({{"count", std::int64_t{7}}});
  BOOST_TEST(made.as<Every>().count == 7);
  BOOST_TEST(made.as<Every>().ratio == 0.5);
  BOOST_TEST(made.as<Every>().colour == "red");
  BOOST_TEST(made.size() == 8);
  BOOST_TEST(made.list().size() == 8u);
}

BOOST_AUTO_TEST_CASE(every_kind_of_value_is_read) {
  const Attributes made = make({three,
                                {"ratio", 0.25},
                                {"flag", true},
                                {"colour", std::string("green")},
                                {"axes", std::vector<std::int64_t>{-1, 2}},
                                {"dtype", DType::i32},
                                {"value", Tensor::scalar(2.5f)},
                                {"shape", std::vector<std::int64_t>{4, 5}}});
  const auto& every = made.as<Every>();
  BOOST_TEST(every.ratio == 0.25);
  BOOST_TEST(every.flag);
  BOOST_TEST(every.colour == "green");
  BOOST_TEST(every.axes == (std::vector<std::int64_t>{-1, 2}), boost::test_tools::per_element());
  BOOST_TEST((every.dtype == DType::i32));
  BOOST_TEST(every.value.at(0) == 2.5);
  BOOST_TEST(every.shape == Shape({4, 5}));
  // What was written is read back as the same attributes.
  BOOST_TEST((make(made.list()) == made));
}

BOOST_AUTO_TEST_CASE(every_broken_rule_has_its_own_sentence) {
  const auto says = [](const AttrList& list, std::string_view expected) {
    BOOST_TEST(message_of([&] { make(list); }) == expected);
  };
  says({}, "[op] attribute 'count' is missing: expected an integer");
  says({three, three}, "[op] attribute 'count' is given twice");
  says({three, {"ration", 0.5}}, "[op] unknown attribute 'ration', did you mean 'ratio'?");
  says({three, {"temperature", 0.5}}, "[op] unknown attribute 'temperature'");
  says({{"count", 3.0}},
       "[op] attribute 'count' has the wrong kind: a number; expected an integer");
  says({three, {"ratio", std::int64_t{1}}},
       "[op] attribute 'ratio' has the wrong kind: an integer; expected a number");
  says({three, {"flag", std::string("yes")}},
       "[op] attribute 'flag' has the wrong kind: a text; expected a bool");
  says({three, {"axes", DType::f32}},
       "[op] attribute 'axes' has the wrong kind: a dtype; expected a list of integers");
  says({three, {"dtype", Tensor()}},
       "[op] attribute 'dtype' has the wrong kind: a tensor; expected a dtype");
  says({{"count", std::int64_t{0}}}, "[op] attribute 'count' is out of range: 0; expected 1 to 10");
  says({three, {"ratio", 1.5}}, "[op] attribute 'ratio' is out of range: 1.5; expected 0 to 1");
  says({three, {"ratio", -inf}}, "[op] attribute 'ratio' must be finite: -inf");
  says({three, {"ratio", std::numeric_limits<double>::quiet_NaN()}},
       "[op] attribute 'ratio' must be finite: nan");
  says({three, {"axes", std::vector<std::int64_t>{0, 8}}},
       "[op] attribute 'axes' is out of range: 8; expected -8 to 7");
  says({three, {"colour", std::string("blue")}},
       "[op] attribute 'colour' is 'blue'; expected one of: red, green");
  says({three, {"shape", std::vector<std::int64_t>{-1}}}, "[op] dimension -1 is negative");
}

BOOST_AUTO_TEST_CASE(equality_and_hash_see_every_field) {
  const Attributes base = make({three});
  const std::vector<Attributes> others{make({{"count", std::int64_t{4}}}),
                                       make({three, {"ratio", 0.25}}),
                                       make({three, {"flag", true}}),
                                       make({three, {"colour", std::string("green")}}),
                                       make({three, {"axes", std::vector<std::int64_t>{0}}}),
                                       make({three, {"dtype", DType::f64}}),
                                       make({three, {"value", Tensor::scalar(1.0f)}}),
                                       make({three, {"shape", std::vector<std::int64_t>{1}}})};
  for (const Attributes& other : others) {
    BOOST_TEST(!(base == other));
    BOOST_TEST(base.hash() != other.hash());
  }
  BOOST_TEST((base == make({three})));
  BOOST_TEST(base.hash() == make({three}).hash());
}

BOOST_AUTO_TEST_CASE(numbers_are_equal_by_bits) {
  BOOST_TEST(!(make({three, {"ratio", 0.0}}) == make({three, {"ratio", -0.0}})));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(equal(AttrValue(nan), AttrValue(nan)));
  BOOST_TEST(!equal(AttrValue(1.0), AttrValue(std::int64_t{1})));
}

BOOST_AUTO_TEST_CASE(equal_attributes_have_equal_hashes) {
  // Of two values with equal bits, one must not be told from the other by its hash.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Graph graph;
  const auto fill_of = [&](double v) { return graph.attributes(fill(graph, {}, v).id); };
  BOOST_TEST((fill_of(nan) == fill_of(nan)));
  BOOST_TEST(fill_of(nan).hash() == fill_of(nan).hash());
  BOOST_TEST(!(fill_of(0.0) == fill_of(-0.0)));
}

BOOST_AUTO_TEST_CASE(values_are_printed_as_they_are_read) {
  BOOST_TEST(to_string(AttrValue(std::int64_t{-3})) == "-3");
  BOOST_TEST(to_string(AttrValue(0.1)) == "0.1");
  BOOST_TEST(to_string(AttrValue(true)) == "true");
  BOOST_TEST(to_string(AttrValue(std::string("x"))) == "\"x\"");
  BOOST_TEST(to_string(AttrValue(std::vector<std::int64_t>{1, 2})) == "[1,2]");
  BOOST_TEST(to_string(AttrValue(DType::boolean)) == "bool");
  BOOST_TEST(to_string(AttrValue(Tensor::of<float>({2}, {1, 2.5f}))) == "f32[2]{1,2.5}");
  BOOST_TEST(to_string(AttrValue(Tensor({DType::i32, {9}}))) == "i32[9]{0,0,0,0,0,0,0,0,...}");
}

BOOST_AUTO_TEST_CASE(a_near_name_is_suggested_and_a_far_one_is_not) {
  BOOST_TEST(nearest("matmull", {"matmul", "mul"}) == "matmul");
  BOOST_TEST(nearest("ad", {"add", "and"}) == "add");
  BOOST_TEST(nearest("banana", {"matmul", "mul"}) == "");
  BOOST_TEST(nearest("", {"matmul"}) == "");
  BOOST_TEST(did_you_mean("sofmax", {"softmax"}) == ", did you mean 'softmax'?");
  BOOST_TEST(did_you_mean("banana", {"softmax"}) == "");
  // One letter is like no other, but for its case.
  BOOST_TEST(did_you_mean("y", {"x"}) == "");
  BOOST_TEST(did_you_mean("X", {"y", "x"}) == ", did you mean 'x'?");
  BOOST_TEST(did_you_mean("xx", {"y", "x"}) == ", did you mean 'x'?");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace whorl
