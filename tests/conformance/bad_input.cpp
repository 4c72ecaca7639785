// Every op on inputs and attributes that do not fit: an Error that names the op, never a crash.
//
// The variants are made from the schema and the samples, so a new op is swept from its first build.
#include <boost/test/unit_test.hpp>

#include "engine/ops.hpp"
#include "errors.hpp"
#include "op_variants.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

struct Counts {
  int tried = 0, refused = 0, failed = 0, ran = 0;
};

// A refusal must be of kind graph and begin with the op's name; what is accepted must run or end
// with an Error. An internal Error is one of our bugs.
void sweep(const OpCase& c, const std::vector<Variant>& variants, Counts& counts) {
  for (const Variant& variant : variants) {
    BOOST_TEST_CHECKPOINT(c.label() << ": " << variant.label);
    const Trial trial = attempt(c, variant);
    ++counts.tried;
    if (trial.outcome == Outcome::ran) {
      ++counts.ran;
    } else if (trial.outcome == Outcome::failed_at_run) {
      ++counts.failed;
      BOOST_TEST((trial.kind != ErrorKind::internal && trial.kind != ErrorKind::memory),
                 c.label() << ": " << variant.label << ": " << trial.text);
    } else {
      ++counts.refused;
      BOOST_TEST((trial.kind == ErrorKind::graph),
                 c.label() << ": " << variant.label << ": " << trial.text);
      BOOST_TEST(trial.text.starts_with(fmt::format("[{}] ", c.op->name)),
                 c.label() << ": " << variant.label << ": " << trial.text);
    }
  }
}

void report(std::string_view what, const Counts& counts) {
  BOOST_TEST_MESSAGE(fmt::format("{}: {} tried, {} refused, {} failed at run, {} ran", what,
                                 counts.tried, counts.refused, counts.failed, counts.ran));
  BOOST_TEST(counts.refused > 0);
  BOOST_TEST(counts.ran > 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bad_input)

BOOST_AUTO_TEST_CASE(zero_size_and_rank_0_inputs_run_or_are_refused) {
  Counts counts;
  for (const OpCase& c : op_cases(any_dtype)) sweep(c, empty_variants(c), counts);
  report("empty", counts);
}

BOOST_AUTO_TEST_CASE(elementwise_ops_and_sums_accept_zero_size_and_rank_0) {
  for (const OpCase& c : op_cases(floats)) {
    if (!c.op->is(Traits::elementwise)) continue;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{2, 0, 3}}) {
      Variant v{to_string(shape), c.sample, c.attributes.list()};
      for (SampleInput& in : v.sample.inputs) in.shape = shape;
      const Trial trial = attempt(c, v);
      BOOST_TEST((trial.outcome == Outcome::ran), c.label() << v.label << ": " << trial.text);
    }
  }
}

BOOST_AUTO_TEST_CASE(inputs_that_do_not_fit_are_refused_by_name) {
  Counts counts;
  for (const OpCase& c : op_cases(any_dtype)) sweep(c, input_variants(c), counts);
  report("inputs", counts);
}

BOOST_AUTO_TEST_CASE(attributes_that_do_not_fit_are_refused_by_name) {
  Counts counts;
  for (const OpCase& c : op_cases(any_dtype)) sweep(c, attribute_variants(c), counts);
  report("attributes", counts);
}

BOOST_AUTO_TEST_CASE(rank_9_cannot_be_written_down) {
  BOOST_TEST(error_text([] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }) ==
             "[shape] rank 9 is more than the limit of 8");
  BOOST_TEST(error_text([] { Shape{1, 1, 1, 1, 1, 1, 1, 1}.with_front(2); }) ==
             "[shape] rank 9 is more than the limit of 8");
}

BOOST_AUTO_TEST_SUITE_END()
