// Every op in the table: samples, values, attributes, special numbers.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "engine/ops.hpp"
#include "errors.hpp"
#include "op_cases.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

bool all_finite(const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (!std::isfinite(tensor.at(i))) return false;
  return true;
}

Tensor with_element(const Tensor& tensor, std::int64_t index, double number) {
  Tensor result = tensor.clone();
  if (tensor.dtype() == DType::f32) result.data<float>()[index] = static_cast<float>(number);
  if (tensor.dtype() == DType::f64) result.data<double>()[index] = number;
  return result;
}

// Elementwise ops that may answer a NaN with a number, because the NaN does not decide the answer.
bool may_ignore_nan(const OpDef& op) {
  return op.name == "select" ||  // the branch that is not chosen
         op.name == "pow" ||     // pow(x, 0) and pow(1, x) are 1, as in IEEE 754
         op.name == "step";      // 1 where x > 0, and NaN > 0 is false
}

}  // namespace

BOOST_AUTO_TEST_SUITE(values)

BOOST_AUTO_TEST_CASE(every_op_has_samples_in_every_floating_type_that_it_takes) {
  std::set<std::string_view> found;
  for (const OpCase& c : op_cases(any_dtype)) found.insert(c.op->name);
  for (const OpDef* op : all_ops())
    if (!op->is(Traits::source))
      BOOST_TEST(found.contains(op->name), op->name << " has no samples");
  BOOST_TEST(found.size() > 40u);
}

BOOST_AUTO_TEST_CASE(values_are_finite_and_single_precision_agrees_with_double) {
  for (const OpCase& c : op_cases(floats)) {
    const Tensor y = graph_of(c).value(graph_of(c).y);
    BOOST_TEST(all_finite(y), c.label());
    // The two precisions draw different random numbers from the same bits.
    if (c.key != DType::f32 || c.op->key < 0 || c.op->is(Traits::random)) continue;
    if ((c.op->dtypes & only(DType::f64)) == 0) continue;
    std::vector<Tensor> wide;
    for (const Tensor& x : c.inputs) wide.push_back(converted(x, DType::f64));
    const Tensor exact = evaluate_op(*c.op, wide, c.attributes);
    BOOST_TEST(distance(y, exact) <= 2e-6, c.label() << ": " << distance(y, exact));
  }
}

BOOST_AUTO_TEST_CASE(integer_and_bool_kernels_run) {
  for (const OpCase& c : op_cases(only(DType::i32) | booleans)) {
    const CaseGraph g = graph_of(c);
    BOOST_TEST((g.value(g.y).type() == g.y.type()), c.label());
  }
}

BOOST_AUTO_TEST_CASE(attributes_survive_being_written_as_a_list) {
  for (const OpCase& c : op_cases(any_dtype)) {
    const AttrList list = c.attributes.list();
    const Attributes again = make_attributes(c.op->name, c.op->attrs(), list);
    BOOST_TEST((again == c.attributes), c.label());
    BOOST_TEST(again.hash() == c.attributes.hash(), c.label());
    const AttrList twice = again.list();
    BOOST_REQUIRE(twice.size() == list.size());
    for (std::size_t i = 0; i < list.size(); ++i)
      BOOST_TEST((list[i].first == twice[i].first && equal(list[i].second, twice[i].second)),
                 c.label() << " " << list[i].first);
    // A graph keeps them, and infers the same type from them.
    CaseGraph g = graph_of(*c.op, c.inputs, again);
    BOOST_TEST((g.graph->attributes(g.y.id) == c.attributes), c.label());
    BOOST_TEST((g.y.type() == graph_of(c).y.type()), c.label());
  }
}

// Wherever the special number stands, the op ends with a value or with an Error.
BOOST_AUTO_TEST_CASE(special_numbers_do_not_crash_and_nan_passes_through_elementwise_ops) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const OpCase& c : op_cases(floats)) {
    for (std::size_t k = 0; k < c.inputs.size(); ++k) {
      const Tensor& x = c.inputs[k];
      if (!is_float(x.dtype()) || x.elements() == 0) continue;
      for (double number : {nan, HUGE_VAL, -HUGE_VAL, 0.0, -0.0, 1e300, 1e-300}) {
        for (std::int64_t at : {std::int64_t{0}, x.elements() - 1}) {
          auto inputs = c.inputs;
          inputs[k] = with_element(x, at, number);
          Tensor y;
          if (!error_text([&] { y = evaluate_op(*c.op, inputs, c.attributes); }).empty()) continue;
          if (std::isnan(number) && c.op->is(Traits::elementwise) && is_float(y.dtype()) &&
              !may_ignore_nan(*c.op))
            BOOST_TEST(std::isnan(y.at(at)), c.label() << " input " << k << " lost a NaN");
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
