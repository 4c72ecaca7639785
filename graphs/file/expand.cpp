#include "graphs/file/expand.hpp"

#include "engine/ops.hpp"
#include "graphs/file/decode.hpp"
#include "graphs/file/values.hpp"

namespace whorl::graphs {

namespace {

// One use of a body that is being appended.
struct Frame {
  const Body* body = nullptr;
  std::string prefix;          // of the names
  std::vector<NodeId> values;  // by slot; a function's arguments come first
  std::size_t next = 0;        // in body->order
  std::int64_t iteration = 0;
  std::vector<std::vector<NodeId>> collected;  // what a repeat stacks, by output
};

class Expansion {
 public:
  Expansion(const Program& program, const Source& source, LoadReport* report)
      : program_(program), source_(source), checks_(source, report) {}

  Graph run() {
    frames_.push_back({&program_.main, "", std::vector<NodeId>(program_.main.slots), 0, 0, {}});
    while (true) {
      Frame& frame = frames_.back();
      if (frame.next < frame.body->order.size()) {
        advance(frame, frame.body->items[frame.body->order[frame.next]]);
      } else if (frames_.size() > 1) {
        leave();
      } else {
        break;
      }
    }
    add_outputs();
    return std::move(graph_);
  }

 private:
  // Errors inside a function name the node as it would be called in the graph.
  std::string label(const Frame& frame, const Item& item) const {
    const std::string name = frame.prefix + std::string(item.name);
    Item renamed = item;
    renamed.name = name;
    return describe(program_.main, renamed);
  }

  template <class F>
  decltype(auto) at(const Frame& frame, const Item& item, F&& f) {
    return located(
        source_.place(item.line), [&] { return label(frame, item); }, std::forward<F>(f));
  }

  static NodeId value_of(const Frame& frame, const Use& use) {
    return frame.values[frame.body->items[use.item].first_slot + use.slot];
  }

  // The next item of the frame. Calls and repeats push a frame; `next` moves on when it is left.
  void advance(Frame& frame, const Item& item) {
    switch (item.kind) {
      case Item::Kind::argument:
        break;  // its value was put there by the call
      case Item::Kind::op:
        frame.values[item.first_slot] = at(frame, item, [&] { return append(frame, item); });
        break;
      case Item::Kind::repeat:
        if (item.count == 0) {
          at(frame, item, [&] { skip_repeat(frame, item); });
          break;
        }
        [[fallthrough]];
      case Item::Kind::call:
        enter(frame, item);
        return;
    }
    ++frame.next;
  }

  NodeId append(const Frame& frame, const Item& item) {
    std::vector<NodeId> inputs;
    for (const Use& use : frame.body->uses_of(item)) inputs.push_back(value_of(frame, use));
    if (item.op->is(Traits::elementwise))
      checks_.broadcasts(graph_, inputs, item.line, [&] { return label(frame, item); });
    const NodeId id = append_op(*item.op, inputs, item.attributes, full_name(frame, item));
    if (item.type && graph_.type(id) != *item.type)
      graph_error("file", "the type is {}, but the file says {}", to_string(graph_.type(id)),
                  to_string(*item.type));
    checks_.node(graph_, id);
    return id;
  }

  static std::string full_name(const Frame& frame, const Item& item) {
    return is_placeholder(item.name) ? "" : frame.prefix + std::string(item.name);
  }

  // As call() of the engine does, an elementwise op gets its inputs in one shape.
  NodeId append_op(const OpDef& op, std::vector<NodeId> inputs, const Attributes& attributes,
                   std::string_view name) {
    if (op.is(Traits::elementwise) && inputs.size() > 1) {
      std::vector<Shape> shapes;
      for (NodeId id : inputs) shapes.push_back(graph_.type(id).shape);
      const Shape shape = broadcast_shape(op.name, shapes);
      for (NodeId& id : inputs) id = broadcast(graph_.value(id), shape).id;
    }
    try {
      return graph_.append(op, inputs, attributes, name);
    } catch (const Error& error) {
      bool mixed = false;  // where all inputs ought to have one dtype
      for (NodeId id : inputs) mixed |= graph_.type(id).dtype != graph_.type(inputs[0]).dtype;
      const std::string_view text = error.what();
      if (!mixed || !(op.is(Traits::elementwise) || op.variadic) || text.find("cast") != text.npos)
        throw;
      graph_error("file", "{} (a cast gives inputs the same dtype)", bare_text(error));
    }
  }

  void check_argument(const Body& function, std::uint32_t i, NodeId id) {
    const Item& argument = function.items[i];
    if (argument.type && *argument.type != graph_.type(id))
      graph_error("file", "input '{}' of function '{}' is {}, got {}", argument.name, function.name,
                  to_string(*argument.type), to_string(graph_.type(id)));
  }

