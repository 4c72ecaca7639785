// whorl grad: the graph that also computes derivatives, as a file.
#include <algorithm>

#include "autodiff/tape.hpp"
#include "driver/commands.hpp"
#include "driver/json.hpp"
#include "engine/passes.hpp"
#include "graphs/graph_file.hpp"

namespace whorl::driver {

namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string name = text.substr(begin, end - begin);
    if (name.empty()) fail(ErrorKind::usage, "grad", "--wrt '{}' has an empty name in it", text);
    if (std::find(names.begin(), names.end(), name) != names.end())
      fail(ErrorKind::usage, "grad", "--wrt names '{}' twice", name);
    names.push_back(std::move(name));
    begin = end + 1;
  }
  return names;
}

std::string required(const Arguments& arguments, std::string_view option) {
  if (!arguments.has(option)) fail(ErrorKind::usage, "grad", "--{} is missing", option);
  return arguments.text(option);
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
  output.print("wrote {}: {} nodes, outputs", path, graph.size());
  for (const Graph::Output& out : graph.outputs())
    output.print(" {} {}{}", out.name, to_string(graph.type(out.node)),
                 &out == &graph.outputs().back() ? "\n" : ",");
}

void run_grad(const Arguments& arguments, Output& output) {
  const std::string of = required(arguments, "of");
  const std::vector<std::string> wrt = split(required(arguments, "wrt"));
  const std::string path = required(arguments, "output");
  Graph graph = load_with_notes(arguments, output);
  const NodeId of_node = named_node(graph, "grad", "--of", of);
  std::vector<Value> variables;
  for (const std::string& name : wrt)
    variables.push_back(graph.value(named_node(graph, "grad", "--wrt", name)));
  GradientOptions options;
  options.allow_unused = arguments.has("allow-unused");
  const auto gradients = gradient(graph.value(of_node), variables, options);
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
          "whorl grad energy.pbtxt --of U --wrt w,b -o gradient.pb",
          {{"of", "NAME", "the output or node to differentiate"},
           {"wrt", "NAMES", "inputs or nodes, separated by commas"},
           {"output", "FILE", "where to write: .pb (binary) or .pbtxt (text)", 'o'},
           {"keep-outputs", "", "keep the other outputs of GRAPH, too"},
           {"allow-unused", "", "zeros where --of does not depend on a NAME, not an error"},
           quiet_option,
           json_option},
          &run_grad};
}

}  // namespace whorl::driver
