#include "graphs/file/link.hpp"

#include <fmt/ranges.h>

#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "graphs/file/decode.hpp"
#include "graphs/file/order.hpp"
#include "graphs/file/sizes.hpp"
#include "graphs/graph.pb.h"

namespace whorl::graphs {

namespace {

using NameTable = std::unordered_map<std::string_view, std::uint32_t>;

const char* kind_word(const Item& item) {
  switch (item.kind) {
    case Item::Kind::argument:
      return "input";
    case Item::Kind::call:
      return "call";
    case Item::Kind::repeat:
      return "repeat";
    case Item::Kind::op:
      break;
  }
  if (item.op != nullptr && item.op->name == "input") return "input";
  if (item.op != nullptr && item.op->name == "constant") return "constant";
  return "node";
}

// Nearest names are sought among so many candidates at most: the search takes their product.
constexpr std::size_t most_candidates = 20'000;

std::string suggest(std::string_view name, const NameTable& table) {
  if (name.size() > 64) return "";
  std::vector<std::string_view> candidates;
  for (const auto& entry : table)
    if (candidates.size() < most_candidates && entry.first.size() <= 80)
      candidates.push_back(entry.first);
  std::sort(candidates.begin(), candidates.end());
  return did_you_mean(name, candidates);
}

// What every body may refer to.
struct Shared {
  const file::Graph& file;
  NameTable functions;
  std::vector<NameTable> outputs;  // of each function
};

// Links one body. M is file::Graph or file::Function.
template <class M>
class Linker {
 public:
  Linker(const M& message, const BodyLines& lines, const Shared& shared, Source& source, Body& body)
      : message_(message), lines_(lines), shared_(shared), source_(source), body_(body) {}

  void run() {
    const auto size = static_cast<std::size_t>(message_.inputs_size()) +
                      static_cast<std::size_t>(message_.constants_size()) +
                      static_cast<std::size_t>(message_.nodes_size());
    names_.reserve(size);
    body_.items.reserve(size);
    add_inputs();
    add_constants();
    add_nodes();
    // Names are known now, so edges may point forwards.
    const std::uint32_t first_node = static_cast<std::uint32_t>(body_.items.size()) -
                                     static_cast<std::uint32_t>(message_.nodes_size());
    for (int i = 0; i < message_.nodes_size(); ++i)
      resolve(body_.items[first_node + static_cast<std::uint32_t>(i)], message_.nodes(i));
    add_outputs();
    order_items(body_, source_);
  }

 private:
  static constexpr bool in_function = std::is_same_v<M, file::Function>;

  Place place(int line) const { return source_.place(line); }

  template <class F>
  decltype(auto) at(const Item& item, F&& f) {
    return located(
        place(item.line), [&] { return describe(body_, item); }, std::forward<F>(f));
  }

  // Enters an item under its name, and gives it its slots.
  void add(Item item) {
    const char* what = kind_word(item);
    if (item.name.empty())
      load_error(place(item.line), "{} {} has no name", what, body_.items.size());
    located(
        place(item.line), [&] { return what; },
        [&] { check_file_name(item.name, source_.limits); });
    const auto number = static_cast<std::uint32_t>(body_.items.size());
    if (number >= source_.limits.nodes)
      load_error(place(item.line), "the graph has more nodes than the limit of {}",
                 source_.limits.nodes);
    const auto [found, fresh] = names_.emplace(item.name, number);
    if (!fresh) {
      const Item& other = body_.items[found->second];
      load_error(place(item.line), "name '{}' is given twice: to {}{} and to {}", item.name,
                 describe(body_, other), other.line ? fmt::format(" in line {}", other.line) : "",
                 describe(body_, item));
    }
    if (static_cast<std::int64_t>(body_.slots) + item.slot_count > source_.limits.edges)
      load_error(place(item.line), "the calls have more outputs than the limit of {}",
                 source_.limits.edges);
    item.first_slot = body_.slots;
    body_.slots += item.slot_count;
    body_.items.push_back(std::move(item));
  }

