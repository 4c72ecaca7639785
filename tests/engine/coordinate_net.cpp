// coordinate_net: against a scalar loop, against its composition, against differences to second
// order, in parts, batched, and with inputs that do not fit.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "autodiff/numeric.hpp"
#include "autodiff/tape.hpp"
#include "engine/evaluate.hpp"
#include "engine/executor.hpp"
#include "engine/floating_point.hpp"
#include "engine/ops.hpp"
#include "engine/plan.hpp"

using namespace whorl;

namespace {

using Ints = std::vector<std::int64_t>;

struct Case {
  std::string activation;
  Ints hidden, wrt;
  std::vector<Shape> x;
  std::int64_t axis = 0;

  Attributes attributes(const OpDef& op) const {
    AttrList list{{"hidden", hidden}, {"activation", activation}, {"wrt", wrt}};
    if (op.name == "coordinate_net") list.push_back({"axis", axis});
    return make_attributes(op.name, op.attrs(), list);
  }
  std::int64_t weights() const { return coordinate_net_weights(x.size(), hidden); }
  Shape coordinates() const { return broadcast_shape("test", x); }
  std::string name() const {
    return fmt::format("{} hidden {} wrt {} x[0] {} of {} axis {}", activation,
                       to_string(AttrValue(hidden)), to_string(AttrValue(wrt)), to_string(x[0]),
                       x.size(), axis);
  }
};

const OpDef& net_op() { return *find_op("coordinate_net"); }
const OpDef& gradient_op() { return *find_op("coordinate_net_weights_gradient"); }

// All kinds of networks, over coordinates that are contiguous, repeated by rows, by columns, in
// short runs, in several blocks with a rest, single, and none.
std::vector<Case> all_cases() {
  const std::vector<std::vector<Shape>> shapes{{{5}},
                                               {{}},
                                               {{200}, {200}},
                                               {{3, 1}, {3, 150}},
                                               {{1, 70}, {4, 70}, {4, 1}},
                                               {{9, 1}, {9, 5}, {1, 5}, {9, 5}},
                                               {{2, 3, 1}, {2, 1, 80}, {1, 3, 80}},
                                               {{2, 1, 1}, {2, 7, 11}},
                                               {{0, 4}, {0, 1}},
                                               {{1, 1}, {1, 130}, {1, 130}, {1, 1}}};
  std::vector<Case> cases;
  std::mt19937 random(7);
  for (const char* activation : {"relu", "tanh", "softplus"})
    for (const Ints& hidden : {Ints{1}, Ints{3}, Ints{10}, Ints{5, 4}, Ints{1, 7}})
      for (const auto& x : shapes) {
        Ints order;
        for (std::size_t i = 0; i < x.size(); ++i) order.push_back(static_cast<std::int64_t>(i));
        std::shuffle(order.begin(), order.end(), random);
        for (std::size_t count = 0; count <= x.size(); ++count) {
          const Ints wrt(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
          const auto axis =
              static_cast<std::int64_t>(random() % static_cast<unsigned>(x[0].rank() + 1));
          cases.push_back({activation, hidden, wrt, x, count % 2 == 0 ? 0 : axis});
        }
      }
  return cases;
}

template <class T>
Tensor uniform_tensor(const Shape& shape, std::mt19937_64& random, double low = -1,
                      double high = 1) {
  Tensor tensor({dtype_of<T>, shape});
  std::uniform_real_distribution<double> uniform(low, high);
  for (T& value : tensor.values<T>()) value = static_cast<T>(uniform(random));
  return tensor;
}

// weights, then x.
template <class T>
std::vector<Tensor> inputs_for(const Case& c, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> in{uniform_tensor<T>({c.weights()}, random)};
  for (const Shape& shape : c.x) in.push_back(uniform_tensor<T>(shape, random, -2, 2));
  return in;
}

struct Activated {
  double value, slope;
};
Activated activated(const std::string& activation, double h) {
  if (activation == "relu") return {h > 0 ? h : 0, h > 0 ? 1.0 : 0.0};
  if (activation == "tanh") return {std::tanh(h), 1 - std::tanh(h) * std::tanh(h)};
  return {std::log1p(std::exp(-std::abs(h))) + std::max(h, 0.0), 1 / (1 + std::exp(-h))};
}

// One coordinate, as the formulas say: the value, then the derivatives. `nearest` is the smallest
// |h| that it met.
std::vector<double> one_coordinate(const Case& c, const Tensor& weights,
                                   const std::vector<double>& x, double* nearest = nullptr) {
  std::int64_t at = 0;
  std::vector<double> a = x;
  // tangents[j][k]: the derivative of a[k] by input wrt[j].
  std::vector<std::vector<double>> tangents;
  for (std::int64_t i : c.wrt) {
    tangents.emplace_back(x.size(), 0.0);
    tangents.back()[static_cast<std::size_t>(i)] = 1;
  }
  const auto layer = [&](std::int64_t width, bool last) {
    const auto count = static_cast<std::int64_t>(a.size());
    std::vector<double> next(static_cast<std::size_t>(width));
    std::vector<std::vector<double>> next_tangents(tangents.size(), next);
    for (std::int64_t k = 0; k < width; ++k) {
      const auto unit = static_cast<std::size_t>(k);
      double h = weights.at(at + width * count + k);
      std::vector<double> t(tangents.size(), 0.0);
      for (std::int64_t i = 0; i < count; ++i) {
        const double w = weights.at(at + k * count + i);
        h += w * a[static_cast<std::size_t>(i)];
        for (std::size_t j = 0; j < t.size(); ++j)
          t[j] += w * tangents[j][static_cast<std::size_t>(i)];
      }
      const Activated s = last ? Activated{h, 1} : activated(c.activation, h);
      if (nearest != nullptr && !last) *nearest = std::min(*nearest, std::abs(h));
      next[unit] = s.value;
      for (std::size_t j = 0; j < t.size(); ++j) next_tangents[j][unit] = s.slope * t[j];
    }
    at += width * count + width;
    a = next;
    tangents = next_tangents;
  };
  for (std::int64_t width : c.hidden) layer(width, false);
  layer(1, true);
  std::vector<double> result{a[0]};
  for (const auto& t : tangents) result.push_back(t[0]);
  return result;
}

// Every coordinate of S: calls visit(index in S, the numbers at it).
template <class Visit>
void for_each_coordinate(const Case& c, const std::vector<Tensor>& in, Visit&& visit) {
  const Shape s = c.coordinates();
  for (std::int64_t index = 0; index < s.elements(); ++index) {
    std::vector<double> x;
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      std::int64_t rest = index, offset = 0, step = 1;
      for (int axis = s.rank() - 1; axis >= 0; --axis) {
        if (c.x[i][axis] != 1) offset += rest % s[axis] * step;
        rest /= s[axis];
        step *= c.x[i][axis];
      }
      x.push_back(in[1 + i].at(offset));
    }
    visit(index, x);
  }
}

// Where part m of coordinate `index` stands in the output.
std::int64_t output_index(const Case& c, std::int64_t index, std::int64_t m) {
  const Shape s = c.coordinates();
  const std::int64_t inner = s.span_elements(static_cast<int>(c.axis), s.rank());
  const auto parts = static_cast<std::int64_t>(1 + c.wrt.size());
  return (index / inner * parts + m) * inner + index % inner;
}

// Adds adjoints for the weights' gradient to the inputs: those that stand in dy, which is shaped
// like the output.
void add_adjoints(const Case& c, const Tensor& dy, std::vector<Tensor>& in) {
  const Shape s = c.coordinates();
  for (std::int64_t m = 0; m <= static_cast<std::int64_t>(c.wrt.size()); ++m) {
    Tensor part({dy.dtype(), s});
    dispatch(dy.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (std::int64_t i = 0; i < s.elements(); ++i)
        part.data<T>()[i] = dy.data<T>()[output_index(c, i, m)];
    });
    in.push_back(part);
  }
}