  void enter(Frame& frame, const Item& item) {
    const Body& function = program_.functions[item.function];
    Frame inner{&function,
                frame.prefix + std::string(item.name) + "/",
                std::vector<NodeId>(function.slots),
                0,
                0,
                {}};
    inner.collected.resize(item.slot_count - item.carry);
    at(frame, item, [&] {
      std::uint32_t i = 0;
      for (const Use& use : frame.body->uses_of(item)) {
        if (static_cast<int>(i) == item.index) ++i;
        inner.values[i] = value_of(frame, use);
        check_argument(function, i, inner.values[i]);
        ++i;
      }
      if (item.kind == Item::Kind::repeat) begin_iteration(inner, item, inner.prefix);
    });
    frames_.push_back(std::move(inner));
  }

  // `base` is the prefix that all iterations share.
  void begin_iteration(Frame& inner, const Item& item, const std::string& base) {
    inner.next = 0;
    inner.prefix = fmt::format("{}{}/", base, inner.iteration);
    if (item.index < 0) return;
    const auto i = static_cast<std::uint32_t>(item.index);
    const Value index = fill(graph_, Type{DType::i32, {}}, static_cast<double>(inner.iteration));
    inner.values[i] = index.id;
    graph_.set_name(index.id, inner.prefix + std::string(inner.body->items[i].name));
    check_argument(*inner.body, i, index.id);
  }

  // The innermost frame is complete: its outputs go to the call, or to the next iteration.
  void leave() {
    Frame& inner = frames_.back();
    Frame& outer = frames_[frames_.size() - 2];
    const Item& item = outer.body->items[outer.body->order[outer.next]];
    std::vector<NodeId> outputs;
    for (const BodyOutput& output : inner.body->outputs)
      outputs.push_back(value_of(inner, output.use));
    at(outer, item, [&] {
      if (item.kind == Item::Kind::repeat) {
        for (std::size_t i = item.carry; i < outputs.size(); ++i)
          inner.collected[i - item.carry].push_back(outputs[i]);
        carry_state(inner, item, outputs);
        if (++inner.iteration < item.count) {
          begin_iteration(inner, item, outer.prefix + std::string(item.name) + "/");
          return;
        }
        for (std::size_t i = item.carry; i < outputs.size(); ++i)
          outputs[i] = stacked(inner.collected[i - item.carry]);
      }
      std::copy(outputs.begin(), outputs.end(), outer.values.begin() + item.first_slot);
      check_type(outer, item);
    });
    if (item.kind == Item::Kind::repeat && inner.iteration < item.count) return;
    ++outer.next;
    frames_.pop_back();
  }

  void check_type(const Frame& frame, const Item& item) {
    if (!item.type || graph_.type(frame.values[item.first_slot]) == *item.type) return;
    graph_error("file", "the type is {}, but the file says {}",
                to_string(graph_.type(frame.values[item.first_slot])), to_string(*item.type));
  }

  void carry_state(Frame& inner, const Item& item, const std::vector<NodeId>& outputs) {
    for (std::uint32_t i = 0; i < item.carry; ++i) {
      const Type &before = graph_.type(inner.values[i]), &after = graph_.type(outputs[i]);
      if (before != after)
        graph_error("file", "iteration {} changes the carried input '{}' from {} to {}",
                    inner.iteration, inner.body->items[i].name, to_string(before),
                    to_string(after));
      inner.values[i] = outputs[i];
    }
  }

  // [iterations, shape...]. In plain ops, so that it looks the same wherever it is loaded.
  NodeId stacked(const std::vector<NodeId>& values) {
    const OpDef* concat = find_op("concat");
    if (concat == nullptr) graph_error("file", "there is no op 'concat' to collect outputs with");
    std::vector<NodeId> rows;
    for (NodeId id : values) {
      const Value value = graph_.value(id);
      rows.push_back(reshape(value, value.shape().with_front(1)).id);
    }
    return graph_.append(*concat, rows,
                         make_attributes("concat", concat->attrs(), {{"axis", std::int64_t{0}}}));
  }

  // No iteration: the state is what came in, and nothing was collected. How the collected outputs
  // would look is not known without the body, so they are refused.
  void skip_repeat(Frame& frame, const Item& item) {
    const Body& function = program_.functions[item.function];
    if (item.carry < item.slot_count)
      graph_error("file", "0 iterations have no output '{}' to collect",
                  function.outputs[item.carry].name);
    const auto uses = frame.body->uses_of(item);
    for (std::uint32_t i = 0; i < item.carry; ++i) {
      frame.values[item.first_slot + i] = value_of(frame, uses[i]);
      check_argument(function, i, value_of(frame, uses[i]));
    }
    check_type(frame, item);
  }

  void add_outputs() {
    const Frame& frame = frames_.back();
    for (const BodyOutput& output : frame.body->outputs)
      graph_.add_output(output.name, value_of(frame, output.use));
    checks_.graph(graph_);
  }

  const Program& program_;
  const Source& source_;
  ValueChecks checks_;
  Graph graph_;
  std::vector<Frame> frames_;
};

}  // namespace

Graph expand(const Program& program, const Source& source, LoadReport* report) {
  return Expansion(program, source, report).run();
}

}  // namespace whorl::graphs
