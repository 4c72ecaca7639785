// nets: coordinate_net nodes that differ in `wrt` only become one, which computes the union.
//
// Derivatives of a network by its inputs are networks again, with the same inputs and weights; one
// pass over the coordinates gives them all. Before that, inputs that are broadcasts become narrow
// (see net_inputs in algebra_nets.cpp), and equal inputs one node. Where every reader takes a
// single part, the value or one derivative, the parts get the leading axis, so that each is a
// stretch of memory that loops can read where it is.
//
// The slices of a net stand behind it in the order of its parts: the adjoints that they send back
// are then added in that order, and meet as neighbours in one concat (see add_pads in
// algebra_shapes.cpp). stop_gradient nodes stay, so a graph may be differentiated afterwards.
#include <algorithm>
#include <map>

#include "engine/ops.hpp"
#include "engine/passes.hpp"
#include "engine/passes/algebra.hpp"
#include "engine/rewrite.hpp"

namespace whorl {

namespace {

using Integers = std::vector<std::int64_t>;

Attributes with(const Attributes& attributes, const OpDef& op, const Integers& wrt,
                std::int64_t axis) {
  AttrList list = attributes.list();
  for (auto& [key, value] : list) {
    if (key == "wrt") value = wrt;
    if (key == "axis") value = axis;
  }
  return make_attributes(op.name, op.attrs(), list);
}

// Nets with the same inputs, weights and shape.
struct Family {
  Attributes shape;  // without wrt
  std::vector<NodeId> members;
  Integers wrt;            // of all of them, ascending
  bool by_parts = true;    // every reader takes one part
  std::vector<char> read;  // which parts readers take alone
  Value net;               // what they become
  std::vector<Value> parts;

  std::int64_t axis() const { return attribute<std::int64_t>(shape, "axis"); }
  bool changes() const { return members.size() > 1 || (by_parts && axis() != 0); }
  // Where part m of a member stands.
  std::size_t position(const Integers& own, std::int64_t m) const {
    if (m == 0) return 0;
    const auto input = own[static_cast<std::size_t>(m - 1)];
    return static_cast<std::size_t>(std::lower_bound(wrt.begin(), wrt.end(), input) - wrt.begin()) +
           1;
  }
};

class Merging {
 public:
  explicit Merging(const Graph& graph)
      : old_(graph), rewrite_(graph), family_of_(graph.size(), none) {}

