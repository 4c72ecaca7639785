#include "driver/feeds.hpp"

#include <algorithm>
#include <limits>

#include "data/npy.hpp"
#include "engine/attributes.hpp"
#include "engine/random.hpp"
#include "engine/role.hpp"

namespace whorl::driver {

namespace {

NodeId input_named(const Graph& graph, const std::string& name) {
  std::vector<std::string_view> names;
  for (NodeId id : graph.input_nodes()) {
    if (graph.name(id) == name) return id;
    names.push_back(graph.name(id));
  }
  fail(ErrorKind::usage, "run", "--feed: the graph has no input '{}'{}", name,
       did_you_mean(name, names));
}

// The array for an input of type `wanted`, with or without the chain axis.
Tensor load_feed(const std::string& name, const std::string& path, const Type& wanted) {
  std::string stored;
  Tensor tensor = load_npy(path, &stored);
  const Type found = tensor.type();
  if (!stored.empty()) stored = fmt::format(" ({} in the file)", stored);
  const bool chained =
      found.shape.rank() == wanted.shape.rank() + 1 && found.shape.without_front() == wanted.shape;
  if (found.shape != wanted.shape && !chained) {
    const std::string dims = to_string(wanted.shape).substr(1);
    fail(ErrorKind::data, "run",
         "input '{}' is fed with {}{} from {}; expected {}, or {}[K{}{} for K chains", name,
         to_string(found), stored, path, to_string(wanted), whorl::name(wanted.dtype),
         wanted.shape.rank() > 0 ? "," : "", dims);
  }
  if (found.dtype == wanted.dtype) return tensor;
  if (found.dtype == DType::f64 && wanted.dtype == DType::f32) return narrow(path, tensor);
  fail(ErrorKind::data, "run", "input '{}' is fed with {}{} from {}; expected {}", name,
       to_string(found), stored, path, whorl::name(wanted.dtype));
}

// Notes that `name` carries the chain axis of size `chains`.
void add_batched(FeedSet& feeds, const std::string& name, std::int64_t chains, bool by_option) {
  if (feeds.chains != 0 && feeds.chains != chains) {
    if (by_option || feeds.batched.empty())
      fail(ErrorKind::data, "run", "input '{}' is fed for {} chains, but --chains is {}", name,
           chains, feeds.chains);
    fail(ErrorKind::data, "run",
         "the feeds disagree on the number of chains: {} for '{}', {} for '{}'", feeds.chains,
         feeds.batched.front(), chains, name);
  }
  if (chains == 0)
    fail(ErrorKind::data, "run", "input '{}' is fed for 0 chains; expected at least 1", name);
  feeds.chains = chains;
  feeds.batched.push_back(name);
}

// Which numbers an input gets depends on its name, not on the other inputs.
std::uint32_t stream_of(std::string_view name) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

// `chains` is 0 for an input without the chain axis.
Tensor random_feed(std::string_view name, const Type& type, std::int64_t chains,
                   std::uint64_t seed) {
  Tensor tensor(type);
  const auto fill = [&](auto zero) {
    using T = decltype(zero);
    const auto each = static_cast<std::size_t>(type.elements() / std::max<std::int64_t>(1, chains));
    for (std::size_t c = 0; c * each < static_cast<std::size_t>(tensor.elements()); ++c) {
      const RandomCoordinates at{seed, stream_of(name), 0, static_cast<std::uint32_t>(c)};
      fill_normal<T>(at, 0, tensor.values<T>().subspan(c * each, each));
    }
  };
  if (type.elements() == 0) return tensor;
  if (type.dtype == DType::f32) fill(float{});
  if (type.dtype == DType::f64) fill(double{});
  return tensor;
}

bool draws_random_numbers(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id)
    if (graph.op(id).is(Traits::random)) return true;
  return false;
}

}  // namespace

FeedSet collect_feeds(const Graph& graph, const Arguments& arguments) {
  FeedSet feeds;
  feeds.chains = arguments.integer("chains", 0, 1, std::numeric_limits<std::int32_t>::max());
  for (const auto& [name, path] : arguments.assignments("feed")) {
    if (path.empty())
      fail(ErrorKind::usage, "run", "--feed '{}' has no file; as in --feed {}={}.npy", name, name,
           name);
    const Type& type = graph.type(input_named(graph, name));
    Tensor tensor = load_feed(name, path, type);
    if (tensor.shape().rank() > type.shape.rank())
      add_batched(feeds, name, tensor.shape()[0], arguments.has("chains"));
    feeds.tensors.emplace(name, std::move(tensor));
  }
  for (NodeId id : graph.input_nodes()) {
    const std::string name(graph.name(id));
    if (feeds.tensors.contains(name)) continue;
    if (!arguments.has("random-feeds"))
      fail(ErrorKind::usage, "run",
           "input '{}' is not fed: expected {}; give --feed {}=FILE.npy, or "
           "--random-feeds",
           name, to_string(graph.type(id)), name);
    const bool chained = feeds.chains > 0 && is_parameter(graph, id);
    feeds.drawn.push_back(name);
    if (chained) feeds.batched.push_back(name);
  }
  if (feeds.chains > 0 && feeds.batched.empty() && !draws_random_numbers(graph))
    fail(ErrorKind::usage, "run",
         "--chains is {}, but no feed has a chain axis, so all chains would "
         "be the same",
         feeds.chains);
  return feeds;
}

std::int64_t drawn_bytes(const Graph& graph, const FeedSet& feeds) {
  std::int64_t bytes = 0;
  for (const std::string& name : feeds.drawn) bytes += graph.type(*graph.find(name)).bytes();
  return bytes;
}

void draw_feeds(const Graph& graph, FeedSet& feeds, std::uint64_t seed) {
  for (const std::string& name : feeds.drawn) {
    const bool chained =
        std::find(feeds.batched.begin(), feeds.batched.end(), name) != feeds.batched.end();
    feeds.tensors.emplace(
        name, random_feed(name, graph.type(*graph.find(name)), chained ? feeds.chains : 0, seed));
  }
}

}  // namespace whorl::driver
