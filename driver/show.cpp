// whorl show: a graph as text, or as a picture for Graphviz.
#include "driver/commands.hpp"
#include "driver/json.hpp"
#include "engine/algorithms.hpp"
#include "engine/file.hpp"
#include "engine/passes.hpp"

namespace whorl::driver {

namespace {

void print_json(const Graph& graph, Output& output) {
  Json json;
  json.object().key("nodes").array();
  for (NodeId id = 0; id < graph.size(); ++id) {
    json.object().field("id", static_cast<std::int64_t>(id)).field("op", graph.op(id).name);
    if (!graph.name(id).empty()) json.field("name", graph.name(id));
    json.field("type", to_string(graph.type(id))).key("inputs").array();
    for (NodeId in : graph.inputs(id)) json.value(static_cast<std::int64_t>(in));
    json.end().key("attributes").object();
    for (const auto& [key, value] : graph.attributes(id).list()) json.field(key, to_string(value));
    json.end().end();
  }
  json.end().key("outputs").object();
  for (const Graph::Output& out : graph.outputs())
    json.field(out.name, static_cast<std::int64_t>(out.node));
  output.write(json.end().end().text());
}

void run_show(const Arguments& arguments, Output& output) {
  const std::string path = arguments.text("dot");
  if (path == "-" && arguments.has("json"))
    fail(ErrorKind::usage, "show",
         "--json and --dot - both go to standard output; give --dot a file");
  Graph graph = load_with_notes(arguments, output);
  if (arguments.has("optimised")) graph = simplify(graph);
  if (path == "-") return output.write(to_dot(graph));
  if (!path.empty()) write_file("show", path, to_dot(graph));
  if (arguments.has("json")) return print_json(graph, output);
  if (path.empty()) return output.write(to_text(graph));
  if (output.quiet) return;
  output.print("wrote {0}: draw it with 'dot -Tsvg -O {0}'\n", printable(path));
}

}  // namespace

Command show_command() {
  return {
      "show",
      {"GRAPH"},
      1,
      "print a graph, or draw it",
      "Prints one line a node, in the order of computation: its number, op, inputs, attributes,\n"
      "type and name.",
      "whorl show energy.pbtxt --dot energy.dot",
      {{"dot", "FILE", "write a drawing in Graphviz's language; - is standard output"},
       {"optimised", "", "as it runs, after the passes"},
       quiet_option("no notes, and not what --dot wrote"),
       json_option},
      &run_show};
}

}  // namespace whorl::driver