  Graph run() {
    find_families();
    find_readers();
    for (NodeId id = 0; id < old_.size(); ++id) {
      if (Family* family = changing_family(id)) {
        place_member(id, *family);
      } else if (const auto m = part_taken(id)) {
        place_part(id, *m);
      } else {
        rewrite_.copy(id);
      }
    }
    return rewrite_.finish();
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  Integers wrt(NodeId id) const { return attribute<Integers>(old_.attributes(id), "wrt"); }
  Family* changing_family(NodeId id) {
    if (family_of_[id] == none || !families_[family_of_[id]].changes()) return nullptr;
    return &families_[family_of_[id]];
  }

  void find_families() {
    std::map<std::vector<NodeId>, std::vector<std::size_t>> by_inputs;
    for (NodeId id = 0; id < old_.size(); ++id) {
      const OpDef& op = old_.op(id);
      if (&op != known_ops().coordinate_net) continue;
      const Attributes& own = old_.attributes(id);
      const auto inputs = old_.inputs(id);
      family_of_[id] = find_family(by_inputs[{inputs.begin(), inputs.end()}],
                                   with(own, op, {}, attribute<std::int64_t>(own, "axis")));
      Family& family = families_[family_of_[id]];
      family.members.push_back(id);
      for (std::int64_t i : wrt(id)) family.wrt.push_back(i);
    }
    for (Family& family : families_) {
      std::sort(family.wrt.begin(), family.wrt.end());
      family.wrt.erase(std::unique(family.wrt.begin(), family.wrt.end()), family.wrt.end());
      family.read.assign(family.wrt.size() + 1, 0);
    }
  }

  // The family of this shape among the candidates, or a new one.
  std::size_t find_family(std::vector<std::size_t>& candidates, const Attributes& shape) {
    for (std::size_t at : candidates)
      if (families_[at].shape == shape) return at;
    candidates.push_back(families_.size());
    families_.push_back({shape, {}, {}, true, {}, {}, {}});
    return candidates.back();
  }

  void find_readers() {
    whole_.assign(old_.size(), 0);
    for (NodeId id = 0; id < old_.size(); ++id) {
      const auto m = slice_of_net(id);
      for (NodeId in : old_.inputs(id)) {
        if (family_of_[in] == none) continue;
        Family& family = families_[family_of_[in]];
        if (m) {
          family.read[family.position(wrt(in), *m)] = 1;
        } else {
          whole_[in] = 1;
        }
      }
    }
    for (const Graph::Output& output : old_.outputs()) whole_[output.node] = 1;
    for (Family& family : families_)
      for (NodeId id : family.members) {
        // A net without derivatives is a single part itself.
        if (whole_[id] && wrt(id).empty()) family.read[0] = 1;
        family.by_parts = family.by_parts && (!whole_[id] || wrt(id).empty());
      }
  }

  // The part of a net that this node takes alone, if it does.
  std::optional<std::int64_t> slice_of_net(NodeId id) const {
    if (&old_.op(id) != known_ops().slice) return std::nullopt;
    const NodeId net = old_.inputs(id)[0];
    if (family_of_[net] == none) return std::nullopt;
    const std::int64_t rank = old_.type(id).shape.rank();
    const std::int64_t axis = attribute<std::int64_t>(old_.attributes(id), "axis");
    const std::int64_t wanted = families_[family_of_[net]].axis();
    if ((axis < 0 ? axis + rank : axis) != wanted) return std::nullopt;
    if (old_.type(id).shape[static_cast<int>(wanted)] != 1) return std::nullopt;
    return attribute<std::int64_t>(old_.attributes(id), "begin");
  }
  std::optional<std::int64_t> part_taken(NodeId id) {
    const auto m = slice_of_net(id);
    return m && changing_family(old_.inputs(id)[0]) != nullptr ? m : std::nullopt;
  }

  void place_member(NodeId id, Family& family) {
    if (!family.net) make_net(id, family);
    if (whole_[id]) rewrite_.place(id, as_before(id, family).id);
    const std::string_view name = old_.name(id);
    if (!name.empty() && !whole_[id] && rewrite_.graph().name(family.net.id).empty())
      rewrite_.graph().set_name(family.net.id, name);
  }

  void make_net(NodeId id, Family& family) {
    const std::int64_t axis = family.by_parts ? 0 : family.axis();
    const OpDef& op = old_.op(id);
    Graph& graph = rewrite_.graph();
    family.net = graph.value(
        graph.append(op, rewrite_.inputs(id), with(family.shape, op, family.wrt, axis)));
    for (std::size_t m = 0; m < family.read.size(); ++m) {
      const auto at = static_cast<std::int64_t>(m);
      family.parts.push_back(family.read[m] ? slice(family.net, axis, at, at + 1) : Value{});
    }
  }

  // What the member was, made of the parts.
  Value as_before(NodeId id, const Family& family) {
    const Integers own = wrt(id);
    if (own.empty()) return reshape(family.parts[0], old_.type(id).shape);
    if (own == family.wrt) return family.net;
    std::vector<Value> parts;
    for (std::int64_t m = 0; m <= static_cast<std::int64_t>(own.size()); ++m) {
      const auto at = static_cast<std::int64_t>(family.position(own, m));
      parts.push_back(slice(family.net, family.axis(), at, at + 1));
    }
    return concat(parts, family.axis());
  }

  void place_part(NodeId id, std::int64_t m) {
    const NodeId net = old_.inputs(id)[0];
    const Family& family = families_[family_of_[net]];
    const Value part = family.parts[family.position(wrt(net), m)];
    rewrite_.place(id, reshape(part, old_.type(id).shape).id);
  }

  const Graph& old_;
  Rewrite rewrite_;
  std::vector<std::size_t> family_of_;  // per node
  std::vector<char> whole_;             // per node: read in another way than by single parts
  std::vector<Family> families_;
};

bool has_nets(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id)
    if (&graph.op(id) == known_ops().coordinate_net) return true;
  return false;
}

// The rules that bring broadcasts to the nets. None of them drops a stop_gradient.
std::vector<AlgebraRule> narrowing_rules() {
  std::vector<AlgebraRule> rules;
  for (const AlgebraRule& rule : algebra_rules())
    for (std::string_view name : {"broadcast_last", "broadcast_same", "broadcast_chain",
                                  "broadcast_reshape", "reshape", "move_fill", "net_inputs"})
      if (rule.name == name) rules.push_back(rule);
  return rules;
}

}  // namespace

Graph merge_nets(const Graph& graph) {
  if (!has_nets(graph)) return graph;
  static const std::vector<AlgebraRule> rules = narrowing_rules();
  return Merging(remove_dead(merge_common(simplify_algebra(graph, rules)))).run();
}

}  // namespace whorl
