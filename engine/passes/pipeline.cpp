// The one door for passes: skip, run, time, verify, and name the culprit.
#include <algorithm>
#include <chrono>

#include "engine/passes.hpp"

namespace whorl {

namespace {

void check_skip(const std::vector<Pass>& passes, const std::vector<std::string>& skip) {
  std::vector<std::string_view> names;
  for (const Pass& pass : passes)
    if (std::find(names.begin(), names.end(), pass.name) == names.end()) names.push_back(pass.name);
  for (const std::string& name : skip) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(ErrorKind::usage, "simplify", "unknown pass '{}'{}", name, did_you_mean(name, names));
    if (name == "lower")
      fail(ErrorKind::usage, "simplify", "pass 'lower' cannot be skipped: compositions do not run");
  }
}

// What a pass must keep: all inputs in their order, and the outputs' names and types.
void verify_kept(const Graph& before, const Graph& after) {
  const auto old_inputs = before.input_nodes(), new_inputs = after.input_nodes();
  const auto same_input = [&](NodeId a, NodeId b) {
    return before.name(a) == after.name(b) && before.type(a) == after.type(b);
  };
  if (!std::equal(old_inputs.begin(), old_inputs.end(), new_inputs.begin(), new_inputs.end(),
                  same_input))
    fail(ErrorKind::internal, "verify", "the inputs changed");
  const auto same_output = [&](const Graph::Output& a, const Graph::Output& b) {
    return a.name == b.name && before.type(a.node) == after.type(b.node);
  };
  if (!std::equal(before.outputs().begin(), before.outputs().end(), after.outputs().begin(),
                  after.outputs().end(), same_output))
    fail(ErrorKind::internal, "verify", "the outputs changed");
  if (before.metadata() != after.metadata())
    fail(ErrorKind::internal, "verify", "the metadata changed");
}

Graph run_checked(const Pass& pass, const Graph& graph) {
  try {
    Graph result = pass.run(graph);
    verify(result);
    verify_kept(graph, result);
    return result;
  } catch (const Error& error) {
    // A graph Error speaks of the user's graph; all else is a fault of the pass.
    if (error.kind() != ErrorKind::internal) throw;
    fail(ErrorKind::internal, "simplify", "pass '{}' broke the graph: {}", pass.name, error.what());
  }
}

}  // namespace

const std::vector<Pass>& standard_passes() {
  // The second round sees what the first one uncovered: merged nodes (x*x, x op x) and new fills.
  static const std::vector<Pass> passes{{"lower", lower},
                                        {"dead", remove_dead},
                                        {"constant", fold_constants},
                                        {"algebra", simplify_algebra},
                                        {"common", merge_common},
                                        {"nets", merge_nets},
                                        {"constant", fold_constants},
                                        {"algebra", simplify_algebra},
                                        {"common", merge_common},
                                        {"dead", remove_dead}};
  return passes;
}

Graph run_passes(const Graph& graph, const std::vector<Pass>& passes,
                 const std::vector<std::string>& skip, std::vector<PassReport>* report) {
  check_skip(passes, skip);
  Graph result = graph;
  for (const Pass& pass : passes) {
    if (std::find(skip.begin(), skip.end(), pass.name) != skip.end()) continue;
    const auto start = std::chrono::steady_clock::now();
    const std::size_t before = result.size();
    result = run_checked(pass, result);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (report != nullptr)
      report->push_back({std::string(pass.name), taken.count(), before, result.size()});
  }
  return result;
}

Graph simplify(const Graph& graph, const std::vector<std::string>& skip,
               std::vector<PassReport>* report) {
  return run_passes(graph, standard_passes(), skip, report);
}

}  // namespace whorl
