// whorl run: feeds a graph, runs it, and shows or stores what comes out.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "data/npy.hpp"
#include "driver/commands.hpp"
#include "driver/feeds.hpp"
#include "driver/json.hpp"
#include "driver/print.hpp"
#include "engine/executor.hpp"
#include "engine/passes.hpp"

namespace whorl::driver {

namespace {

// What became of an output: a file, or "" for one that is printed in full.
using Fetches = std::vector<std::pair<std::string, std::string>>;

// Checks the names, and turns named nodes that are no outputs into such.
Fetches collect_fetches(Graph& graph, const Arguments& arguments) {
  Fetches fetches = arguments.assignments("fetch");
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const auto& [name, path] = fetches[i];
    const NodeId node = named_node(graph, "run", "--fetch", name);
    const auto& outputs = graph.outputs();
    if (std::none_of(outputs.begin(), outputs.end(),
                     [&](const Graph::Output& output) { return output.name == name; }))
      graph.add_output(name, node);
    for (std::size_t j = 0; j < i; ++j)
      if (!path.empty() && fetches[j].second == path)
        fail(ErrorKind::usage, "run", "--fetch: '{}' and '{}' go to the same file {}",
             fetches[j].first, name, path);
  }
  return fetches;
}

bool all_finite(const Tensor& tensor) {
  return !is_float(tensor.dtype()) || summarise(tensor).not_finite == 0;
}

// Marks the nodes whose leading axis is the chain.
std::vector<char> chained_nodes(const Graph& graph, const FeedSet& feeds) {
  std::vector<char> chained(graph.size(), 0);
  for (const std::string& name : feeds.batched) chained[*graph.find(name)] = 1;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (feeds.chains > 0 && graph.op(id).is(Traits::random)) chained[id] = 1;
    for (NodeId in : graph.inputs(id)) chained[id] = chained[id] || chained[in];
  }
  return chained;
}

// Where the first number that is not finite came from. The plain interpreter sees every value that
// the fused run keeps in registers.
[[noreturn]] void report_not_finite(const Graph& graph, const FeedSet& feeds,
                                    const std::string& output) {
  const auto found = first_non_finite(graph, feeds.tensors);
  if (!found) fail(ErrorKind::numeric, "run", "output '{}' has a non-finite value", output);
  std::string chain;
  if (chained_nodes(graph, feeds)[found->node])
    chain = fmt::format(", chain {}", found->first / (found->elements / feeds.chains));
  fail(ErrorKind::numeric, "run", "{} is the first with a non-finite value: {} of {} elements{}",
       graph.label(found->node), found->count, found->elements, chain);
}

struct Timing {
  std::int64_t runs = 1;
  double seconds = 0;              // of the fastest run
  std::vector<StepProfile> steps;  // the slowest first; empty unless it was asked for
};

// What `executor` measured since `before`.
std::vector<StepProfile> profile_since(const std::vector<StepProfile>& before,
                                       const Executor& executor) {
  std::vector<StepProfile> steps = executor.profile();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].seconds -= before[i].seconds;
    steps[i].runs -= before[i].runs;
  }
  std::stable_sort(steps.begin(), steps.end(), [](const StepProfile& a, const StepProfile& b) {
    return a.seconds > b.seconds;
  });
  return steps;
}

Timing run_repeatedly(Executor& executor, std::int64_t runs, bool profile) {
  Timing timing{runs, 0, {}};
  // The first run touches memory for the first time, and MKL sets itself up.
  if (profile) executor.run();
  const std::vector<StepProfile> before = executor.profile();
  for (std::int64_t i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    executor.run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    timing.seconds = i == 0 ? took.count() : std::min(timing.seconds, took.count());
  }
  if (profile) timing.steps = profile_since(before, executor);
  return timing;
}

void print_profile(const Timing& timing, Output& output) {
  const std::vector<StepProfile>& steps = timing.steps;
  double total = 0;
  for (const StepProfile& step : steps) total += step.seconds;
  output.print("{}mean of {} run{} after one warm-up\n", output.empty() ? "" : "\n", timing.runs,
               timing.runs == 1 ? "" : "s");
  output.print("{:>10} {:>7} {:>11} {:>11} {:>7} {:>7}  {}\n", "time", "share", "bytes", "flops",
               "GB/s", "GF/s", "step");
  for (const StepProfile& step : steps) {
    const double seconds = step.runs > 0 ? step.seconds / static_cast<double>(step.runs) : 0;
    const auto rate = [&](double amount) { return seconds > 0 ? amount / seconds * 1e-9 : 0; };
    output.print("{:>10} {:>6.1f}% {:>11} {:>11.4g} {:>7.2f} {:>7.2f}  {}\n", seconds_text(seconds),
                 total > 0 ? 100 * step.seconds / total : 0, bytes_text(step.bytes), step.flops,
                 rate(step.bytes), rate(step.flops), step.name);
  }
}

struct Result {
  const Graph& graph;
  const FeedSet& feeds;
  const Fetches& fetches;
  const Executor& executor;
  const Timing& timing;
  int threads;

