// gru: against cells of plain ops, against differences, and what its length, chains and threads
// must not change.
#include "autodiff/numeric.hpp"
#include "autodiff/tape.hpp"
#include "engine/compile.hpp"
#include "engine/executor.hpp"
#include "engine/passes.hpp"
#include "engine/plan.hpp"
#include "tests/engine/op_checks.hpp"

namespace whorl {
namespace {

using testing::message_of;

struct Sizes {
  std::int64_t frames, features, units, length;
};

// Inputs by name, in the order of the op's inputs.
std::vector<std::pair<std::string, Tensor>> random_inputs(const Sizes& s, DType dtype,
                                                          std::uint64_t seed = 5) {
  std::mt19937_64 random(seed);
  const std::int64_t wide = 3 * s.units;
  std::vector<std::pair<std::string, Tensor>> all;
  const auto add = [&](std::string name, const Shape& shape, double range) {
    // The same numbers in both types.
    const Tensor narrow = testing::random_tensor({DType::f32, shape}, -range, range, random);
    Tensor tensor({dtype, shape});
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      for (std::int64_t i = 0; i < narrow.elements(); ++i)
        tensor.data<T>()[i] = static_cast<T>(narrow.at(i));
    });
    all.emplace_back(std::move(name), tensor);
  };
  const double scale = 1.5 / std::sqrt(static_cast<double>(s.units));
  add("x", {s.frames, s.features}, 2);
  all.emplace_back("length", Tensor::of<std::int32_t>({}, {static_cast<std::int32_t>(s.length)}));
  add("w_x", {s.features, wide}, scale);
  add("w_h", {s.units, wide}, scale);
  add("b_x", {wide}, 0.5);
  add("b_h", {wide}, 0.5);
  add("h_0", {s.units}, 1);
  return all;
}

// A gru on named inputs, and a loss that weighs all states.
struct Net {
  Graph graph;
  Feeds feeds;
  std::vector<Value> in;
  Value h, loss;

  Net(const Sizes& s, DType dtype, bool plain = false) {
    for (const auto& [name, tensor] : random_inputs(s, dtype)) {
      in.push_back(input(graph, name, tensor.type()));
      feeds.emplace(name, tensor);
    }
    h = plain ? cells(s) : gru(in[0], in[1], in[2], in[3], in[4], in[5], in[6]);
    std::mt19937_64 random(11);
    const Tensor weights = testing::random_tensor(h.type(), -1, 1, random);
    loss = sum(h * constant(graph, weights));
  }
  Net(const Net&) = delete;

  // The states in plain ops; those behind s.length are zeros.
  Value cells(const Sizes& s) {
    std::vector<Value> states;
    Value state = in[6];
    for (std::int64_t t = 0; t < s.length; ++t) {
      const Value x = reshape(slice(in[0], 0, t, t + 1), Shape{s.features});
      const Value a = matmul(x, in[2]) + in[4], c = matmul(state, in[3]) + in[5];
      const auto gate = [&](Value v, std::int64_t i) {
        return slice(v, 0, i * s.units, (i + 1) * s.units);
      };
      const Value r = sigmoid(gate(a, 0) + gate(c, 0)), z = sigmoid(gate(a, 1) + gate(c, 1));
      const Value n = tanh(gate(a, 2) + r * gate(c, 2));
      state = (1.0 - z) * n + z * state;
      states.push_back(state);
    }
    const Value none = fill(graph, {in[6].dtype(), {s.frames - s.length, s.units}}, 0);
    return states.empty() ? none : concat({stack(states), none}, 0);
  }
  std::vector<Value> floats_of() const { return {in[0], in[2], in[3], in[4], in[5], in[6]}; }
  Tensor value(Value v) { return evaluate(graph, feeds, {v.id}).front(); }
};