  void add_inputs() {
    for (int i = 0; i < message_.inputs_size(); ++i) {
      const file::Input& input = message_.inputs(i);
      Item item;
      item.name = input.name();
      item.line = line_at(lines_.inputs, static_cast<std::size_t>(i));
      item.kind = in_function ? Item::Kind::argument : Item::Kind::op;
      item.op = find_op("input");
      at(item, [&] {
        if (input.has_type()) item.type = parse_type(input.type(), source_);
        if constexpr (in_function) {
          if (input.has_role()) graph_error("file", "a function's input has no role");
        } else {
          if (!item.type) graph_error("file", "the type is missing");
          const Shape& shape = item.type->shape;
          AttrList list{{"dtype", item.type->dtype},
                        {"shape", std::vector<std::int64_t>(shape.begin(), shape.end())}};
          if (input.has_role()) list.emplace_back("role", input.role());
          item.attributes = make_attributes("input", item.op->attrs(), list);
          if (is_placeholder(item.name)) graph_error("file", "an input needs a name of its own");
        }
      });
      add(std::move(item));
    }
    if (in_function) body_.arguments = static_cast<std::uint32_t>(message_.inputs_size());
  }

  void add_constants() {
    for (int i = 0; i < message_.constants_size(); ++i) {
      const file::Tensor& tensor = message_.constants(i);
      Item item;
      item.name = tensor.name();
      item.line = line_at(lines_.constants, static_cast<std::size_t>(i));
      item.op = find_op("constant");
      at(item, [&] {
        item.attributes = make_attributes("constant", item.op->attrs(),
                                          {{"value", decode_tensor(tensor, source_)},
                                           {"allow_nonfinite", tensor.allow_nonfinite()}});
      });
      add(std::move(item));
    }
  }

  void add_nodes() {
    for (int i = 0; i < message_.nodes_size(); ++i) {
      const file::Node& node = message_.nodes(i);
      Item item;
      item.name = node.name();
      item.line = line_at(lines_.nodes, static_cast<std::size_t>(i));
      const int kinds = int{node.has_op()} + int{node.has_call()} + int{node.has_repeat()};
      if (kinds != 1)
        load_error(place(item.line), "node '{}': {}", item.name,
                   kinds == 0 ? "one of op, call and repeat is missing"
                              : "only one of op, call and repeat can be given");
      if (node.has_op()) {
        add_op(item, node);
      } else {
        item.kind = node.has_call() ? Item::Kind::call : Item::Kind::repeat;
        at(item, [&] { add_call(item, node); });
      }
      if (node.has_type()) at(item, [&] { item.type = parse_type(node.type(), source_); });
      add(std::move(item));
    }
  }

  void add_op(Item& item, const file::Node& node) {
    const auto named = source_.ops.find(node.op());
    item.op = find_op(named == source_.ops.end() ? node.op() : named->second);
    if (item.op == nullptr) {
      std::vector<std::string_view> known;
      for (const OpDef* op : all_ops()) known.push_back(op->name);
      for (const auto& entry : source_.ops) known.push_back(entry.first);
      located(
          place(item.line), [&] { return describe(body_, item); },
          [&] {
            graph_error("file", "unknown op '{}'{}", node.op().substr(0, 80),
                        node.op().size() > 80 ? "" : did_you_mean(node.op(), known));
          });
    }
    if (item.op->name == "input" && (in_function || is_placeholder(item.name)))
      at(item, [&] {
        graph_error("file", "{}",
                    in_function ? "a function's inputs stand in its 'inputs'"
                                : "an input needs a name of its own");
      });
    at(item, [&] { item.attributes = decode_attributes(node, *item.op, source_); });
  }

  const file::Function& function_named(Item& item, const std::string& name) {
    const auto found = shared_.functions.find(name);
    if (found == shared_.functions.end())
      graph_error("file", "unknown function '{}'{}", name.substr(0, 80),
                  suggest(name, shared_.functions));
    item.function = found->second;
    return shared_.file.functions(static_cast<int>(found->second));
  }

