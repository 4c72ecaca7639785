// The batching rule of every op: a batch of chains equals the chains one by one.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "engine/ops.hpp"
#include "engine/passes.hpp"
#include "op_cases.hpp"

using namespace whorl;
using namespace whorl::testing;

namespace {

constexpr std::int64_t chains = 3;

// Chain 0 is the tensor itself; the others have their elements in another order, which keeps them
// in range. Structured inputs (symmetric, triangular) stay as they are in every chain.
Tensor chain_of(const Tensor& tensor, std::int64_t chain, bool structured) {
  Tensor result = tensor.clone();
  if (structured || tensor.elements() == 0) return result;
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype()));
  char* bytes = static_cast<char*>(result.raw());
  std::rotate(bytes, bytes + chain % tensor.elements() * size, bytes + tensor.bytes());
  return result;
}

Tensor stacked(const std::vector<Tensor>& rows) {
  Tensor result({rows[0].dtype(), rows[0].shape().with_front(chains)});
  char* out = static_cast<char*>(result.raw());
  for (const Tensor& row : rows) {
    std::memcpy(out, row.raw(), static_cast<std::size_t>(row.bytes()));
    out += row.bytes();
  }
  return result;
}

// A composition has no rule of its own; the pass batches its parts.
Tensor batched_by_parts(const OpCase& c, const Feeds& feeds, const bool* flags) {
  CaseGraph g = graph_of(c);
  g.graph->add_output("y", g.y.id);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    if (flags[i]) names.push_back(fmt::format("x{}", i));
  return evaluate(batch(*g.graph, names, chains), feeds).at("y");
}

// Applies the op's batching rule with the inputs of `subset` batched.
Tensor batched(const OpCase& c, const std::vector<std::vector<Tensor>>& rows, unsigned subset) {
  Graph graph;
  Feeds feeds;
  std::vector<Value> values;
  const auto flags = std::make_unique<bool[]>(c.inputs.size() + 1);
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    flags[i] = (subset >> i & 1u) != 0;
    const Tensor x = flags[i] ? stacked(rows[i]) : rows[i][0];
    const std::string name = fmt::format("x{}", i);
    values.push_back(input(graph, name, x.type()));
    feeds.emplace(name, x);
  }
  if (c.op->batch == nullptr) return batched_by_parts(c, feeds, flags.get());
  const Batch rule{&graph, c.op,
                   values, std::span<const bool>(flags.get(), c.inputs.size()),
                   chains, &c.attributes};
  const Value y = c.op->batch(rule);
  return evaluate(graph, feeds, {y.id}).front();
}

Tensor looped(const OpCase& c, const std::vector<std::vector<Tensor>>& rows, unsigned subset) {
  std::vector<Tensor> results;
  for (std::size_t chain = 0; chain < chains; ++chain) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < rows.size(); ++i)
      inputs.push_back(rows[i][(subset >> i & 1u) != 0 ? chain : 0]);
    results.push_back(evaluate_op(*c.op, inputs, c.attributes));
  }
  return stacked(results);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(batching)

BOOST_AUTO_TEST_CASE(a_batch_equals_its_chains_one_by_one) {
  for (const OpCase& c : op_cases(any_dtype)) {
    if (c.op->is(Traits::random) || c.inputs.empty()) continue;
    BOOST_REQUIRE(c.inputs.size() <= 8);
    std::vector<std::vector<Tensor>> rows;
    for (const Tensor& x : c.inputs) {
      rows.emplace_back();
      for (std::int64_t chain = 0; chain < chains; ++chain)
        rows.back().push_back(chain_of(x, chain, c.sample.prepare != nullptr));
    }
    for (unsigned subset = 1; subset < 1u << c.inputs.size(); ++subset) {
      const Tensor a = batched(c, rows, subset), b = looped(c, rows, subset);
      BOOST_TEST((a.type() == b.type()), c.label() << ": " << to_string(a.type()));
      // A batch may be computed as one larger product, with another order of addition.
      const double tolerance = c.key == DType::f32 ? 2e-6 : 1e-14;
      BOOST_TEST(distance(a, b) <= tolerance,
                 c.label() << " with inputs " << subset << " batched: " << distance(a, b));
    }
  }
}

// Chain c of a batch of random numbers is what a single chain with that number draws; here it is
// enough that chains differ from each other and that the first one is the unbatched draw.
BOOST_AUTO_TEST_CASE(random_numbers_differ_between_chains) {
  for (const OpCase& c : op_cases(floats)) {
    if (!c.op->is(Traits::random)) continue;
    bool chained = false;
    for (const auto& [name, value] : c.attributes.list())
      chained = chained || (name == "chained" && std::get<bool>(value));
    if (chained) continue;
    std::vector<std::vector<Tensor>> rows;
    for (const Tensor& x : c.inputs) rows.push_back({x});
    const Tensor a = batched(c, rows, 0), one = evaluate_op(*c.op, c.inputs, c.attributes);
    BOOST_TEST((a.type() == Type{one.dtype(), one.shape().with_front(chains)}), c.label());
    const char* bytes = static_cast<const char*>(a.raw());
    const auto size = static_cast<std::size_t>(one.bytes());
    BOOST_TEST(std::memcmp(bytes, one.raw(), size) == 0, c.label());
    BOOST_TEST(std::memcmp(bytes, bytes + size, size) != 0, c.label());
    BOOST_TEST(std::memcmp(bytes + size, bytes + 2 * size, size) != 0, c.label());
  }
}

BOOST_AUTO_TEST_SUITE_END()