  // The file of an output, and whether it is to be shown in full.
  std::pair<std::string, bool> fetch_of(const std::string& name) const {
    for (const auto& [fetched, path] : fetches)
      if (fetched == name) return {path, path.empty()};
    return {"", false};
  }
};

void print_result(const Result& result, const Arguments& arguments, Output& output) {
  for (const Graph::Output& out : result.graph.outputs()) {
    const auto [path, full] = result.fetch_of(out.name);
    if (output.quiet && !full) continue;
    const Tensor& tensor = result.executor.output(out.name);
    if (path.empty()) {
      output.write(tensor_text(out.name, tensor, full));
    } else {
      output.print("{}  {}  wrote {}\n", out.name, to_string(tensor.type()), printable(path));
    }
  }
  if (result.timing.runs > 1 && !output.quiet)
    output.print("\n{} runs on {} thread{}, the fastest took {}\n", result.timing.runs,
                 result.threads, result.threads == 1 ? "" : "s",
                 seconds_text(result.timing.seconds));
  if (arguments.has("profile")) print_profile(result.timing, output);
}

void print_json(const Result& result, const Arguments& arguments, Output& output) {
  Json json;
  json.object().field("graph", arguments.positional()[0]).field("chains", result.feeds.chains);
  json.field("threads", result.threads).field("seed", arguments.seed());
  json.field("runs", result.timing.runs).field("seconds_fastest", result.timing.seconds);
  json.field("memory_bytes", result.executor.memory_bytes()).key("outputs").array();
  for (const Graph::Output& out : result.graph.outputs()) {
    const auto [path, full] = result.fetch_of(out.name);
    json.object().field("name", out.name);
    if (!path.empty()) json.field("file", path);
    add_tensor(json, result.executor.output(out.name), full);
    json.end();
  }
  json.end();
  if (arguments.has("profile")) {
    json.key("profile").array();
    for (const StepProfile& step : result.timing.steps)
      json.object()
          .field("step", step.name)
          .field("runs", step.runs)
          .field("seconds", step.seconds)
          .field("bytes", step.bytes)
          .field("flops", step.flops)
          .end();
    json.end();
  }
  output.write(json.end().text());
}

void run_run(const Arguments& arguments, Output& output) {
  const int threads = arguments.threads();
  const std::int64_t runs = arguments.integer("repeat", 1, 1, 1'000'000'000);
  const std::uint64_t seed = arguments.seed();
  override_environment(output);
  Graph graph = load_with_notes(arguments, output);
  const Fetches fetches = collect_fetches(graph, arguments);
  if (graph.outputs().empty())
    graph_error("run", "{}: the graph has no outputs; name a node by --fetch NAME",
                arguments.positional()[0]);
  FeedSet feeds = collect_feeds(graph, arguments);
  if (feeds.chains > 0) graph = batch(graph, feeds.batched, feeds.chains);

  const bool profile = arguments.has("profile");
  const auto plan = compile_within_budget(graph, arguments, drawn_bytes(graph, feeds));
  draw_feeds(graph, feeds, seed);
  Executor executor(plan, {.threads = threads, .profile = profile});
  for (const auto& [name, tensor] : feeds.tensors) executor.bind(name, tensor);
  const Timing timing = run_repeatedly(executor, runs, profile);

  if (arguments.has("check-finite"))
    for (const Graph::Output& out : graph.outputs())
      if (!all_finite(executor.output(out.name))) report_not_finite(graph, feeds, out.name);
  for (const auto& [name, path] : fetches)
    if (!path.empty()) save_npy(path, executor.output(name));

  const Result result{graph, feeds, fetches, executor, timing, threads};
  if (arguments.has("json")) {
    print_json(result, arguments, output);
  } else {
    print_result(result, arguments, output);
  }
}

}  // namespace

Command run_command() {
  return {
      "run",
      {"GRAPH"},
      1,
      "run a graph on arrays",
      "Computes the outputs of GRAPH. Inputs come from NPY files. An array with one more leading\n"
      "axis than its input is taken as K chains at once, and the outputs get that axis, too.\n"
      "Outputs that are not stored by --fetch are printed, large ones as min, mean and max.",
      "whorl run energy.pbtxt --feed x=x.npy --feed w=w.npy --fetch U=U.npy",
      {{"feed", "NAME=FILE", "the NPY file for an input; once for every input", '\0', true},
       {"fetch", "NAME[=FILE]", "store an output, or any named node; without FILE print it in full",
        '\0', true},
       {"chains", "K", "run K chains at once"},
       {"random-feeds", "", "standard normal numbers for floats that are not fed, else zeros"},
       {"seed", "N", "of --random-feeds (default 0)"},
       {"repeat", "N", "run N times and tell the fastest time"},
       {"profile", "", "tell time, bytes and flops of every step, after one run to warm up"},
       {"check-finite", "", "fail where an output is not finite, and name the first such node"},
       threads_option,
       budget_option,
       quiet_option("print only --fetch NAME, --profile and --json"),
       json_option},
      &run_run};
}

}  // namespace whorl::driver