  void add_call(Item& item, const file::Node& node) {
    if (node.attr_size() > 0) graph_error("file", "a {} takes no attributes", kind_word(item));
    const std::string& name = node.has_call() ? node.call() : node.repeat().function();
    const file::Function& function = function_named(item, name);
    item.slot_count = static_cast<std::uint32_t>(function.outputs_size());
    if (node.has_repeat()) add_repeat(item, node.repeat(), function);
    const int wanted = function.inputs_size() - (item.index >= 0 ? 1 : 0);
    if (node.inputs_size() != wanted)
      graph_error("file", "function '{}' takes {} input{}, got {}", name, wanted,
                  wanted == 1 ? "" : "s", node.inputs_size());
    if (node.has_type() && item.slot_count != 1)
      graph_error("file", "a type can be given for one output only, and there are {}",
                  item.slot_count);
  }

  void add_repeat(Item& item, const file::Repeat& repeat, const file::Function& function) {
    if (!repeat.has_count()) graph_error("file", "the count is missing");
    item.count = repeat.count();
    if (item.count < 0) graph_error("file", "count {} is negative", item.count);
    if (item.count > source_.limits.nodes)
      graph_error("file", "count {} is more than the limit of {}", item.count,
                  source_.limits.nodes);
    const std::int64_t carry = repeat.has_carry() ? repeat.carry() : function.outputs_size();
    if (carry < 0 || carry > function.outputs_size())
      graph_error("file", "carry {} is out of range: function '{}' has {} outputs", carry,
                  function.name(), function.outputs_size());
    item.carry = static_cast<std::uint32_t>(carry);
    if (repeat.has_index()) {
      for (int i = 0; i < function.inputs_size(); ++i)
        if (function.inputs(i).name() == repeat.index()) item.index = i;
      if (item.index < 0)
        graph_error("file", "index '{}' is not an input of function '{}'", repeat.index(),
                    function.name());
      if (item.index < carry)
        graph_error("file", "index '{}' is among the {} carried inputs", repeat.index(), carry);
    }
    const std::int64_t states = function.inputs_size() - (item.index >= 0 ? 1 : 0);
    if (carry > states)
      graph_error("file", "carry {} is out of range: function '{}' has {} inputs to carry to",
                  carry, function.name(), states);
  }

  // `role` is what the text stands for: an input of a node, or the node of an output.
  Use use_of(std::string_view role, std::string_view text) {
    const auto colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const auto found = names_.find(name);
    if (found == names_.end())
      graph_error("file", "{} '{}' does not exist{}", role, text.substr(0, 80),
                  suggest(name, names_));
    const Item& item = body_.items[found->second];
    if (colon != std::string_view::npos)
      return {found->second, slot_of(item, role, text, text.substr(colon + 1))};
    if (item.slot_count != 1)
      graph_error("file", "'{}' has {} outputs: say which, as in '{}:{}'", name, item.slot_count,
                  name, item.slot_count ? output_name(item, 0) : "0");
    return {found->second, 0};
  }

  std::string_view output_name(const Item& item, int i) const {
    return shared_.file.functions(static_cast<int>(item.function)).outputs(i).name();
  }

  std::uint32_t slot_of(const Item& item, std::string_view role, std::string_view text,
                        std::string_view slot) {
    const bool many = item.kind == Item::Kind::call || item.kind == Item::Kind::repeat;
    if (many) {
      const NameTable& outputs = shared_.outputs[item.function];
      if (const auto found = outputs.find(slot); found != outputs.end()) return found->second;
    }
    std::uint32_t number = 0;
    const auto [end, fault] = std::from_chars(slot.data(), slot.data() + slot.size(), number);
    if (fault != std::errc{} || end != slot.data() + slot.size() || number >= item.slot_count)
      graph_error("file", "{} '{}' does not exist: '{}' has {} output{}", role, text.substr(0, 80),
                  item.name, item.slot_count, item.slot_count == 1 ? "" : "s");
    return number;
  }

  void resolve(Item& item, const file::Node& node) {
    if (body_.uses.size() + static_cast<std::size_t>(node.inputs_size()) >
        static_cast<std::size_t>(source_.limits.edges))
      load_error(place(item.line), "the graph has more edges than the limit of {}",
                 source_.limits.edges);
    item.first_use = static_cast<std::uint32_t>(body_.uses.size());
    item.use_count = static_cast<std::uint32_t>(node.inputs_size());
    at(item, [&] {
      for (const std::string& input : node.inputs()) body_.uses.push_back(use_of("input", input));
    });
  }