const std::vector<Sizes> all_sizes{{5, 3, 4, 5},  {1, 2, 1, 1},  {6, 1, 7, 4},  {4, 5, 8, 4},
                                   {7, 2, 13, 6}, {3, 4, 33, 3}, {4, 3, 45, 2}, {3, 2, 5, 0},
                                   {3, 2, 67, 3}, {4, 1, 96, 2}};

double distance(const Tensor& a, const Tensor& b) {
  BOOST_REQUIRE(a.shape() == b.shape());
  double apart = 0, largest = 1e-3;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    apart = std::max(apart, std::abs(a.at(i) - b.at(i)));
    largest = std::max(largest, std::abs(b.at(i)));
  }
  return apart / largest;
}

std::map<std::string, Tensor> run(const Graph& graph, const Feeds& feeds, int threads) {
  Executor executor(compile(graph), {.threads = threads});
  for (const auto& [name, tensor] : feeds) executor.bind(name, tensor);
  executor.run();
  std::map<std::string, Tensor> results;
  for (const Graph::Output& output : graph.outputs())
    results.emplace(output.name, executor.output(output.name).clone());
  return results;
}

// A graph whose outputs are the states and the loss's gradients.
void add_outputs(Net& net) {
  net.graph.add_output("h", net.h.id);
  const std::vector<Value> wrt = net.floats_of();
  const std::vector<Value> gradients = gradient(net.loss, wrt);
  for (std::size_t i = 0; i < wrt.size(); ++i)
    net.graph.add_output("d_" + std::string(net.graph.name(wrt[i].id)), gradients[i].id);
}

BOOST_AUTO_TEST_SUITE(gru_op)

BOOST_AUTO_TEST_CASE(states_and_all_gradients_equal_those_of_plain_cells) {
  for (const Sizes& s : all_sizes) {
    Net fused(s, DType::f64), plain(s, DType::f64, true);
    BOOST_TEST(distance(fused.value(fused.h), plain.value(plain.h)) <= 1e-13);
    const auto a = gradient(fused.loss, fused.floats_of());
    const auto b = gradient(plain.loss, plain.floats_of(), {.allow_unused = true});
    for (std::size_t i = 0; i < a.size(); ++i)
      BOOST_TEST(distance(fused.value(a[i]), plain.value(b[i])) <= 1e-12,
                 "units " << s.units << ", input " << i);
  }
}

BOOST_AUTO_TEST_CASE(gradients_agree_with_central_differences) {
  for (const Sizes& s : {Sizes{4, 2, 3, 4}, Sizes{5, 3, 9, 3}}) {
    Net net(s, DType::f64);
    std::vector<NodeId> xs;
    for (const Value& x : net.floats_of()) xs.push_back(x.id);
    const GradientCheck check = check_gradient(net.graph, net.feeds, net.loss.id, xs);
    BOOST_TEST(check.worst <= 1e-8, "input " << net.graph.name(check.x) << ": " << check.worst);
  }
}

BOOST_AUTO_TEST_CASE(products_with_the_hessian_equal_those_of_plain_cells) {
  const Sizes s{4, 2, 5, 3};
  Net fused(s, DType::f64), plain(s, DType::f64, true);
  const auto second = [](Net& net) {
    Value total;
    std::mt19937_64 random(3);
    for (const Value& dx : gradient(net.loss, net.floats_of())) {
      const Value term =
          sum(dx * constant(net.graph, testing::random_tensor(dx.type(), -1, 1, random)));
      total = total ? total + term : term;
    }
    std::vector<Tensor> results;
    for (const Value& dx : gradient(total, net.floats_of())) results.push_back(net.value(dx));
    return results;
  };
  const auto a = second(fused), b = second(plain);
  for (std::size_t i = 0; i < a.size(); ++i)
    BOOST_TEST(distance(a[i], b[i]) <= 1e-11, "input " << i);
}

