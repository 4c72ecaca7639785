// Plans and executors: the same numbers as the plain evaluation, in less memory, on any threads.
#include "engine/executor.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <new>
#include <thread>

#include "engine/evaluate.hpp"
#include "engine/ops.hpp"
#include "engine/plan.hpp"
#include "tests/engine/allocations.hpp"

using namespace whorl;

namespace {

Tensor ramp(const Type& type, double low, double high) {
  Tensor tensor(type);
  const std::int64_t n = type.elements();
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < n; ++i)
      tensor.data<T>()[i] =
          static_cast<T>(low + (high - low) * static_cast<double>(i) /
                                   static_cast<double>(std::max<std::int64_t>(n - 1, 1)));
  });
  return tensor;
}

// Several loops, sinks of every length, broadcasts, generators, aliases and outputs that overlap.
Graph mixed_graph(std::int64_t rows, std::int64_t columns, DType dtype) {
  Graph graph;
  const Type type{dtype, {rows, columns}};
  const Value x = input(graph, "x", type);
  const Value w = input(graph, "w", {dtype, {columns}});
  const Value y = tanh(x * w + 0.25) * x;
  const Value row = sum(y, {1});                       // [rows]
  const Value back = broadcast(row, type.shape, {0});  // needs the sum before
  const Value z = exp(-square(y - back * 0.01));
  const Value all = sum(z);
  const Value flat = reshape(z, Shape{rows * columns});
  const Value columns_sum = sum(z, {0});
  graph.add_output("u", all.id);
  graph.add_output("row", row.id);
  graph.add_output("z", z.id);
  graph.add_output("flat", flat.id);
  graph.add_output("columns", columns_sum.id);
  graph.add_output("x_again", x.id);
  graph.add_output("scaled", (sigmoid(flat) / sum(flat)).id);
  return graph;
}

Feeds mixed_feeds(std::int64_t rows, std::int64_t columns, DType dtype) {
  return {{"x", ramp({dtype, {rows, columns}}, -2, 2)}, {"w", ramp({dtype, {columns}}, 0.5, 1.5)}};
}

void bind_all(Executor& executor, const Feeds& feeds) {
  for (const auto& [name, tensor] : feeds) executor.bind(name, tensor);
}

void check_equals_evaluation(const Graph& graph, const Feeds& feeds, int threads,
                             const CompileOptions& options) {
  const auto expected = evaluate(graph, feeds);
  Executor executor(compile(graph, options), {.threads = threads});
  bind_all(executor, feeds);
  for (int repeat = 0; repeat < 2; ++repeat) {
    executor.run();
    for (const auto& [name, tensor] : expected)
      BOOST_TEST(executor.output(name).same_bits(tensor),
                 name << " differs on " << threads << " threads");
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(executor)

BOOST_AUTO_TEST_CASE(a_plan_computes_the_bits_of_the_plain_evaluation) {
  for (DType dtype : {DType::f32, DType::f64})
    for (auto [rows, columns] : {std::pair{1, 1},
                                 {3, 7},
                                 {2, 256},
                                 {5, 1000},
                                 {3, 1025},
                                 {2, 40000},
                                 {300, 10},
                                 {1, 100000},
                                 {20, 3345}})
      for (int threads : {1, 2, 4})
        for (bool fuse : {true, false}) {
          CompileOptions options;
          if (!fuse) options.skip = {"fuse"};
          check_equals_evaluation(mixed_graph(rows, columns, dtype),
                                  mixed_feeds(rows, columns, dtype), threads, options);
        }
}

BOOST_AUTO_TEST_CASE(a_steady_run_allocates_nothing) {
  const Graph graph = mixed_graph(20, 3345, DType::f32);
  const Feeds feeds = mixed_feeds(20, 3345, DType::f32);
  for (int threads : {1, 2}) {
    Executor executor(compile(graph), {.threads = threads});
    bind_all(executor, feeds);
    for (int i = 0; i < 20; ++i) executor.run();
    const long before = allocations.load();
    for (int i = 0; i < 20; ++i) executor.run();
    BOOST_TEST(allocations.load() - before == 0);
  }
}

BOOST_AUTO_TEST_CASE(inputs_are_read_in_place) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {4}});
  graph.add_output("y", (x * 2.0).id);
  Executor executor(compile(graph));
  Tensor data = ramp({DType::f32, {4}}, 0, 3);
  executor.bind("x", data);
  executor.run();
  BOOST_TEST(executor.output("y").at(3) == 6);
  data.data<float>()[3] = 10;
  executor.run();
  BOOST_TEST(executor.output("y").at(3) == 20);
}