  void add_outputs() {
    if (message_.outputs_size() > source_.limits.outputs)
      load_error(place(line_at(lines_.outputs, static_cast<std::size_t>(source_.limits.outputs))),
                 "there are {} outputs, more than the limit of {}", message_.outputs_size(),
                 source_.limits.outputs);
    std::unordered_map<std::string_view, int> seen;
    for (int i = 0; i < message_.outputs_size(); ++i) {
      const file::Output& output = message_.outputs(i);
      const int line = line_at(lines_.outputs, static_cast<std::size_t>(i));
      const auto subject = [&] {
        return fmt::format("output '{}'{}", output.name().substr(0, 80), suffix());
      };
      located(place(line), subject, [&] {
        check_name("file", output.name());
        const auto [found, fresh] = seen.emplace(output.name(), i);
        if (!fresh)
          graph_error("file", "the name is given twice: to '{}' and to '{}'",
                      node_of(message_.outputs(found->second)), node_of(output));
        body_.outputs.push_back({output.name(), use_of("node", node_of(output)), line});
      });
    }
    if (in_function && message_.outputs_size() == 0)
      load_error(place(body_.line), "function '{}' has no outputs", body_.name);
  }

  static const std::string& node_of(const file::Output& output) {
    return output.has_node() ? output.node() : output.name();
  }
  std::string suffix() const {
    return in_function ? fmt::format(" of function '{}'", body_.name) : "";
  }

  const M& message_;
  const BodyLines& lines_;
  const Shared& shared_;
  Source& source_;
  Body& body_;
  NameTable names_;
};

void check_header(const file::Graph& message, const Lines& lines, const Source& source) {
  if (message.inputs_size() + message.constants_size() + message.nodes_size() == 0)
    load_error(source.place(), "the graph has no nodes");
  check_version(message, graph_format_version, source.place(lines.format_version));
}

NameTable function_names(const file::Graph& message, const Lines& lines, const Source& source) {
  NameTable names;
  for (int i = 0; i < message.functions_size(); ++i) {
    const std::string& name = message.functions(i).name();
    const int line = line_at(lines.functions, static_cast<std::size_t>(i));
    located(
        source.place(line), [] { return "function"; },
        [&] { check_file_name(name, source.limits); });
    const auto [found, fresh] = names.emplace(name, static_cast<std::uint32_t>(i));
    if (fresh) continue;
    const int other = line_at(lines.functions, found->second);
    load_error(source.place(line), "function '{}' is given twice{}", name,
               other ? fmt::format(", before in line {}", other) : "");
  }
  return names;
}

}  // namespace

std::string describe(const Body& body, const Item& item) {
  const std::string_view word = kind_word(item);
  std::string text = fmt::format("{} '{}'", word, item.name);
  if (word == "node" && item.op != nullptr) text += fmt::format(" ({})", item.op->name);
  return body.name.empty() ? text : fmt::format("{} of function '{}'", text, body.name);
}

Program link(const file::Graph& message, const Lines& lines, Source& source) {
  check_header(message, lines, source);
  take_sizes(message, lines, source);
  take_ops(message, lines, source);
  Shared shared{message, function_names(message, lines, source), {}};
  for (const file::Function& function : message.functions()) {
    NameTable& outputs = shared.outputs.emplace_back();
    for (int i = 0; i < function.outputs_size(); ++i)
      outputs.emplace(function.outputs(i).name(), static_cast<std::uint32_t>(i));
  }
  Program program;
  program.functions.resize(static_cast<std::size_t>(message.functions_size()));
  const BodyLines none;
  for (int i = 0; i < message.functions_size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    Body& body = program.functions[at];
    body.name = message.functions(i).name();
    body.line = line_at(lines.functions, at);
    Linker<file::Function>(message.functions(i), lines.bodies.empty() ? none : lines.bodies[at],
                           shared, source, body)
        .run();
  }
  Linker<file::Graph>(message, lines.main, shared, source, program.main).run();
  check_expansion(program, source);
  return program;
}

}  // namespace whorl::graphs