Tensor composed(const OpDef& op, const std::vector<Tensor>& in, const Attributes& attributes) {
  Graph graph;
  std::vector<Value> values;
  for (const Tensor& tensor : in) values.push_back(constant(graph, tensor));
  const Value result = op.compose({values, &attributes});
  return evaluate(graph, {}, {result.id}).front();
}

double largest(const Tensor& x) {
  double result = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) result = std::max(result, std::abs(x.at(i)));
  return result;
}
// The largest difference, relative to the largest element or 1.
double apart(const Tensor& a, const Tensor& b) {
  BOOST_REQUIRE(a.type() == b.type());
  double result = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double difference = std::abs(a.at(i) - b.at(i));
    result = std::max(result, difference == difference ? difference : INFINITY);
  }
  return result / std::max(1.0, largest(b));
}

template <class T>
constexpr double tolerance = sizeof(T) == 4 ? 3e-6 : 1e-14;

using Floats = std::tuple<float, double>;

// Relu corners are kinks of the value and jumps of the derivatives: in those cases every h keeps
// a distance that differences do not cross.
std::vector<Tensor> smooth_inputs(const Case& c) {
  for (std::uint64_t seed = 1;; ++seed) {
    const auto in = inputs_for<double>(c, seed);
    double nearest = 1;
    for_each_coordinate(c, in, [&](std::int64_t, const std::vector<double>& x) {
      one_coordinate(c, in[0], x, &nearest);
    });
    if (c.activation != "relu" || nearest > 0.02) return in;
  }
}

