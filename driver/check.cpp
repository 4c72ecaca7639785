// whorl check: is this graph right, and what would it cost?
#include <algorithm>
#include <map>

#include "driver/check_sampler.hpp"
#include "driver/commands.hpp"
#include "driver/json.hpp"
#include "driver/print.hpp"
#include "engine/algorithms.hpp"
#include "engine/plan.hpp"
#include "graphs/experiment_file.hpp"
#include "graphs/graph_file.hpp"

namespace whorl::driver {

namespace {

struct Facts {
  std::string file, hash;
  std::vector<std::pair<std::string, std::size_t>> ops;  // the most frequent first
  std::int64_t parameters = 0;                           // numbers in inputs of that role
  std::size_t depth = 0;                                 // nodes on the longest path
  double flops = 0;
  std::size_t steps = 0;
  std::int64_t memory = 0, threads = 0;
  std::vector<std::string> warnings;
};

std::string role_of(const Graph& graph, NodeId input) {
  for (const auto& [key, value] : graph.attributes(input).list())
    if (key == "role") return std::get<std::string>(value);
  return "";
}

Facts gather(const Graph& graph, const Arguments& arguments) {
  Facts facts;
  facts.file = arguments.positional()[0];
  facts.hash = canonical_hash(graph);
  std::map<std::string, std::size_t> counts;
  for (NodeId id = 0; id < graph.size(); ++id) ++counts[std::string(graph.op(id).name)];
  facts.ops.assign(counts.begin(), counts.end());
  std::stable_sort(facts.ops.begin(), facts.ops.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (NodeId id : graph.input_nodes())
    if (role_of(graph, id) == "parameter") facts.parameters += graph.type(id).elements();
  facts.depth = levels(graph).depth();
  facts.threads = arguments.threads();
  if (graph.outputs().empty()) return facts;
  const auto plan = compile_within_budget(graph, arguments);
  for (const PlanStep& step : plan->steps) facts.flops += step.flops;
  facts.steps = plan->steps.size();
  facts.memory = plan->memory_bytes(static_cast<int>(facts.threads));
  return facts;
}

// "add 3, mul 2, ..."; the rest as one number, so that it fits a line or two.
std::string counts_text(const Facts& facts) {
  constexpr std::size_t shown = 8;
  std::string text;
  const std::size_t count = facts.ops.size() > shown + 1 ? shown : facts.ops.size();
  for (std::size_t i = 0; i < count; ++i)
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", facts.ops[i].first, facts.ops[i].second);
  if (count < facts.ops.size()) text += fmt::format(", {} other ops", facts.ops.size() - count);
  return text;
}

// Rows of one topic: its name stands before the first.
class Rows {
 public:
  Rows(Output& output, std::string_view topic) : output_(output), topic_(topic) {}
  void add(std::string_view text) {
    output_.print("  {:<11} {}\n", topic_, text);
    topic_ = "";
  }

 private:
  Output& output_;
  std::string_view topic_;
};

constexpr std::size_t shown_rows = 12;  // of inputs and of outputs: the summary is one screen

void print_inputs(const Graph& graph, Output& output) {
  const std::vector<NodeId> ids = graph.input_nodes();
  std::size_t width = 0;
  for (NodeId id : ids) width = std::max(width, graph.name(id).size());
  Rows rows(output, "inputs");
  for (std::size_t i = 0; i < std::min(shown_rows, ids.size()); ++i)
    rows.add(fmt::format("{:<{}}  {:<14} {}", graph.name(ids[i]), width,
                         to_string(graph.type(ids[i])), role_of(graph, ids[i])));
  if (ids.size() > shown_rows) rows.add(fmt::format("and {} more", ids.size() - shown_rows));
  if (ids.empty()) rows.add("none");
}

void print_outputs(const Graph& graph, Output& output) {
  const auto& outputs = graph.outputs();
  std::size_t width = 0;
  for (const Graph::Output& out : outputs) width = std::max(width, out.name.size());
  Rows rows(output, "outputs");
  for (std::size_t i = 0; i < std::min(shown_rows, outputs.size()); ++i)
    rows.add(
        fmt::format("{:<{}}  {}", outputs[i].name, width, to_string(graph.type(outputs[i].node))));
  if (outputs.size() > shown_rows)
    rows.add(fmt::format("and {} more", outputs.size() - shown_rows));
  if (outputs.empty()) rows.add("none");
}

void print_facts(const Graph& graph, const Facts& facts, Output& output) {
  output.print("{} is a valid graph\n", printable(facts.file));
  print_inputs(graph, output);
  print_outputs(graph, output);
  Rows(output, "nodes").add(fmt::format("{}: {}", graph.size(), counts_text(facts)));
  Rows(output, "parameters").add(fmt::format("{} numbers", facts.parameters));
  Rows(output, "work")
      .add(fmt::format("{} flops in {} steps; critical path {} nodes", count_text(facts.flops),
                       facts.steps, facts.depth));
  Rows(output, "memory")
      .add(fmt::format("{} on {} thread{}, beside inputs and constants",
                       bytes_text(static_cast<double>(facts.memory)), facts.threads,
                       facts.threads == 1 ? "" : "s"));
  Rows(output, "hash").add(facts.hash);
  Rows warnings(output, "warnings");
  for (std::size_t i = 0; i < std::min(shown_rows, facts.warnings.size()); ++i)
    warnings.add(facts.warnings[i]);
  if (facts.warnings.size() > shown_rows)
    warnings.add(fmt::format("and {} more", facts.warnings.size() - shown_rows));
}

void print_json(const Graph& graph, const Facts& facts, Output& output) {
  Json json;
  json.object().field("graph", facts.file).field("hash", facts.hash).key("inputs").array();
  for (NodeId id : graph.input_nodes())
    json.object()
        .field("name", graph.name(id))
        .field("type", to_string(graph.type(id)))
        .field("role", role_of(graph, id))
        .end();
  json.end().key("outputs").array();
  for (const Graph::Output& out : graph.outputs())
    json.object().field("name", out.name).field("type", to_string(graph.type(out.node))).end();
  json.end().field("nodes", graph.size()).key("ops").object();
  for (const auto& [op, count] : facts.ops) json.field(op, count);
  json.end().field("parameters", facts.parameters).field("flops", facts.flops);
  json.field("steps", facts.steps).field("critical_path", facts.depth);
  json.field("threads", facts.threads).field("memory_bytes", facts.memory);
  json.key("warnings").array();
  for (const std::string& warning : facts.warnings) json.value(warning);
  output.write(json.end().end().text());
}

void check_experiment(const std::string& path, Output& output) {
  const ExperimentFile experiment = load_experiment(path);
  if (!output.quiet)
    output.print("{} is a valid experiment: {}, targets {}{}\n", printable(path),
                 printable(experiment.name), experiment.targets.size(),
                 experiment.training ? ", with training" : "");
}

void run_check(const Arguments& arguments, Output& output) {
  if (arguments.has("sampler")) {
    if (!arguments.positional().empty())
      fail(ErrorKind::usage, "check", "a graph and --sampler cannot be checked at once");
    return check_sampler(arguments.text("sampler"), arguments, output);
  }
  if (arguments.positional().empty())
    fail(ErrorKind::usage, "check", "GRAPH is missing; as in: whorl check energy.pbtxt");
  const std::string& path = arguments.positional()[0];
  if (path.empty()) fail(ErrorKind::usage, "check", "GRAPH: the file name is empty");
  if (const FileKind kind = kind_of_file(path); kind == FileKind::sampler) {
    return check_sampler(path, arguments, output);
  } else if (kind == FileKind::experiment) {
    return check_experiment(path, output);
  }
  LoadReport report;
  LoadOptions options;
  options.report = &report;
  const Graph graph = load_graph(arguments.positional()[0], options);
  Facts facts = gather(graph, arguments);
  facts.warnings = report.warnings;
  if (arguments.has("json")) {
    print_json(graph, facts, output);
  } else if (!output.quiet) {
    print_facts(graph, facts, output);
  }
}

}  // namespace

Command check_command() {
  return {
      "check",
      {"GRAPH"},
      0,
      "verify a graph, or prove a sampler",
      "Loads GRAPH, verifies everything in it, and plans a run without running it. Prints a\n"
      "summary, or the first thing that is wrong. With --sampler, or for a sampler's file, shows\n"
      "that the sampler leaves its law invariant: its correction against differences, the\n"
      "Fokker-Planck equation, and real steps from exact draws.",
      "whorl check --sampler graphs/samplers/friction_uphill.pbtxt",
      {{"sampler", "NAME|FILE", "prove a sampler: sgld, sghmc, sgnht or a sampler file"},
       threads_option,
       budget_option,
       quiet_option,
       json_option},
      &run_check};
}

}  // namespace whorl::driver
