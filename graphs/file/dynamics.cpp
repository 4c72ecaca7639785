#include "graphs/file/dynamics.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "engine/attributes.hpp"
#include "engine/ops.hpp"
#include "graphs/file/expand.hpp"
#include "graphs/file/link.hpp"
#include "graphs/file/sizes.hpp"
#include "graphs/file/small_step.hpp"
#include "graphs/graph.pb.h"
#include "graphs/graph_file.hpp"
#include "samplers/dynamics.hpp"

namespace whorl::graphs {

namespace {

// What is needed to make the graph again and again, after the file is gone.
struct Written {
  file::Graph message;  // the function's body, its inputs still without types
  Lines lines;
  std::string origin;
  LoadLimits limits;
  std::vector<std::string> numbers;  // the outputs D.VARIABLE that a chain has once, and K
};

template <class List>
std::vector<int> lines_of(const FieldReader& io, std::string_view field, const List& list) {
  std::vector<int> lines;
  for (int i = 0; i < list.size(); ++i) lines.push_back(io.line(field, i));
  return lines;
}

void check_inputs(const FieldReader& io, const file::Function& function,
                  const std::vector<std::string_view>& variables) {
  std::vector<std::string_view> known = variables;
  known.insert(known.end(), {"energy", "gradient", "size"});
  for (int i = 0; i < function.inputs_size(); ++i) {
    const FieldReader input = io.entry("inputs", i);
    const std::string& name = function.inputs(i).name();
    if (std::find(known.begin(), known.end(), name) == known.end())
      load_error(input.place(), "input '{}' is none of {}{}", shown(name), fmt::join(known, ", "),
                 name.size() > 64 ? "" : did_you_mean(name, known));
    for (const char* field : {"type", "role"})
      if (input.has(field))
        input.refuse(field, "must be left out: the inputs of a sampler are all f32[n]");
  }
}

// D, D.VARIABLE, Q, Q.ROW.COLUMN and K.
void check_outputs(const FieldReader& io, const file::Function& function,
                   const std::vector<std::string_view>& variables) {
  const bool has_momentum = variables.size() > 1 && variables[1] == "momentum";
  std::vector<std::string> known{"D", "K"};
  if (has_momentum) known.push_back("Q");
  for (std::string_view row : variables) {
    known.push_back(fmt::format("D.{}", row));
    for (std::string_view column : variables)
      if (row != column) known.push_back(fmt::format("Q.{}.{}", row, column));
  }
  const std::vector<std::string_view> views(known.begin(), known.end());
  bool has_kinetic = false;
  for (int i = 0; i < function.outputs_size(); ++i) {
    const std::string& name = function.outputs(i).name();
    has_kinetic |= name == "K";
    if (std::find(known.begin(), known.end(), name) == known.end())
      load_error(io.place("outputs", i),
                 "output '{}' is none of D, D.VARIABLE, Q, Q.ROW.COLUMN and K{}", shown(name),
                 name.size() > 64 ? "" : did_you_mean(name, views));
  }
  const bool plain = variables.size() == 1 || (variables.size() == 2 && has_momentum);
  if (!plain && !has_kinetic)
    load_error(io.place(),
               "output K is missing: with variables beside the momentum, the file must say what "
               "H - U is");
}

// Without D nothing is drawn, and without Q the momentum leaves the position where it is. Said
// last: what is wrong with an output that is there comes first.
void check_present(const FieldReader& io, const file::Function& function,
                   const std::vector<std::string_view>& variables) {
  const auto has = [&](std::string_view matrix) {
    return std::any_of(
        function.outputs().begin(), function.outputs().end(), [&](const auto& output) {
          const std::string_view name = output.name();
          return name == matrix || (name.starts_with(matrix) && name.substr(1, 1) == ".");
        });
  };
  if (!has("D"))
    load_error(io.place(), "output D is missing: without it no noise moves the sampler");
  if (variables.size() > 1 && variables[1] == "momentum" && !has("Q"))
    load_error(io.place(),
               "output Q is missing: without it the momentum does not move the position");
}

Graph instantiate(const Written& written, std::int64_t n, DType dtype) {
  file::Graph message = written.message;
  const std::string type = to_string(Type{dtype, {n}});
  for (file::Input& input : *message.mutable_inputs()) input.set_type(type);
  file::Size& size = *message.add_sizes();
  size.set_name("n");
  size.set_value(n);
  Source source{written.origin, {}, {}, written.limits};
  source.floating = dtype;
  const Graph body = expand(link(message, written.lines, source), source, nullptr);

  // A number stands for all coordinates.
  Graph graph;
  for (NodeId id = 0; id < body.size(); ++id)
    graph.append(body.op(id), body.inputs(id), body.attributes(id), body.name(id));
  for (const auto& [name, node] : body.outputs()) {
    const Value value = graph.value(node);
    const bool number =
        std::find(written.numbers.begin(), written.numbers.end(), name) != written.numbers.end();
    const bool spread = !number && value.type() == Type{dtype, {}};
    graph.add_output(name, spread ? broadcast(value, Shape{n}).id : value.id);
  }
  return graph;
}

// What the recipe would say about D without the names of nodes is said here; the rest it says.
void try_dynamics(const FieldReader& io, const std::vector<Variable>& variables, Graph graph) {
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const auto& [name, node] = graph.outputs()[i];
    if (!name.starts_with("D") || proven_non_negative(graph.value(node))) continue;
    load_error(io.place("outputs", static_cast<int>(i)),
               "output '{}' must not be negative, and {} is not seen to be so; end it with "
               "softplus, square, exp, abs, relu or a clamp from 0",
               name, graph.label(node));
  }
  located(
      io.place(), [] { return "dynamics"; },
      [&] { make_small_step(graph_dynamics(variables, graph)); });
}

}  // namespace

std::function<Graph(std::int64_t n, DType dtype)> make_dynamics(
    const FieldReader& io, const file::Function& function, const std::vector<Variable>& variables,
    const Source& source) {
  const FieldReader body = io.entry("dynamics");
  std::vector<std::string_view> names{"position"};
  for (const Variable& variable : variables) names.push_back(variable.name);
  check_inputs(body, function, names);
  check_outputs(body, function, names);

  const auto written = std::make_shared<Written>();
  written->message.set_format_version(graph_format_version);
  *written->message.mutable_inputs() = function.inputs();
  *written->message.mutable_constants() = function.constants();
  *written->message.mutable_nodes() = function.nodes();
  *written->message.mutable_outputs() = function.outputs();
  written->lines.main = {lines_of(body, "inputs", function.inputs()),
                         lines_of(body, "constants", function.constants()),
                         lines_of(body, "nodes", function.nodes()),
                         lines_of(body, "outputs", function.outputs())};
  written->origin = source.origin;
  written->limits = source.limits;
  written->numbers = {"K"};
  for (const Variable& variable : variables)
    if (variable.per_chain) written->numbers.push_back("D." + variable.name);
  try_dynamics(body, variables, instantiate(*written, small_size, DType::f32));
  check_present(body, function, names);
  return [written](std::int64_t n, DType dtype) { return instantiate(*written, n, dtype); };
}

}  // namespace whorl::graphs