BOOST_AUTO_TEST_CASE(single_precision_is_near_double) {
  for (const Sizes& s : {Sizes{40, 8, 50, 40}, Sizes{30, 3, 21, 17}}) {
    Net single(s, DType::f32), exact(s, DType::f64);
    BOOST_TEST(distance(single.value(single.h), exact.value(exact.h)) <= 3e-6);
    const auto a = gradient(single.loss, single.floats_of());
    const auto b = gradient(exact.loss, exact.floats_of());
    for (std::size_t i = 0; i < a.size(); ++i)
      BOOST_TEST(distance(single.value(a[i]), exact.value(b[i])) <= 2e-5, "input " << i);
  }
}

BOOST_AUTO_TEST_CASE(frames_behind_the_length_are_zeros_and_have_no_influence) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const Sizes s{6, 3, 11, 4};
    Net net(s, dtype);
    add_outputs(net);
    const auto before = run(net.graph, net.feeds, 1);
    Feeds other = net.feeds;
    Tensor& x = other.at("x");
    x = x.clone();
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      for (std::int64_t i = s.length * s.features; i < x.elements(); ++i)
        x.data<T>()[i] = static_cast<T>(1000 - 7 * i);
    });
    for (const auto& [name, tensor] : run(net.graph, other, 1))
      BOOST_TEST(tensor.same_bits(before.at(name)), name);
    for (const char* name : {"h", "d_x"}) {
      const Tensor& rows = before.at(name);
      const std::int64_t width = rows.shape()[1];
      for (std::int64_t i = s.length * width; i < rows.elements(); ++i) BOOST_TEST(rows.at(i) == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(one_plan_runs_sequences_of_every_length) {
  const Sizes s{6, 3, 10, 6};
  Net net(s, DType::f32);
  add_outputs(net);
  Executor executor(compile(net.graph), {.threads = 1});
  for (const auto& [name, tensor] : net.feeds) executor.bind(name, tensor);
  for (std::int32_t length : {6, 0, 3, 6}) {
    const Tensor now = Tensor::of<std::int32_t>({}, {length});
    executor.bind("length", now);
    executor.run();
    Feeds feeds = net.feeds;
    feeds.at("length") = now;
    for (const auto& [name, tensor] : evaluate(net.graph, feeds))
      BOOST_TEST(executor.output(name).same_bits(tensor), name << " at length " << length);
  }
}

BOOST_AUTO_TEST_CASE(a_gradient_is_one_recurrence_each_way_and_pads_nothing) {
  for (std::int64_t chains : {1, 3}) {
    Net net({5, 3, 4, 5}, DType::f32);
    add_outputs(net);
    const Graph whole =
        chains == 1 ? simplify(net.graph)
                    : simplify(batch(net.graph, {"w_x", "w_h", "b_x", "b_h", "h_0"}, chains));
    std::map<std::string_view, int> counts;
    for (NodeId id = 0; id < whole.size(); ++id) ++counts[whole.op(id).name];
    BOOST_TEST(counts["gru_trace"] == 1);
    BOOST_TEST(counts["gru_adjoint"] == 1);
    BOOST_TEST(counts["pad"] == 0);
  }
}

// The recurrences themselves; products of all chains may be added up in another order.
BOOST_AUTO_TEST_CASE(batched_recurrences_have_the_bits_of_single_ones) {
  constexpr std::int64_t chains = 3;
  std::mt19937_64 random(2);
  for (DType dtype : {DType::f32, DType::f64})
    for (const char* name : {"gru_trace", "gru_adjoint"}) {
      const OpDef& op = *find_op(name);
      const bool forward = op.name == "gru_trace";
      const std::vector<Shape> shapes =
          forward ? std::vector<Shape>{{5, 39}, {}, {13, 39}, {39}, {39}, {13}}
                  : std::vector<Shape>{{}, {13, 39}, {26, 13}, {5, 13}};
      for (unsigned chosen = 1; chosen < 1u << shapes.size(); ++chosen) {
        Graph graph;
        Feeds feeds;
        std::vector<Value> values;
        std::vector<Tensor> tensors;
        bool flags[8] = {};
        for (std::size_t i = 0; i < shapes.size(); ++i) {
          flags[i] = (chosen >> i & 1) != 0;
          const Shape shape = flags[i] ? shapes[i].with_front(chains) : shapes[i];
          const bool length = shapes[i].rank() == 0;
          tensors.push_back(testing::random_tensor({length ? DType::i32 : dtype, shape},
                                                   length ? 0 : -1, length ? 6 : 1, random));
          const std::string label = fmt::format("x{}", i);
          values.push_back(input(graph, label, tensors.back().type()));
          feeds.emplace(label, tensors.back());
        }
        const Attributes none;
        const Value y = op.batch(
            {&graph, &op, values, std::span<const bool>(flags, shapes.size()), chains, &none});
        BOOST_TEST((&graph.op(y.id) == &op), "one op for all chains");
        const Tensor all = evaluate(graph, feeds, {y.id}).front();
        for (std::int64_t c = 0; c < chains; ++c) {
          std::vector<Tensor> one;
          for (std::size_t i = 0; i < shapes.size(); ++i)
            one.push_back(flags[i] ? testing::chain_of(tensors[i], c) : tensors[i]);
          BOOST_TEST(testing::chain_of(all, c).same_bits(evaluate_op(op, one, {})),
                     name << " with inputs " << chosen);
        }
      }
    }
}

BOOST_AUTO_TEST_CASE(chains_of_weights_get_the_gradients_that_each_gets_alone) {
  constexpr std::int64_t chains = 3;
  const Sizes s{6, 4, 10, 5};
  Net net(s, DType::f64);
  add_outputs(net);
  const std::vector<std::string> names{"w_x", "w_h", "b_x", "b_h", "h_0"};
  const Graph many = batch(net.graph, names, chains);
  Feeds feeds = net.feeds;
  std::mt19937_64 random(9);
  for (const std::string& name : names) {
    const Type& type = net.feeds.at(name).type();
    feeds.at(name) =
        testing::random_tensor({type.dtype, type.shape.with_front(chains)}, -0.5, 0.5, random);
  }
  const auto all = run(many, feeds, 2);
  for (std::int64_t c = 0; c < chains; ++c) {
    Feeds one = feeds;
    for (const std::string& name : names) one.at(name) = testing::chain_of(feeds.at(name), c);
    for (const auto& [name, tensor] : run(net.graph, one, 1))
      BOOST_TEST(distance(testing::chain_of(all.at(name), c), tensor) <= 1e-12, name);
  }
}

// Weights that all chains share get the sum of what each chain gives them.
BOOST_AUTO_TEST_CASE(shared_weights_get_the_sum_over_chains) {
  const OpDef& op = *find_op("gru_trace");
  std::mt19937_64 random(4);
  Graph graph;
  Feeds feeds;
  std::vector<Value> in;
  const auto add = [&](const Shape& shape) {
    const std::string name = fmt::format("x{}", in.size());
    feeds.emplace(name, testing::random_tensor({DType::f64, shape}, -1, 1, random));
    in.push_back(input(graph, name, {DType::f64, shape}));
    return in.back();
  };
  const Value x = add({2, 4, 9}), w_h = add({3, 9}), b_x = add({9}), b_h = add({9}), h_0 = add({3});
  const Value length = constant(graph, Tensor::of<std::int32_t>({2}, {4, 2}));
  const Value y = call(op, {x, length, w_h, b_x, b_h, h_0});
  std::vector<NodeId> xs;
  for (const Value& each : in) xs.push_back(each.id);
  BOOST_TEST(check_gradient(graph, feeds, y.id, xs).worst <= 1e-8);
}

BOOST_AUTO_TEST_CASE(any_number_of_threads_gives_the_same_bits) {
  const Sizes s{50, 8, 40, 44};
  Net net(s, DType::f32);
  add_outputs(net);
  const std::vector<std::string> names{"w_x", "w_h", "b_x", "b_h"};
  const Graph many = batch(net.graph, names, 5);
  Feeds feeds = net.feeds;
  std::mt19937_64 random(1);
  for (const std::string& name : names)
    feeds.at(name) = testing::random_tensor({DType::f32, net.feeds.at(name).shape().with_front(5)},
                                            -0.3, 0.3, random);
  const auto one = run(many, feeds, 1), two = run(many, feeds, 2);
  for (const auto& [name, tensor] : one) BOOST_TEST(tensor.same_bits(two.at(name)), name);
}

// Two threads share a wide chain, frame by frame, and come and go as the scheduler likes.
BOOST_AUTO_TEST_CASE(threads_that_share_a_chain_give_the_bits_of_one) {
  for (DType dtype : {DType::f32, DType::f64})
    for (const Sizes& s : {Sizes{60, 3, 200, 57}, Sizes{200, 2, 67, 190}, Sizes{60, 2, 128, 0}}) {
      Net net(s, dtype);
      add_outputs(net);
      const auto expected = evaluate(net.graph, net.feeds);
      const auto plan = compile(net.graph);
      int shared = 0;
      for (const PlanStep& step : plan->steps)
        if (step.kind == PlanStep::Kind::single &&
            plan->singles[step.index].site.op->name.starts_with("gru_"))
          shared += step.parts == 2;
      BOOST_TEST(shared == 2, "both ways are worth two threads");
      for (int threads : {1, 2, 3, 8}) {
        Executor executor(plan, {.threads = threads});
        for (const auto& [name, tensor] : net.feeds) executor.bind(name, tensor);
        for (int repeat = 0; repeat < 10; ++repeat) {
          executor.run();
          for (const auto& [name, tensor] : expected)
            BOOST_TEST(executor.output(name).same_bits(tensor),
                       name << ", " << s.units << " units, " << threads << " threads");
        }
      }
    }
}

BOOST_AUTO_TEST_CASE(a_length_out_of_range_is_named_with_its_bound) {
  for (std::int32_t bad : {-1, 4}) {
    Graph graph;
    const auto zeros = [&](const Shape& shape) { return fill(graph, {DType::f32, shape}, 0); };
    const Value length = constant(graph, Tensor::of<std::int32_t>({}, {bad}));
    const Value lengths = constant(graph, Tensor::of<std::int32_t>({2}, {1, bad}));
    const OpDef &trace = *find_op("gru_trace"), &adjoint = *find_op("gru_adjoint");
    const auto message = [&](Value y) { return message_of([&] { evaluate(graph, {}, {y.id}); }); };
    const std::string what = fmt::format("length out of range: {}; expected 0 to 3", bad);
    const Value y =
        call(trace, {zeros({3, 6}), length, zeros({2, 6}), zeros({6}), zeros({6}), zeros({2})});
    BOOST_TEST(message(y) == fmt::format("[run] node {} (gru_trace): {}", y.id, what));
    const Value g = call(adjoint, {length, zeros({2, 6}), zeros({16, 2}), zeros({3, 2})});
    BOOST_TEST(message(g) == fmt::format("[run] node {} (gru_adjoint): {}", g.id, what));
    const Value many =
        call(trace, {zeros({3, 6}), lengths, zeros({2, 6}), zeros({6}), zeros({6}), zeros({2})});
    BOOST_TEST(message(many) ==
               fmt::format("[run] node {} (gru_trace): length out of range: {} in chain 1; "
                           "expected 0 to 3",
                           many.id, bad));
  }
}

BOOST_AUTO_TEST_CASE(bad_shapes_and_dtypes_are_refused_with_what_was_found) {
  Graph graph;
  const auto of = [&](const Shape& shape, DType dtype = DType::f32) {
    return input(graph, fmt::format("v{}", graph.size()), {dtype, shape});
  };
  const Value x = of({5, 2}), length = of({}, DType::i32), w_x = of({2, 9}), w_h = of({3, 9});
  const Value b = of({9}), h_0 = of({3}), wide = of({9}, DType::f64), other = of({4, 9});
  const auto tail = [](std::string_view x_type, std::string_view length_type,
                       std::string_view w_x_type, std::string_view w_h_type,
                       std::string_view b_type) {
    return fmt::format("; inputs x={} length={} w_x={} w_h={} b_x={} b_h=f32[9] h_0=f32[3]", x_type,
                       length_type, w_x_type, w_h_type, b_type);
  };
  BOOST_TEST(message_of([&] { gru(x, length, w_x, other, b, b, h_0); }) ==
             "[gru] input 'w_h' has shape [4,9]; expected [3,9]" +
                 tail("f32[5,2]", "i32[]", "f32[2,9]", "f32[4,9]", "f32[9]"));
  BOOST_TEST(message_of([&] { gru(x, length, other, w_h, b, b, h_0); }) ==
             "[gru] input 'w_x' has shape [4,9]; expected [2,9]" +
                 tail("f32[5,2]", "i32[]", "f32[4,9]", "f32[3,9]", "f32[9]"));
  BOOST_TEST(message_of([&] { gru(b, length, w_x, w_h, b, b, h_0); }) ==
             "[gru] input 'x' has rank 1; expected 2" +
                 tail("f32[9]", "i32[]", "f32[2,9]", "f32[3,9]", "f32[9]"));
  BOOST_TEST(message_of([&] { gru(x, h_0, w_x, w_h, b, b, h_0); }) ==
             "[gru] input 'length' is f32; expected i32 (use cast)" +
                 tail("f32[5,2]", "f32[3]", "f32[2,9]", "f32[3,9]", "f32[9]"));
  BOOST_TEST(message_of([&] { gru(x, length, w_x, w_h, wide, b, h_0); }) ==
             "[gru] input 'b_x' is f64; expected f32 (use cast)" +
                 tail("f32[5,2]", "i32[]", "f32[2,9]", "f32[3,9]", "f64[9]"));
  const OpDef &trace = *find_op("gru_trace"), &adjoint = *find_op("gru_adjoint");
  BOOST_TEST(message_of([&] {
               call(trace, {of({4, 5, 9}), length, of({2, 3, 9}), b, b, h_0});
             }) ==
             "[gru_trace] inputs 'x' and 'w_h' have 4 and 2 chains; inputs x=f32[4,5,9] "
             "length=i32[] w_h=f32[2,3,9] b_x=f32[9] b_h=f32[9] h_0=f32[3]");
  BOOST_TEST(message_of([&] {
               call(trace, {of({5, 9}), length, w_h, b, of({}), h_0});
             }) ==
             "[gru_trace] input 'b_h' has rank 0; expected 1, or 2 with an axis of chains; inputs "
             "x=f32[5,9] length=i32[] w_h=f32[3,9] b_x=f32[9] b_h=f32[] h_0=f32[3]");
  BOOST_TEST(message_of([&] {
               call(adjoint, {length, w_h, of({15, 3}), of({3, 3})});
             }) ==
             "[gru_adjoint] input 'trace' has 15 rows; expected 5 for each frame and 1; inputs "
             "length=i32[] w_h=f32[3,9] trace=f32[15,3] dtrace=f32[3,3]");
  BOOST_TEST(message_of([&] {
               call(adjoint, {length, w_h, of({16, 3}), of({4, 3})});
             }) ==
             "[gru_adjoint] input 'dtrace' has shape [4,3]; expected [16,3]; inputs length=i32[] "
             "w_h=f32[3,9] trace=f32[16,3] dtrace=f32[4,3]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace whorl