BOOST_AUTO_TEST_CASE(an_output_can_be_written_to_the_callers_memory) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {4}});
  graph.add_output("y", (x * 2.0).id);
  Executor executor(compile(graph));
  executor.bind("x", ramp({DType::f32, {4}}, 0, 3));
  float memory[4] = {};
  executor.bind_output("y", Tensor::borrow({DType::f32, {4}}, memory));
  executor.run();
  BOOST_TEST(memory[3] == 6);
}

BOOST_AUTO_TEST_CASE(state_is_carried_by_swapping_two_buffers) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f64, {3}});
  graph.add_output("next", (x * 0.5 + 1.0).id);
  Executor executor(compile(graph));
  Tensor a = ramp({DType::f64, {3}}, 0, 2), b({DType::f64, {3}});
  for (int step = 0; step < 60; ++step) {
    executor.bind("x", a);
    executor.bind_output("next", b);
    executor.run();
    std::swap(a, b);
  }
  BOOST_TEST(a.at(2) == 2.0, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_long_chain_of_loops_runs_in_the_memory_of_two_values) {
  Graph graph;
  const std::int64_t n = 1 << 16;
  Value x = input(graph, "x", {DType::f32, {n}});
  // A sum over the other axis between the loops keeps them apart.
  for (int i = 0; i < 20; ++i) x = tanh(x + sum(x) * 1e-9);
  graph.add_output("y", x.id);
  const auto plan = compile(graph);
  BOOST_TEST(plan->arena_bytes <= 2 * n * 4 + 4096);
}

BOOST_AUTO_TEST_CASE(mistakes_in_feeds_are_named_and_nothing_runs) {
  Graph graph;
  const Value x = input(graph, "weights", {DType::f32, {4}});
  graph.add_output("y", (x * 2.0).id);
  Executor executor(compile(graph));
  const auto message = [](auto&& f) {
    try {
      f();
    } catch (const Error& error) {
      BOOST_TEST((error.kind() == ErrorKind::graph));
      return std::string(error.what());
    }
    return std::string("no error");
  };
  BOOST_TEST(message([&] { executor.run(); }) ==
             "[run] input 'weights' is not fed: expected f32[4]");
  BOOST_TEST(message([&] {
               executor.bind("weight", Tensor({DType::f32, {4}}));
             }) == "[run] there is no input 'weight', did you mean 'weights'?");
  BOOST_TEST(message([&] {
               executor.bind("weights", Tensor({DType::f64, {4}}));
             }) == "[run] input 'weights' is fed with f64[4]; expected f32[4]");
  BOOST_TEST(message([&] {
               executor.bind("weights", Tensor({DType::f32, {4, 1}}));
             }) == "[run] input 'weights' is fed with f32[4,1]; expected f32[4]");
  BOOST_TEST(message([&] {
               executor.bind_output("z", Tensor({DType::f32, {4}}));
             }) == "[run] there is no output 'z'");
  executor.bind("weights", ramp({DType::f32, {4}}, 0, 3));
  executor.run();
  BOOST_TEST(executor.output("y").at(1) == 2);
}