std::vector<Case> small_cases() {
  std::vector<Case> cases;
  for (const char* activation : {"relu", "tanh", "softplus"})
    for (const Ints& hidden : {Ints{3}, Ints{3, 2}}) {
      cases.push_back({activation, hidden, {0}, {{2}}});
      cases.push_back({activation, hidden, {}, {{2}, {2}}});
      cases.push_back({activation, hidden, {1, 0}, {{2, 1}, {2, 2}}, 1});
      cases.push_back({activation, hidden, {2}, {{2}, {1}, {2}}});
      cases.push_back({activation, hidden, {3, 1, 0}, {{1, 2}, {2, 1}, {1, 1}, {2, 2}}});
    }
  return cases;
}

auto message_is(std::string text) {
  return [text](const Error& error) {
    BOOST_TEST(error.what() == text);
    return error.kind() == ErrorKind::graph;
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(coordinate_nets)

BOOST_AUTO_TEST_CASE_TEMPLATE(every_network_equals_a_scalar_loop, T, Floats) {
  for (const Case& c : all_cases()) {
    const auto in = inputs_for<T>(c, 3);
    const Tensor y = evaluate_op(net_op(), in, c.attributes(net_op()));
    double worst = 0;
    for_each_coordinate(c, in, [&](std::int64_t index, const std::vector<double>& x) {
      double nearest = 1;
      const auto want = one_coordinate(c, in[0], x, &nearest);
      // Rounding may choose the other side of a corner.
      if (c.activation == "relu" && nearest < 1e-6) return;
      for (std::size_t m = 0; m < want.size(); ++m) {
        const double got = y.at(output_index(c, index, static_cast<std::int64_t>(m)));
        worst = std::max(worst, std::abs(got - want[m]) / std::max(1.0, std::abs(want[m])));
      }
    });
    BOOST_TEST(worst < tolerance<T>, c.name() << ": " << worst);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(fused_kernels_equal_their_compositions, T, Floats) {
  for (const Case& c : all_cases()) {
    auto in = inputs_for<T>(c, 4);
    const Attributes attrs = c.attributes(net_op());
    const Tensor y = evaluate_op(net_op(), in, attrs);
    const double forward = apart(y, composed(net_op(), in, attrs));
    BOOST_TEST(forward < tolerance<T>, c.name() << ": " << forward);
    std::mt19937_64 random(5);
    add_adjoints(c, uniform_tensor<T>(y.shape(), random), in);
    const Attributes same = c.attributes(gradient_op());
    const double back =
        apart(evaluate_op(gradient_op(), in, same), composed(gradient_op(), in, same));
    BOOST_TEST(back < 4 * tolerance<T>, c.name() << ": " << back);
  }
}

BOOST_AUTO_TEST_CASE(derivatives_agree_with_differences_to_second_order) {
  for (const Case& c : small_cases()) {
    const auto in = smooth_inputs(c);
    Graph graph;
    Feeds feeds;
    std::vector<Value> values;
    std::vector<NodeId> ids;
    for (const Tensor& tensor : in) {
      const std::string name = fmt::format("x{}", values.size());
      values.push_back(input(graph, name, tensor.type()));
      ids.push_back(values.back().id);
      feeds.emplace(name, tensor);
    }
    const Value y = call(net_op(), values, c.attributes(net_op()));
    std::mt19937_64 random(11);
    const auto weighted = [&](Value value) {
      return sum(value * constant(graph, uniform_tensor<double>(value.shape(), random, 0.5, 1.5)));
    };
    const Value first = weighted(y);
    const GradientCheck once = check_gradient(graph, feeds, first.id, ids);
    BOOST_TEST(once.worst < 1e-8, c.name() << ": " << once.worst);
    Value second;
    for (const Value& slope : gradient(first, values, {.allow_unused = true})) {
      const Value part = weighted(slope);
      second = second ? second + part : part;
    }
    const GradientCheck twice = check_gradient(graph, feeds, second.id, ids);
    BOOST_TEST(twice.worst < 1e-8, c.name() << ", second order: " << twice.worst);
  }
}

// Several units of coordinates: each may run alone, in any order.
BOOST_AUTO_TEST_CASE_TEMPLATE(results_do_not_depend_on_how_units_are_cut, T, Floats) {
  for (const char* activation : {"relu", "softplus"})
    for (const std::vector<Shape>& x :
         {std::vector<Shape>{{3, 1}, {3, 5001}}, std::vector<Shape>{{2500, 1}, {2500, 6}}}) {
      const Case c{activation, {4}, {0, 1}, x};
      auto in = inputs_for<T>(c, 6);
      const Tensor whole = evaluate_op(net_op(), in, c.attributes(net_op()));
      for (const OpDef* op : {&net_op(), &gradient_op()}) {
        if (op == &gradient_op()) add_adjoints(c, whole, in);
        std::vector<Type> types;
        std::vector<const void*> pointers;
        for (const Tensor& tensor : in) {
          types.push_back(tensor.type());
          pointers.push_back(tensor.raw());
        }
        Site site{op, types, c.attributes(*op), {}};
        site.out = op->infer(site);
        const std::int64_t units = op->units(site);
        BOOST_TEST(units > 2);
        const auto scratch = allocate_storage(op->scratch(site));
        Tensor parts(site.out);
        const Call call{&site, pointers.data(), parts.raw(), scratch.get()};
        const FlushDenormals guard;
        const std::size_t kernel = op->kernel_index(site);
        for (std::int64_t unit = units; unit-- > 0;) op->forward[kernel](call, unit, unit + 1);
        if (op->finish[kernel] != nullptr) op->finish[kernel](call);
        BOOST_TEST(parts.same_bits(evaluate_op(*op, in, site.attributes)));
      }
    }
}

BOOST_AUTO_TEST_CASE(an_input_may_be_repeated_in_place) {
  const Case narrow{"relu", {10}, {0, 1}, {{4, 1}, {4, 300}}};
  const Case wide{"relu", {10}, {0, 1}, {{4, 300}, {4, 300}}};
  auto in = inputs_for<float>(narrow, 8);
  auto copied = in;
  copied[1] = Tensor({DType::f32, {4, 300}});
  for (std::int64_t i = 0; i < 1200; ++i) copied[1].data<float>()[i] = in[1].data<float>()[i / 300];
  const Tensor y = evaluate_op(net_op(), in, narrow.attributes(net_op()));
  BOOST_TEST(y.same_bits(evaluate_op(net_op(), copied, wide.attributes(net_op()))));
  add_adjoints(narrow, y, in);
  add_adjoints(wide, y, copied);
  BOOST_TEST(apart(evaluate_op(gradient_op(), in, narrow.attributes(gradient_op())),
                   evaluate_op(gradient_op(), copied, wide.attributes(gradient_op()))) < 1e-6);
}

BOOST_AUTO_TEST_CASE(the_builder_aligns_ranks_at_the_last_axis) {
  Graph graph;
  const Value p = input(graph, "p", {DType::f32, {4, 6}});
  const Value g = input(graph, "g", {DType::f32, {6}});
  const Value u = input(graph, "u", {DType::f32, {}});
  const Value w = input(graph, "w", {DType::f32, {coordinate_net_weights(3, {5})}});
  BOOST_TEST(coordinate_net_weights(3, {5}) == 26);
  BOOST_TEST(coordinate_net_weights(2, {4, 3}) == 31);
  const Value y = coordinate_net({u, p, g}, w, {{5}, "tanh", {1}});
  BOOST_TEST(to_string(y.type()) == "f32[2,4,6]");
}

// Rows that are longer and shorter than a block, coordinates that are no multiple of one, an input
// for each row, for each column and for all, a plane that nobody reads, a network that reads a
// network, and one that is wanted whole.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_loop_makes_networks_and_what_reads_them, T, Floats) {
  const DType dtype = dtype_of<T>;
  for (const Shape& shape : {Shape{3, 700}, Shape{40, 20}, Shape{2, 17001}, Shape{5}, Shape{71}})
    for (bool whole : {false, true}) {
      Graph graph;
      const int rank = shape.rank();
      const Shape rows = rank == 2 ? Shape{shape[0], 1} : Shape{1};
      const Shape columns = rank == 2 ? Shape{1, shape[1]} : shape;
      const Value p = input(graph, "p", {dtype, shape}), u = input(graph, "u", {dtype, rows});
      const Value c = input(graph, "c", {dtype, columns});
      // As many weights as the last shape has coordinates.
      const Value w = input(graph, "w", {dtype, {coordinate_net_weights(3, {14})}});
      const auto part = [&](Value net, std::int64_t m) {
        return reshape(slice(net, 0, m, m + 1), shape);
      };
      const Value first = coordinate_net({u, p, c}, w, {{14}, "relu", {0, 1, 2}});
      const Value q = p - 0.1 * part(first, 0) * p + sin(part(first, 3));
      const Value second = coordinate_net({u, q, part(first, 1)}, w, {{14}, "relu", {1}});
      graph.add_output("q", (q + part(second, 1)).id);
      graph.add_output("sums", sum(part(second, 0), {-1}).id);
      if (whole) graph.add_output("first", first.id);

      Feeds feeds;
      std::mt19937_64 random(4);
      for (NodeId id : graph.input_nodes())
        feeds.emplace(std::string(graph.name(id)), uniform_tensor<T>(graph.type(id).shape, random));
      const auto want = evaluate(graph, feeds);
      for (int threads : {1, 3}) {
        Executor executor(compile(graph), {.threads = threads});
        if (!whole) BOOST_TEST(executor.plan().loops.size() == 1u);
        BOOST_TEST(executor.plan().singles.empty());
        for (const auto& [name, tensor] : feeds) executor.bind(name, tensor);
        executor.run();
        for (const auto& [name, tensor] : want)
          BOOST_TEST(executor.output(name).same_bits(tensor), name << " " << to_string(shape));
      }
    }
}

// Batched and looped, with weights that are shared and weights of every chain's own.
BOOST_AUTO_TEST_CASE(a_batch_equals_its_chains) {
  const std::int64_t size = 3;
  const Case c{"tanh", {4}, {1, 0}, {{5, 1}, {5, 70}}, 1};
  for (const OpDef* op : {&net_op(), &gradient_op()})
    for (unsigned mask = 1; mask < (op == &net_op() ? 8u : 64u); ++mask) {
      std::mt19937_64 random(mask);
      std::vector<Tensor> one = inputs_for<double>(c, 9);
      if (op == &gradient_op()) add_adjoints(c, uniform_tensor<double>({5, 3, 70}, random), one);
      Graph graph;
      std::vector<Value> values;
      std::vector<Tensor> all;
      std::array<bool, 6> batched{};
      for (std::size_t i = 0; i < one.size(); ++i) {
        batched[i] = (mask >> i & 1) != 0;
        all.push_back(batched[i] ? uniform_tensor<double>(one[i].shape().with_front(size), random)
                                 : one[i]);
        values.push_back(constant(graph, all.back()));
      }
      const Attributes attrs = c.attributes(*op);
      const Value many = op->batch(
          {&graph, op, values, std::span<const bool>(batched).first(one.size()), size, &attrs});
      const Tensor got = evaluate(graph, {}, {many.id}).front();
      for (std::int64_t chain = 0; chain < size; ++chain) {
        std::vector<Tensor> in = all;
        for (std::size_t i = 0; i < in.size(); ++i)
          if (batched[i]) {
            const std::int64_t n = one[i].elements();
            in[i] = Tensor::of<double>(
                one[i].shape(), all[i].values<double>().subspan(static_cast<std::size_t>(chain * n),
                                                                static_cast<std::size_t>(n)));
          }
        const Tensor want = evaluate_op(*op, in, attrs);
        BOOST_TEST(got.shape() == want.shape().with_front(size));
        const Tensor part = Tensor::of<double>(
            want.shape(),
            got.values<double>().subspan(static_cast<std::size_t>(chain * want.elements()),
                                         static_cast<std::size_t>(want.elements())));
        BOOST_TEST(apart(part, want) < 1e-14);
      }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_nan_is_not_swallowed, T, Floats) {
  for (const char* activation : {"relu", "tanh", "softplus"})
    for (const Ints& hidden : {Ints{4}, Ints{4, 4}}) {
      const Case c{activation, hidden, {0}, {{100}}};
      auto in = inputs_for<T>(c, 10);
      in[1].template data<T>()[33] = std::numeric_limits<T>::quiet_NaN();
      const Tensor y = evaluate_op(net_op(), in, c.attributes(net_op()));
      for (std::int64_t i = 0; i < 100; ++i) BOOST_TEST(std::isnan(y.at(i)) == (i == 33));
      Tensor dy(y.type());
      std::fill_n(dy.data<T>(), 200, T(1));
      add_adjoints(c, dy, in);
      const Tensor w = evaluate_op(gradient_op(), in, c.attributes(gradient_op()));
      bool found = false;
      for (std::int64_t i = 0; i < w.elements(); ++i) found |= std::isnan(w.at(i));
      BOOST_TEST(found, c.name());
    }
}

BOOST_AUTO_TEST_CASE(mistakes_are_graph_errors_that_name_them) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {4}});
  const Value w = input(graph, "w", {DType::f32, {10}});
  const Value wide = input(graph, "wide", {DType::f64, {4}});
  const std::string in = "; inputs weights=f32[10] x=f32[4]";
  const auto refuses = [&](const std::vector<Value>& xs, const CoordinateNet& net,
                           const std::string& text) {
    const std::size_t before = graph.size();
    BOOST_CHECK_EXCEPTION(coordinate_net(xs, w, net), Error,
                          message_is("[coordinate_net] " + text));
    BOOST_TEST(graph.size() == before);
  };
  refuses({x}, {{4}, "relu", {}}, "weights must be [13] for 1 inputs and [4]: found [10]" + in);
  refuses({x}, {{}, "relu", {}}, "has 0 hidden layers; expected 1 or 2" + in);
  refuses({x}, {{3, 0}, "relu", {}}, "a hidden layer has 0 units; expected 1 to 2^20" + in);
  refuses({x}, {{3}, "gelu", {}},
          "unknown activation 'gelu'; expected relu, tanh or softplus" + in);
  refuses({x}, {{3}, "relu", {1}}, "wrt names input 1, but there are 1" + in);
  refuses({x}, {{3}, "relu", {0, 0}}, "wrt names input 0 twice" + in);
  refuses({wide}, {{3}, "relu", {}},
          "the dtypes of weights and inputs differ: f32 and f64; inputs weights=f32[10] x=f64[4]");
  refuses({x, x, x, x, x}, {{3}, "relu", {}},
          "has 5 inputs x; expected 1 to 4; inputs weights=f32[10] x=f32[4] x=f32[4] x=f32[4] "
          "x=f32[4] x=f32[4]");
  BOOST_CHECK_EXCEPTION(
      call(gradient_op(), {w, x, x},
           make_attributes("test", gradient_op().attrs(), {{"hidden", Ints{3}}, {"wrt", Ints{0}}})),
      Error,
      message_is(
          "[coordinate_net_weights_gradient] has 2 inputs after the weights; expected x, and "
          "dy of 2 outputs; inputs weights=f32[10] x_dy=f32[4] x_dy=f32[4]"));
  const Value short_dy = input(graph, "dy", {DType::f32, {3}});
  BOOST_CHECK_EXCEPTION(
      call(gradient_op(), {w, x, short_dy},
           make_attributes("test", gradient_op().attrs(), {{"hidden", Ints{3}}})),
      Error,
      message_is("[coordinate_net_weights_gradient] dy must be f32[4]: found f32[3]; inputs "
                 "weights=f32[10] x_dy=f32[4] x_dy=f32[3]"));
  BOOST_CHECK_EXCEPTION(coordinate_net_weights(2, {}), Error,
                        message_is("[coordinate_net] has 0 hidden layers; expected 1 or 2"));
}

BOOST_AUTO_TEST_SUITE_END()
