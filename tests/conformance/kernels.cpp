// The kernels of every op: in place, in any blocks, in any cut of units, always the same bits.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "engine/floating_point.hpp"
#include "engine/ops.hpp"
#include "op_cases.hpp"
#include "random_source.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

// A case with its memory laid out as a kernel sees it.
struct Run {
  const OpDef& op;
  std::vector<Tensor> inputs;
  std::vector<Type> types;
  std::vector<const void*> pointers;
  Site site;
  std::size_t kernel;

  Run(const OpDef& row, std::vector<Tensor> tensors, const Attributes& attributes)
      : op(row), inputs(std::move(tensors)) {
    for (const Tensor& tensor : inputs) {
      types.push_back(tensor.type());
      pointers.push_back(tensor.raw());
    }
    site = Site{&op, types, attributes, {}};
    site.out = op.infer(site);
    kernel = op.kernel_index(site);
  }

  // Output memory that holds neither zeros nor anything an op would write by chance.
  Tensor garbage() const {
    Tensor tensor(site.out);
    std::memset(tensor.raw(), 0xA5, static_cast<std::size_t>(tensor.bytes()));
    return tensor;
  }
  Tensor whole() const { return evaluate_op(op, inputs, site.attributes); }

  void tile(void* output, std::int64_t begin, std::int64_t n,
            const std::vector<const void*>& from) const {
    std::vector<const void*> at = from;
    if (op.is(Traits::elementwise))
      for (std::size_t i = 0; i < at.size(); ++i)
        at[i] = static_cast<const char*>(at[i]) +
                begin * static_cast<std::int64_t>(size_of(types[i].dtype));
    char* out =
        static_cast<char*>(output) + begin * static_cast<std::int64_t>(size_of(site.out.dtype));
    op.tile[kernel]({&site, at.data(), out, begin, n});
  }
};

// The sample, and for elementwise ops the same ranges in a shape that fills vectors and leaves a
// rest.
std::vector<Run> runs_of(const OpCase& c) {
  std::vector<Run> runs;
  runs.emplace_back(*c.op, c.inputs, c.attributes);
  if (!c.op->is(Traits::elementwise)) return runs;
  Sample larger = c.sample;
  for (SampleInput& in : larger.inputs) in.shape = Shape{5, 37};
  runs.emplace_back(*c.op, sample_inputs(*c.op, larger, c.key), c.attributes);
  return runs;
}

// Cuts [0, n) into parts: of one, of the whole, and two random ones.
std::vector<std::vector<std::int64_t>> cuts(std::int64_t n, std::string_view seed) {
  std::vector<std::int64_t> ones;
  for (std::int64_t i = 0; i <= n; ++i) ones.push_back(i);
  std::vector<std::vector<std::int64_t>> result{ones, {0, n}};
  RandomSource random(seed);
  for (double share : {0.1, 0.4}) {
    std::vector<std::int64_t> cut{0};
    for (std::int64_t i = 1; i < n; ++i)
      if (random.chance(share)) cut.push_back(i);
    cut.push_back(n);
    result.push_back(cut);
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernels)

BOOST_AUTO_TEST_CASE(elementwise_kernels_may_write_over_an_input) {
  const FlushDenormals guard;
  for (const OpCase& c : op_cases(any_dtype)) {
    if (!c.op->is(Traits::elementwise) || c.op->is_composition()) continue;
    for (const Run& run : runs_of(c)) {
      const Tensor expected = run.whole();
      for (std::size_t k = 0; k < run.inputs.size(); ++k) {
        if (run.types[k] != run.site.out) continue;
        Tensor shared = run.inputs[k].clone();
        auto pointers = run.pointers;
        pointers[k] = shared.raw();
        run.tile(shared.raw(), 0, shared.elements(), pointers);
        BOOST_TEST(shared.same_bits(expected), c.label() << " over input " << k);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(tiles_of_any_size_give_the_same_bits) {
  const FlushDenormals guard;
  for (const OpCase& c : op_cases(any_dtype)) {
    if (c.op->is_composition()) continue;
    for (const Run& run : runs_of(c)) {
      if (run.op.tile[run.kernel] == nullptr) continue;
      const Tensor expected = run.whole();
      for (const auto& cut : cuts(expected.elements(), c.label())) {
        Tensor y = run.garbage();
        for (std::size_t i = cut.size() - 1; i-- > 0;)
          run.tile(y.raw(), cut[i], cut[i + 1] - cut[i], run.pointers);
        BOOST_TEST(y.same_bits(expected), c.label() << " in " << cut.size() - 1 << " tiles");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(units_in_any_cut_and_order_give_the_same_bits) {
  const FlushDenormals guard;
  for (const OpCase& c : op_cases(any_dtype)) {
    if (c.op->is_composition()) continue;
    const Run run(*c.op, c.inputs, c.attributes);
    if (run.op.forward[run.kernel] == nullptr) continue;
    const Tensor expected = run.whole();
    const std::int64_t scratch_bytes = run.op.scratch(run.site);
    for (const auto& cut : cuts(run.op.units(run.site), c.label())) {
      Tensor y = run.garbage();
      const auto scratch = allocate_storage(scratch_bytes);
      std::memset(scratch.get(), 0xA5, static_cast<std::size_t>(scratch_bytes));
      const Call call{&run.site, run.pointers.data(), y.raw(), scratch.get()};
      if (run.op.prepare[run.kernel] != nullptr) run.op.prepare[run.kernel](call);
      for (std::size_t i = cut.size() - 1; i-- > 0;)
        run.op.forward[run.kernel](call, cut[i], cut[i + 1]);
      if (run.op.finish[run.kernel] != nullptr) run.op.finish[run.kernel](call);
      BOOST_TEST(y.same_bits(expected), c.label() << " in " << cut.size() - 1 << " parts");
    }
  }
}

BOOST_AUTO_TEST_CASE(what_claims_to_be_an_alias_holds_the_inputs_bytes) {
  for (const OpCase& c : op_cases(any_dtype)) {
    if (c.op->is_composition()) continue;
    const Run run(*c.op, c.inputs, c.attributes);
    const auto offset = run.op.alias(run.site);
    if (!offset) continue;
    BOOST_REQUIRE(*offset >= 0);
    BOOST_REQUIRE(*offset + run.site.out.elements() <= run.types[0].elements());
    const Tensor expected = run.whole();
    const auto skipped = *offset * static_cast<std::int64_t>(size_of(run.types[0].dtype));
    const char* bytes = static_cast<const char*>(run.inputs[0].raw()) + skipped;
    BOOST_TEST(std::memcmp(bytes, expected.raw(), static_cast<std::size_t>(expected.bytes())) == 0,
               c.label());
  }
}

BOOST_AUTO_TEST_CASE(what_claims_to_be_uniform_holds_one_number) {
  for (const OpCase& c : op_cases(any_dtype)) {
    if (c.op->is_composition()) continue;
    const Run run(*c.op, c.inputs, c.attributes);
    if (!run.op.uniform(run.site)) continue;
    const Tensor y = run.whole();
    for (std::int64_t i = 1; i < y.elements(); ++i) BOOST_TEST(y.at(i) == y.at(0), c.label());
  }
}

BOOST_AUTO_TEST_SUITE_END()