BOOST_AUTO_TEST_CASE(a_failed_run_leaves_the_executor_usable) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {100000}});
  const Value checked = assert_finite(log(x));
  graph.set_name(checked.id, "energy/log");
  graph.add_output("y", sum(checked).id);
  for (int threads : {1, 2}) {
    Executor executor(compile(graph), {.threads = threads});
    Tensor bad = ramp({DType::f32, {100000}}, 1, 2);
    bad.data<float>()[70000] = -1;
    const Tensor good = ramp({DType::f32, {100000}}, 1, 2);
    executor.bind("x", good);
    executor.run();
    const Tensor expected = executor.output("y").clone();
    for (int repeat = 0; repeat < 5; ++repeat) {
      executor.bind("x", bad);
      try {
        executor.run();
        BOOST_FAIL("the run should have failed");
      } catch (const Error& error) {
        BOOST_TEST((error.kind() == ErrorKind::numeric));
        const std::string text = error.what();
        BOOST_TEST(text.find("'energy/log' (assert_finite): element 70000 is") != std::string::npos,
                   text);
      }
      executor.bind("x", good);
      executor.run();
      BOOST_TEST(executor.output("y").same_bits(expected));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_cancelled_run_says_so_and_the_next_one_works) {
  const Graph graph = mixed_graph(20, 3345, DType::f32);
  const Feeds feeds = mixed_feeds(20, 3345, DType::f32);
  Executor executor(compile(graph), {.threads = 2});
  bind_all(executor, feeds);
  executor.cancel();
  BOOST_CHECK_EXCEPTION(executor.run(), Error,
                        [](const Error& error) { return error.kind() == ErrorKind::cancelled; });
  executor.run();
  // From another thread, while runs go on.
  std::atomic<bool> seen{false};
  std::thread other([&] {
    while (!seen.load()) executor.cancel();
  });
  for (int i = 0; i < 100000 && !seen.load(); ++i) {
    try {
      executor.run();
    } catch (const Error& error) {
      seen.store(true);
    }
  }
  seen.store(true);
  other.join();
  BOOST_TEST(seen.load());
}

BOOST_AUTO_TEST_CASE(a_run_of_one_stage_is_cancelled_between_its_parts) {
  Graph graph;
  Value x = input(graph, "x", {DType::f32, {1 << 22}});
  for (int i = 0; i < 20; ++i) x = sin(x + 0.1);
  graph.add_output("u", sum(x).id);
  const Tensor data = ramp({DType::f32, {1 << 22}}, 0, 1);
  for (int threads : {1, 2}) {
    Executor executor(compile(graph), {.threads = threads});
    BOOST_TEST(executor.plan().stages.size() == 1u);
    executor.bind("x", data);
    bool cancelled = false;
    // The canceller may come before the run or into it: it is this run that ends in both cases.
    std::thread other([&] { executor.cancel(); });
    try {
      executor.run();
    } catch (const Error& error) {
      cancelled = error.kind() == ErrorKind::cancelled;
    }
    other.join();
    if (!cancelled) BOOST_CHECK_THROW(executor.run(), Error);
    executor.run();
  }
}

BOOST_AUTO_TEST_CASE(inputs_that_no_output_needs_need_not_be_fed) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {2}});
  input(graph, "unused", {DType::f32, {2}});
  graph.add_output("y", (x * 2.0).id);
  Executor executor(compile(graph));
  executor.bind("x", ramp({DType::f32, {2}}, 1, 2));
  executor.run();
  BOOST_TEST(executor.output("y").at(1) == 4);
}

BOOST_AUTO_TEST_CASE(an_empty_tensor_may_have_no_address) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {0, 3}});
  graph.add_output("y", sum(x).id);
  Executor executor(compile(graph));
  executor.bind("x", Tensor::borrow({DType::f32, {0, 3}}, nullptr));
  executor.run();
  BOOST_TEST(executor.output("y").at(0) == 0);
}

