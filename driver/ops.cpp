// whorl ops: the op table, as users of graph files see it.
#include <fmt/ranges.h>

#include <cmath>

#include "driver/commands.hpp"
#include "driver/json.hpp"
#include "engine/attributes.hpp"
#include "engine/op.hpp"

namespace whorl::driver {

namespace {

std::string inputs_of(const OpDef& op) {
  return fmt::format("{}{}", fmt::join(op.input_names, ", "), op.variadic ? ", ..." : "");
}

std::string attributes_of(const OpDef& op) {
  std::vector<std::string> texts;
  for (const AttrSpec& spec : op.attrs()->specs)
    texts.push_back(spec.rule.required ? std::string(spec.name) : fmt::format("[{}]", spec.name));
  return fmt::format("{}", fmt::join(texts, " "));
}

std::vector<std::string_view> dtypes_of(const OpDef& op) {
  std::vector<std::string_view> names;
  for (int d = 0; d < dtype_count; ++d)
    if (op.dtypes & only(static_cast<DType>(d))) names.push_back(name(static_cast<DType>(d)));
  return names;
}

std::string rule_of(const AttrSpec& spec) {
  std::string text =
      fmt::format("{}, {}", name(spec.kind), spec.rule.required ? "required" : "may be left out");
  if (std::isfinite(spec.rule.low) || std::isfinite(spec.rule.high))
    text += fmt::format(", {} to {}", spec.rule.low, spec.rule.high);
  if (spec.rule.choices != nullptr)
    text += fmt::format(", one of: {}", fmt::join(spec.rule.choices(), ", "));
  return text;
}

std::string gradient_of(const OpDef& op) {
  if (op.gradient != nullptr) return "a rule of its own";
  if (op.compose != nullptr) return "that of its parts";
  return fmt::format("none: {}", op.no_gradient);
}

const OpDef& named_op(const std::string& name) {
  if (const OpDef* op = find_op(name)) return *op;
  std::vector<std::string_view> names;
  for (const OpDef* op : all_ops()) names.push_back(op->name);
  fail(ErrorKind::usage, "ops", "unknown op '{}'{}", name, did_you_mean(name, names));
}

void print_op(const OpDef& op, Output& output) {
  output.print("{}({})\n", op.name, inputs_of(op));
  output.print("  {:<12} {}\n", "types", fmt::join(dtypes_of(op), " "));
  for (const AttrSpec& spec : op.attrs()->specs)
    output.print("  {:<12} {}: {}\n", "attribute", spec.name, rule_of(spec));
  output.print("  {:<12} {}\n", "gradient", gradient_of(op));
  if (op.is_composition())
    output.print("  {:<12} {}\n", "kernel", "none of its own: it runs as its parts");
}

void add_json(const OpDef& op, Json& json) {
  json.object().field("name", op.name).key("inputs").array();
  for (std::string_view input : op.input_names) json.value(input);
  json.end().field("variadic", op.variadic).key("types").array();
  for (std::string_view dtype : dtypes_of(op)) json.value(dtype);
  json.end().key("attributes").array();
  for (const AttrSpec& spec : op.attrs()->specs) {
    json.object().field("name", spec.name).field("kind", name(spec.kind));
    json.field("required", spec.rule.required);
    if (spec.rule.choices != nullptr) {
      json.key("choices").array();
      for (std::string_view choice : spec.rule.choices()) json.value(choice);
      json.end();
    }
    json.end();
  }
  json.end().field("differentiable", op.gradient != nullptr || op.compose != nullptr);
  json.end();
}

void print_table(const std::vector<const OpDef*>& ops, Output& output) {
  std::size_t names = 0, inputs = 0;
  for (const OpDef* op : ops) {
    names = std::max(names, op->name.size());
    inputs = std::max(inputs, inputs_of(*op).size());
  }
  const auto row = [&](std::string_view name, std::string_view in, std::string_view attributes) {
    const std::string line = fmt::format("{:<{}}  {:<{}}  {}", name, names, in, inputs, attributes);
    output.print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  };
  row("OP", "INPUTS", "ATTRIBUTES ([...]: may be left out)");
  for (const OpDef* op : ops) row(op->name, inputs_of(*op), attributes_of(*op));
}

void run_ops(const Arguments& arguments, Output& output) {
  std::vector<const OpDef*> ops = all_ops();
  const bool one = !arguments.positional().empty();
  if (one) ops = {&named_op(arguments.positional()[0])};
  if (arguments.has("json")) {
    Json json;
    json.array();
    for (const OpDef* op : ops) add_json(*op, json);
    return output.write(json.end().text());
  }
  if (one) return print_op(*ops[0], output);
  print_table(ops, output);
}

}  // namespace

Command ops_command() {
  return {
      "ops",
      {"NAME"},
      0,
      "list the ops, or tell all about one",
      "Lists every op that a graph may use, with its inputs and attributes; with a NAME, tells\n"
      "what that op takes.",
      "whorl ops matmul",
      {json_option},
      &run_ops};
}

}  // namespace whorl::driver
