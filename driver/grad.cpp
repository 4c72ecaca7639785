// whorl grad: the graph that also computes derivatives, as a file.
#include <fmt/ranges.h>

#include <algorithm>

#include "autodiff/tape.hpp"
#include "driver/commands.hpp"
#include "driver/json.hpp"
#include "engine/passes.hpp"
#include "graphs/graph_file.hpp"

namespace whorl::driver {

namespace {

constexpr std::string_view example = "whorl grad energy.pbtxt --of U --wrt w,b -o gradient.pb";

std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> names = split(text, ',');
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty())
      fail(ErrorKind::usage, "grad", "--wrt '{}' has an empty name in it", text);
    const auto here = names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(names.begin(), here, names[i]) != here)
      fail(ErrorKind::usage, "grad", "--wrt names '{}' twice", names[i]);
  }
  return names;
}

void check_required(const Arguments& arguments) {
  std::vector<std::string> missing;
  for (const char* option : {"of", "wrt", "output"})
    if (!arguments.has(option)) missing.push_back(fmt::format("--{}", option));
  if (missing.empty()) return;
  const std::string last = missing.back();
  missing.pop_back();
  fail(ErrorKind::usage, "grad", "{}{}{} missing; as in: {}", fmt::join(missing, ", "),
       missing.empty() ? "" : " and ", missing.empty() ? last + " is" : last + " are", example);
}

void check_float(const Graph& graph, std::string_view option, const std::string& name, NodeId id) {
  const Type& type = graph.type(id);
  if (!is_float(type.dtype))
    fail(ErrorKind::usage, "grad", "{} {} is {}; a gradient needs f32 or f64", option, name,
         to_string(type));
}

// The gradients, with the library's errors put into the words of the command line.
std::vector<Value> differentiate(Graph& graph, const std::string& of, NodeId of_node,
                                 const std::vector<Value>& variables, bool allow_unused) {
  check_float(graph, "--of", of, of_node);
  if (graph.type(of_node).shape.rank() > 0)
    fail(ErrorKind::usage, "grad", "--of {} is {}; a gradient needs a scalar: add a sum node", of,
         to_string(graph.type(of_node)));
  GradientOptions options;
  options.allow_unused = allow_unused;
  try {
    return gradient(graph.value(of_node), variables, options);
  } catch (const Error& error) {
    std::string text(bare_text(error));
    constexpr std::string_view hint = "set allow_unused to get zeros";
    const std::size_t at = text.find(hint);
    if (at == std::string::npos) throw;
    text.replace(at, hint.size(), "give --allow-unused to get zeros");
    throw Error(error.kind(), "grad", text);
  }
}

// The outputs of the new graph: `of`, then its derivatives as grad/NAME (those of grad/A as
// grad/A/NAME), then, if they are to be kept, the other outputs.
void set_outputs(Graph& graph, const std::string& of, NodeId of_node,
                 const std::vector<std::string>& wrt, const std::vector<Value>& gradients,
                 bool keep) {
  const std::vector<Graph::Output> old = graph.outputs();
  graph.clear_outputs();
  graph.add_output(of, of_node);
  const std::string prefix = of.starts_with("grad/") ? of : "grad";
  for (std::size_t i = 0; i < wrt.size(); ++i)
    graph.add_output(fmt::format("{}/{}", prefix, wrt[i]), gradients[i].id);
  if (!keep) return;
  for (const Graph::Output& output : old)
    if (output.name != of) graph.add_output(output.name, output.node);
}

void report(const Arguments& arguments, const Graph& graph, const std::string& path,
            Output& output) {
  if (arguments.has("json")) {
    Json json;
    json.object().field("file", path).field("nodes", graph.size());
    json.field("hash", canonical_hash(graph)).key("outputs").array();
    for (const Graph::Output& out : graph.outputs())
      json.object().field("name", out.name).field("type", to_string(graph.type(out.node))).end();
    return output.write(json.end().end().text());
  }
  if (output.quiet) return;
  output.print("wrote {}: {} nodes, outputs", printable(path), graph.size());
  for (const Graph::Output& out : graph.outputs())
    output.print(" {} {}{}", out.name, to_string(graph.type(out.node)),
                 &out == &graph.outputs().back() ? "\n" : ",");
}

void run_grad(const Arguments& arguments, Output& output) {
  check_required(arguments);
  const std::string of = arguments.text("of");
  const std::vector<std::string> wrt = names_of(arguments.text("wrt"));
  const std::string path = arguments.text("output");
  Graph graph = load_with_notes(arguments, output);
  const NodeId of_node = named_node(graph, "grad", "--of", of);
  std::vector<Value> variables;
  for (const std::string& name : wrt) {
    const NodeId node = named_node(graph, "grad", "--wrt", name);
    check_float(graph, "--wrt", name, node);
    variables.push_back(graph.value(node));
  }
  const auto gradients =
      differentiate(graph, of, of_node, variables, arguments.has("allow-unused"));
  set_outputs(graph, of, of_node, wrt, gradients, arguments.has("keep-outputs"));
  const Graph result = remove_dead(merge_common(graph));
  save_graph(result, path);
  report(arguments, result, path, output);
}

}  // namespace

Command grad_command() {
  return {"grad",
          {"GRAPH"},
          1,
          "write the graph that also computes derivatives",
          "Differentiates one scalar of GRAPH and stores the result as a graph of its own. Its\n"
          "outputs are the scalar and, for every NAME in --wrt, the derivative grad/NAME. It can\n"
          "be checked, shown, run and differentiated again like any other: that of grad/A by B is\n"
          "called grad/A/B.",
          example,
          {{"of", "NAME", "the output or node to differentiate"},
           {"wrt", "NAMES", "inputs or nodes, separated by commas"},
           {"output", "FILE", "where to write: .pb (binary) or .pbtxt (text)", 'o'},
           {"keep-outputs", "", "keep the other outputs of GRAPH, too"},
           {"allow-unused", "", "zeros where --of does not depend on a NAME, not an error"},
           quiet_option("print nothing but --json"),
           json_option},
          &run_grad};
}

}  // namespace whorl::driver