BOOST_AUTO_TEST_CASE(planning_a_long_loop_takes_linear_time) {
  // Every value leaves one loop of 2 x 20000 kernels: a quadratic planner would not come back.
  Graph graph;
  const Value b = input(graph, "b", {DType::f32, {4}});
  const Value w = reshape(sum(broadcast(b, {3, 4}), {0}), Shape{4});
  Value h = b;
  std::vector<Value> all;
  for (int i = 0; i < 20000; ++i) {
    h = tanh(h * w);
    all.push_back(h);
  }
  graph.add_output("y", stack(all).id);
  BOOST_TEST(compile(graph)->loops.size() <= 2u);
}

BOOST_AUTO_TEST_CASE(what_is_told_of_a_loop_is_summed_on_its_way) {
  // A step as samplers have it: q could be made before the product that g needs, and the mean of
  // p^2 before everything.
  Graph graph;
  const Shape shape{3, 3000};
  const Value p = input(graph, "p", {DType::f32, shape}), x = input(graph, "x", p.type());
  const Value w = input(graph, "w", {DType::f32, {3, 3}});
  const Value u = sum(square(x), {1}, true);
  const Value q = clamp(sin(p * u), -0.5, 0.5), inside = cast(equal(q, sin(p * u)), DType::f32);
  const Value g = matmul(w, exp(x) / u);
  graph.add_output("mean_q", mean(q, {1}).id);
  graph.add_output("inside", mean(inside, {1}).id);
  graph.add_output("p2", mean(square(p), {1}).id);
  const Value next = p - 0.1 * q * g;
  graph.add_output("p", next.id);
  graph.add_output("x", (x + next * q).id);
  graph.add_output("xg", mean(x * g, {1}).id);

  const auto plan = compile(graph);
  std::size_t long_loops = 0;
  for (const Loop& loop : plan->loops) long_loops += loop.elements == shape.elements();
  BOOST_TEST(long_loops == 3u);  // u, what the product reads, all the others
  const Feeds feeds{{"p", ramp({DType::f32, shape}, -1, 2)},
                    {"x", ramp({DType::f32, shape}, 0.1, 1)},
                    {"w", ramp({DType::f32, {3, 3}}, -1, 1)}};
  const auto expected = evaluate(graph, feeds);
  for (int threads : {1, 2}) {
    Executor executor(plan, {.threads = threads});
    for (const auto& [name, tensor] : feeds) executor.bind(name, tensor);
    executor.run();
    for (const auto& [name, tensor] : expected)
      BOOST_TEST(executor.output(name).same_bits(tensor), name);
  }
}

BOOST_AUTO_TEST_CASE(a_loop_makes_again_what_is_cheap) {
  // A forward and a backward loop with a product between them: of the forward loop only the dear
  // exp is brought over, and neither what is made of it nor the output of the loop.
  Graph graph;
  const Shape shape{3, 3000};
  const Value x = input(graph, "x", {DType::f32, shape});
  const Value w = input(graph, "w", {DType::f32, {3, 3}});
  const Value e = exp(x), inside = less_equal(e, fill_like(e, 1.5));
  const Value half = 0.5 * clamp(e, 0.8, 1.5), y = half * half + e;
  const Value back = matmul(w, y);
  graph.add_output("back", (select(inside, back * half, back) + e).id);
  const auto plan = compile(graph);
  std::int64_t written = 0;
  for (const Slot& slot : plan->slots) written += slot.kind == Slot::Kind::arena;
  BOOST_TEST(written == 3);  // e, y and the product
  const Feeds feeds{{"x", ramp({DType::f32, shape}, -1, 1)},
                    {"w", ramp({DType::f32, {3, 3}}, -1, 1)}};
  Executor executor(plan, {.threads = 2});
  for (const auto& [name, tensor] : feeds) executor.bind(name, tensor);
  executor.run();
  BOOST_TEST(executor.output("back").same_bits(evaluate(graph, feeds).at("back")));
}

BOOST_AUTO_TEST_CASE(many_threads_share_one_plan) {
  const Graph graph = mixed_graph(20, 3345, DType::f32);
  const auto plan = compile(graph);
  std::vector<Feeds> feeds;
  std::vector<std::map<std::string, Tensor, std::less<>>> expected;
  for (int t = 0; t < 4; ++t) {
    feeds.push_back({{"x", ramp({DType::f32, {20, 3345}}, -1 - t, 2)},
                     {"w", ramp({DType::f32, {3345}}, 0.5, 1.5 + t)}});
    expected.push_back(evaluate(graph, feeds.back()));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Executor executor(plan, {.threads = 2});
      bind_all(executor, feeds[t]);
      for (int i = 0; i < 20; ++i) {
        executor.run();
        for (const auto& [name, tensor] : expected[t])
          if (!executor.output(name).same_bits(tensor)) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  BOOST_TEST(wrong.load() == 0);
}

BOOST_AUTO_TEST_CASE(executors_of_different_plans_share_one_memory_in_turns) {
  const auto large = compile(mixed_graph(20, 3345, DType::f32)),
             small = compile(mixed_graph(5, 1000, DType::f64));
  BOOST_TEST(small->arena_bytes > 0);
  BOOST_TEST(small->arena_bytes < large->arena_bytes);
  for (int threads : {1, 2}) {
    const RunMemory memory = allocate_run_memory(large->arena_bytes);
    Executor first(large, {.threads = threads, .memory = memory}),
        second(small, {.threads = threads, .memory = memory});
    Executor first_alone(large, {.threads = threads}), second_alone(small, {.threads = threads});
    for (int turn = 0; turn < 4; ++turn) {
      // Other numbers in every turn, so that nothing right is left over from the one before.
      const Feeds wide{{"x", ramp({DType::f32, {20, 3345}}, -2 - turn, 2)},
                       {"w", ramp({DType::f32, {3345}}, 0.5, 1.5 + turn)}};
      const Feeds narrow{{"x", ramp({DType::f64, {5, 1000}}, -1, 1 + turn)},
                         {"w", ramp({DType::f64, {1000}}, 0.25 * turn, 1)}};
      for (Executor* each : {&first, &first_alone}) bind_all(*each, wide);
      for (Executor* each : {&second, &second_alone}) bind_all(*each, narrow);
      for (Executor* each : {&first, &first_alone, &second, &second_alone}) each->run();
      // Both are looked at behind the last run: outputs are not in the memory that is shared.
      for (const auto& [shared, alone] :
           {std::pair{&first, &first_alone}, {&second, &second_alone}})
        for (const Plan::Port& port : shared->plan().outputs)
          BOOST_TEST(shared->output(port.name).same_bits(alone->output(port.name)),
                     port.name << " differs in turn " << turn << " on " << threads << " threads");
    }
  }
}

BOOST_AUTO_TEST_CASE(an_arena_that_is_too_small_is_refused) {
  const auto plan = compile(mixed_graph(20, 3345, DType::f32));
  const std::int64_t needed = plan->arena_bytes;
  BOOST_CHECK_EXCEPTION(
      Executor(plan, {.memory = allocate_run_memory(needed - 1)}), Error, [&](const Error& error) {
        return error.kind() == ErrorKind::usage &&
               error.what() ==
                   fmt::format("[executor] the memory given has {} bytes; the plan needs {}",
                               needed - 1, needed);
      });
  BOOST_CHECK_NO_THROW(Executor(plan, {.memory = allocate_run_memory(needed)}));
}

BOOST_AUTO_TEST_CASE(a_budget_is_refused_before_it_is_exceeded) {
  const Graph graph = mixed_graph(100, 1000, DType::f32);
  CompileOptions options;
  options.memory_budget = 1000;
  BOOST_CHECK_EXCEPTION(compile(graph, options), Error, [](const Error& error) {
    const std::string text = error.what();
    return error.kind() == ErrorKind::memory && text.find("[compile] the plan needs ") == 0 &&
           text.find(" bytes, the budget is 1000") != std::string::npos;
  });
  options.memory_budget = 1 << 30;
  BOOST_TEST(compile(graph, options)->memory_bytes(1) < (1 << 30));
}

BOOST_AUTO_TEST_CASE(only_the_wanted_outputs_are_computed) {
  const Graph graph = mixed_graph(20, 30, DType::f32);
  CompileOptions options;
  options.outputs = {"row"};
  const auto plan = compile(graph, options);
  BOOST_TEST(plan->outputs.size() == 1u);
  BOOST_TEST(plan->steps.size() == 1u);
  options.outputs = {"rwo"};
  BOOST_CHECK_EXCEPTION(compile(graph, options), Error, [](const Error& error) {
    return std::string(error.what()) == "[compile] there is no output 'rwo', did you mean 'row'?";
  });
}

BOOST_AUTO_TEST_CASE(zero_size_values_run) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {0, 3}});
  const Value y = tanh(x) * 2.0;
  graph.add_output("y", y.id);
  graph.add_output("total", sum(y).id);
  graph.add_output("columns", sum(y, {0}).id);
  check_equals_evaluation(graph, {{"x", Tensor({DType::f32, {0, 3}})}}, 2, {});
  Executor executor(compile(graph));
  executor.bind("x", Tensor({DType::f32, {0, 3}}));
  executor.run();
  BOOST_TEST(executor.output("total").at(0) == 0);
  BOOST_TEST(executor.output("columns").elements() == 3);
}

BOOST_AUTO_TEST_CASE(the_profile_times_every_step) {
  const Graph graph = mixed_graph(20, 3345, DType::f32);
  Executor executor(compile(graph), {.threads = 2, .profile = true});
  bind_all(executor, mixed_feeds(20, 3345, DType::f32));
  executor.run();
  executor.run();
  const auto profile = executor.profile();
  BOOST_TEST(profile.size() == executor.plan().steps.size());
  for (const StepProfile& step : profile) {
    BOOST_TEST(step.runs == 2);
    BOOST_TEST(step.seconds > 0);
    BOOST_TEST(!step.name.empty());
    BOOST_TEST(step.bytes > 0);
  }
}

BOOST_AUTO_TEST_CASE(every_allocation_may_fail) {
  const Feeds feeds = mixed_feeds(3, 7, DType::f32);
  const auto whole_job = [&] {
    const Graph graph = mixed_graph(3, 7, DType::f32);
    Executor executor(compile(graph));
    bind_all(executor, feeds);
    executor.run();
    return executor.output("u").clone();
  };
  const Tensor expected = whole_job();
  long failed = 0;
  for (long n = 0;; ++n) {
    failing.store(allocations.load() + n);
    try {
      const Tensor result = whole_job();
      failing.store(-1);
      BOOST_TEST(result.same_bits(expected));
      break;
    } catch (const std::bad_alloc&) {
      ++failed;
    } catch (const Error& error) {
      BOOST_TEST((error.kind() == ErrorKind::memory));
      ++failed;
    }
    failing.store(-1);
  }
  BOOST_TEST(failed > 100);
}

BOOST_AUTO_TEST_CASE(subnormals_are_flushed_and_the_callers_mode_is_kept) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {1}});
  graph.add_output("y", (x * 0.5).id);
  Executor executor(compile(graph));
  executor.bind("x", Tensor::of<float>({1}, {std::numeric_limits<float>::min()}));
  executor.run();
  BOOST_TEST(executor.output("y").at(0) == 0);
  volatile float smallest = std::numeric_limits<float>::min();
  BOOST_TEST(smallest * 0.5f > 0);
}

BOOST_AUTO_TEST_CASE(the_first_non_finite_node_is_found) {
  Graph graph;
  const Value x = input(graph, "x", {DType::f32, {4}});
  const Value bad = log(x);
  graph.add_output("y", sum(exp(bad) + x).id);
  const auto found = first_non_finite(graph, {{"x", Tensor::of<float>({4}, {1, 0, 2, -1})}});
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(found->node == bad.id);
  BOOST_TEST(found->count == 2);
  BOOST_TEST(found->first == 1);
  BOOST_TEST(!first_non_finite(graph, {{"x", Tensor::of<float>({4}, {1, 1, 2, 1})}}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
