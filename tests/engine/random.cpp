// Random numbers: the words against Random123, the layout, the distribution, the ops.
#include "engine/random.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "engine/evaluate.hpp"
#include "engine/kernels/philox.hpp"
#include "engine/kernels/philox_normal.hpp"
#include "engine/ops.hpp"

using namespace whorl;

namespace {

// A z-score beyond this has a probability of 5e-9: with fixed seeds it means a fault.
constexpr double z_limit = 5.85;

std::array<std::uint32_t, 4> reference_words(const RandomCoordinates& at, std::uint32_t block) {
  const philox4x32_ctr_t counter{{block, at.stream, at.chain, at.step}};
  const philox4x32_key_t key{
      {static_cast<std::uint32_t>(at.seed), static_cast<std::uint32_t>(at.seed >> 32)}};
  const philox4x32_ctr_t w = philox4x32(counter, key);
  return {w.v[0], w.v[1], w.v[2], w.v[3]};
}

// Box-Muller in long double, from the documented layout.
long double reference_normal(long double u, long double turn, bool second) {
  const long double r = std::sqrt(-2 * std::log(u));
  const long double t = 2 * std::numbers::pi_v<long double> * turn;
  return r * (second ? std::sin(t) : std::cos(t));
}
// Quarter q plus a signed fraction, both from one number of `bits` bits.
long double reference_turn(std::uint64_t word, int bits) {
  const long double scale = std::pow(2.0L, static_cast<long double>(bits - 2));
  const auto quarter = static_cast<long double>(word >> (bits - 2));
  long double place = static_cast<long double>(word & ((std::uint64_t{1} << (bits - 2)) - 1));
  if (place >= scale / 2) place -= scale;
  return (quarter + (place + 0.5L) / scale) / 4;
}

template <class T>
std::vector<T> normals(const RandomCoordinates& at, std::int64_t first, std::size_t n) {
  std::vector<T> out(n);
  fill_normal<T>(at, first, out);
  return out;
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// The largest distance between the empirical and the given distribution, times sqrt(n).
template <class T, class Cdf>
double kolmogorov_smirnov(std::vector<T> x, Cdf&& cdf) {
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double distance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double f = cdf(static_cast<double>(x[i])), rank = static_cast<double>(i);
    distance = std::max({distance, f - rank / n, (rank + 1) / n - f});
  }
  return distance * std::sqrt(n);
}
const double ks_limit = std::sqrt(std::log(2 / 5e-9) / 2);  // 2 exp(-2 t^2) = 5e-9

template <class T>
void check_moments(const std::vector<T>& x) {
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  for (T v : x) {
    const auto z = static_cast<double>(v);
    m1 += z;
    m2 += z * z;
    m3 += z * z * z;
    m4 += z * z * z * z;
  }
  const auto n = static_cast<double>(x.size());
  BOOST_TEST(std::abs(m1 / n) * std::sqrt(n) < z_limit);
  BOOST_TEST(std::abs(m2 / n - 1) * std::sqrt(n / 2) < z_limit);
  BOOST_TEST(std::abs(m3 / n) * std::sqrt(n / 15) < z_limit);
  BOOST_TEST(std::abs(m4 / n - 3) * std::sqrt(n / 96) < z_limit);
}

// Correlation of x with y and of their squares, as z-scores.
template <class T>
void check_uncorrelated(std::span<const T> x, std::span<const T> y) {
  double plain = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
    plain += a * b;
    squares += (a * a - 1) * (b * b - 1) / 2;
  }
  const double root = std::sqrt(static_cast<double>(x.size()));
  BOOST_TEST(std::abs(plain) / root < z_limit);
  BOOST_TEST(std::abs(squares) / root < z_limit);
}

struct Draws {
  Graph graph;
  Value seed = input(graph, "seed", {DType::i32, {2}});
  Value step = input(graph, "step", {DType::i32, {}});
  Feeds feeds{{"seed", Tensor::of<std::int32_t>({2}, {-5, 12})},
              {"step", Tensor::scalar<std::int32_t>(9)}};
  RandomCoordinates at{12ull << 32 | 0xfffffffbu, 3, 9, 0};

  Tensor run(Value value) { return evaluate(graph, feeds, {value.id}).front(); }
};

auto message_is(std::string text) {
  return [text](const Error& error) {
    BOOST_TEST(error.what() == text);
    return error.kind() == ErrorKind::graph;
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_numbers)

BOOST_AUTO_TEST_CASE(words_are_the_published_known_answers) {
  struct Answer {
    std::uint64_t seed;
    Philox::Words counter, words;
  };
  const Answer answers[] = {{0, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                            {0xffffffffffffffff,
                             {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                             {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                            {0x299f31d0a4093822,
                             {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                             {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const Answer& answer : answers) {
    const Philox::Words words = Philox(answer.seed).words(answer.counter);
    BOOST_TEST(words == answer.words, boost::test_tools::per_element());
    std::uint32_t many[4][8];
    philox::blocks(
        {static_cast<std::uint32_t>(answer.seed), static_cast<std::uint32_t>(answer.seed >> 32),
         answer.counter[1], answer.counter[2], answer.counter[3]},
        answer.counter[0], many);
    for (std::size_t j = 0; j < 4; ++j) BOOST_TEST(many[j][0] == answer.words[j]);
  }
}

BOOST_AUTO_TEST_CASE(many_counters_at_once_equal_random123_bit_for_bit) {
  for (std::uint32_t k = 0; k < 200; ++k) {
    const RandomCoordinates at{0x9e3779b97f4a7c15ull * (k + 1), k * 77777u, k * 1234567u, ~k};
    const std::uint32_t first = k == 0 ? 0xfffffff0u : k * 40503u * 65537u;
    std::uint32_t many[4][24];
    philox::blocks({static_cast<std::uint32_t>(at.seed), static_cast<std::uint32_t>(at.seed >> 32),
                    at.stream, at.chain, at.step},
                   first, many);
    for (std::uint32_t i = 0; i < 24; ++i) {
      const auto words = reference_words(at, first + i);
      BOOST_TEST(words == Philox::words(at, first + i), boost::test_tools::per_element());
      for (std::size_t j = 0; j < 4; ++j) BOOST_REQUIRE(many[j][i] == words[j]);
    }
  }
}

BOOST_AUTO_TEST_CASE(float_normals_are_box_muller_of_the_documented_words) {
  const RandomCoordinates at{42, 1, 2, 3};
  const auto x = normals<float>(at, 0, 40000);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto w = reference_words(at, static_cast<std::uint32_t>(i / 4));
    const std::size_t pair = i % 4 / 2 * 2;
    const long double u = (w[pair] + 0.5L) / 4294967296.0L;
    const long double want = reference_normal(u, reference_turn(w[pair + 1], 32), i % 2 == 1);
    worst = std::max(worst, static_cast<double>(std::abs(x[i] / want - 1)));
  }
  BOOST_TEST(worst < 6e-7);
}

BOOST_AUTO_TEST_CASE(double_normals_are_box_muller_of_the_documented_words) {
  const RandomCoordinates at{42, 1, 2, 3};
  const auto x = normals<double>(at, 0, 20000);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto w = reference_words(at, static_cast<std::uint32_t>(i / 2));
    const auto radius = static_cast<std::uint64_t>(w[1]) << 32 | w[0];
    const auto angle = static_cast<std::uint64_t>(w[3]) << 32 | w[2];
    const long double u = (static_cast<long double>(radius) + 0.5L) / 18446744073709551616.0L;
    const long double want = reference_normal(u, reference_turn(angle, 64), i % 2 == 1);
    worst = std::max(worst, static_cast<double>(std::abs(x[i] / want - 1)));
  }
  BOOST_TEST(worst < 2e-15);
}

BOOST_AUTO_TEST_CASE(extreme_words_give_finite_numbers_that_are_not_zero) {
  const std::uint32_t words[] = {0,           1,           0x3fffffff,  0x40000000, 0x55555554,
                                 0x55555555,  0x7fffffff,  0x80000000,  0xaaaaaaaa, 0xaaaaaaab,
                                 0xbfffffffu, 0xc0000000u, 0xffffff7fu, 0xfffffffe, 0xffffffff};
  double largest = 0, smallest = 1;
  for (std::uint32_t a : words) {
    const long double u = (a + 0.5L) / 4294967296.0L;
    const double want = static_cast<double>(std::sqrt(-2 * std::log(u)));
    BOOST_TEST(philox::radius(a) == want, boost::test_tools::tolerance(3e-7));
    for (std::uint32_t b : words) {
      const auto f = philox::normals(a, b);
      const auto wide = [](std::uint32_t w) { return static_cast<std::uint64_t>(w) << 32 | w; };
      const auto d = philox::normals(wide(a), wide(b));
      for (double z : {double{f.first}, double{f.second}, d.first, d.second}) {
        BOOST_TEST(std::isfinite(z));
        BOOST_TEST(z != 0);
        largest = std::max(largest, std::abs(z));
        smallest = std::min(smallest, std::abs(z));
      }
    }
    BOOST_TEST(philox::uniform(a) > 0.0f);
    BOOST_TEST(philox::uniform(a) < 1.0f);
    const auto wide = static_cast<std::uint64_t>(a) << 32 | a;
    BOOST_TEST(philox::uniform(wide) > 0.0);
    BOOST_TEST(philox::uniform(wide) < 1.0);
  }
  BOOST_TEST(philox::radius(0) > 6.7f);
  BOOST_TEST(largest > 9.4);
  BOOST_TEST(smallest > 0);
}

using Floats = std::tuple<float, double>;

BOOST_AUTO_TEST_CASE_TEMPLATE(any_range_of_elements_has_the_same_bits, T, Floats) {
  const RandomCoordinates at{77, 5, 6, 7};
  const std::int64_t n = 1000;
  const auto whole = normals<T>(at, 0, n);
  std::vector<T> whole_uniform(n);
  fill_uniform<T>(at, 0, whole_uniform);
  for (std::int64_t begin = 0; begin < 140; ++begin)
    for (std::int64_t count : {1, 2, 3, 5, 31, 64, 65, 127, 300}) {
      const auto size = static_cast<std::size_t>(count);
      const auto part = normals<T>(at, begin, size);
      BOOST_REQUIRE(std::equal(part.begin(), part.end(), whole.begin() + begin));
      std::vector<T> uniforms(size);
      fill_uniform<T>(at, begin, uniforms);
      BOOST_REQUIRE(std::equal(uniforms.begin(), uniforms.end(), whole_uniform.begin() + begin));
    }
  for (std::int64_t i : {0, 1, 2, 3, 4, 77, 999}) {
    const auto at_i = static_cast<std::size_t>(i);
    BOOST_TEST(normal<T>(at, i) == whole[at_i]);
    BOOST_TEST(uniform<T>(at, i) == whole_uniform[at_i]);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(chains_in_a_row_have_the_bits_of_each_alone, T, Floats) {
  const RandomCoordinates at{78, 5, 6, 0xfffffff0u};
  for (std::int64_t per_chain : {1, 2, 3, 4, 7, 8, 20, 31, 32, 63, 64, 65, 130}) {
    const auto n = static_cast<std::size_t>(5 * per_chain + 70);
    for (std::int64_t first : {std::int64_t{0}, std::int64_t{1}, per_chain - 1, 3 * per_chain}) {
      std::vector<T> normals_found(n), uniforms_found(n);
      fill_normal_chains<T>(at, per_chain, first, normals_found);
      fill_uniform_chains<T>(at, per_chain, first, uniforms_found);
      bool same = true;
      for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t place = first + static_cast<std::int64_t>(i);
        RandomCoordinates own = at;
        own.chain += static_cast<std::uint32_t>(place / per_chain);
        same &= normals_found[i] == normal<T>(own, place % per_chain);
        same &= uniforms_found[i] == uniform<T>(own, place % per_chain);
      }
      BOOST_TEST(same, per_chain << " elements each, from " << first);
    }
  }
  fill_normal_chains<T>(at, 0, 0, std::span<T>{});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(normals_have_the_moments_and_the_distribution, T, Floats) {
  const auto x = normals<T>({20240601, 0, 0, 0}, 3, 10'000'000);
  check_moments(x);
  BOOST_TEST(kolmogorov_smirnov(x, normal_cdf) < ks_limit);
}

// 24 bits for the radius would end the tail at 5.77 and thin it out from about 5 on.
BOOST_AUTO_TEST_CASE(the_far_tail_has_its_share) {
  const std::int64_t n = 50'000'000;
  std::vector<float> x(1'000'000);
  std::array<double, 3> limits{4, 4.5, 5}, counts{};
  for (std::int64_t first = 0; first < n; first += static_cast<std::int64_t>(x.size())) {
    fill_normal<float>({8, 1, 0, 0}, first, x);
    for (float v : x)
      for (std::size_t i = 0; i < limits.size(); ++i)
        counts[i] += static_cast<double>(std::abs(v)) > limits[i];
  }
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const double expected = static_cast<double>(n) * 2 * normal_cdf(-limits[i]);
    BOOST_TEST(std::abs(counts[i] - expected) / std::sqrt(expected) < z_limit);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(uniforms_have_the_distribution, T, Floats) {
  std::vector<T> x(2'000'000);
  fill_uniform<T>({3, 1, 4, 1}, 0, x);
  BOOST_TEST(*std::min_element(x.begin(), x.end()) > T(0));
  BOOST_TEST(*std::max_element(x.begin(), x.end()) < T(1));
  BOOST_TEST(kolmogorov_smirnov(x, [](double u) { return u; }) < ks_limit);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(neighbours_in_every_coordinate_are_uncorrelated, T, Floats) {
  const std::size_t n = 1'000'000;
  const RandomCoordinates at{1, 2, 3, 4};
  const auto base = normals<T>(at, 0, n + 8);
  const auto against = [&](RandomCoordinates other) {
    const auto y = normals<T>(other, 0, n);
    check_uncorrelated<T>(std::span(base).first(n), y);
  };
  against({at.seed + 1, at.stream, at.step, at.chain});
  against({at.seed + (1ull << 32), at.stream, at.step, at.chain});
  against({at.seed, at.stream + 1, at.step, at.chain});
  against({at.seed, at.stream, at.step + 1, at.chain});
  against({at.seed, at.stream, at.step, at.chain + 1});
  against({at.seed, at.stream, at.chain, at.step});  // exchanged coordinates
  for (std::size_t lag = 1; lag <= 8; ++lag)
    check_uncorrelated<T>(std::span(base).first(n), std::span(base).subspan(lag, n));
}

// Short runs over many chains and steps: the numbers that one coordinate of a sampler sees.
BOOST_AUTO_TEST_CASE(a_single_element_over_chains_and_steps_is_normal) {
  std::vector<float> x;
  for (std::uint32_t chain = 0; chain < 100; ++chain)
    for (std::uint32_t step = 0; step < 2000; ++step)
      x.push_back(normal<float>({5, 0, step, chain}, 17));
  check_moments(x);
  check_uncorrelated<float>(std::span(x).first(x.size() - 1), std::span(x).subspan(1));
  BOOST_TEST(kolmogorov_smirnov(x, normal_cdf) < ks_limit);
}

BOOST_AUTO_TEST_CASE(indices_are_fair_and_in_range) {
  const std::uint64_t n = 6;
  std::array<double, 6> counts{};
  const int draws = 600'000;
  for (int i = 0; i < draws; ++i) {
    const std::uint64_t index = uniform_index({9, 2, 0, 0}, static_cast<std::uint32_t>(i), n);
    BOOST_REQUIRE(index < n);
    ++counts[index];
  }
  for (double count : counts)
    BOOST_TEST(std::abs(count - draws / 6.0) / std::sqrt(draws * 5.0 / 36) < z_limit);
  // Half of the candidates are refused here: the next ones must be as fair.
  const std::uint64_t huge = (std::uint64_t{1} << 63) + 1;
  double below = 0;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const std::uint64_t index = uniform_index({9, 3, 0, 0}, i, huge);
    BOOST_REQUIRE(index < huge);
    below += index < huge / 2;
  }
  BOOST_TEST(std::abs(below - 50'000) / std::sqrt(25'000) < z_limit);
  BOOST_TEST(uniform_index({9, 2, 0, 0}, 5, 1) == 0u);
}

BOOST_AUTO_TEST_CASE(a_permutation_has_every_index_once_and_every_order_equally_often) {
  const auto order = permutation({1, 2, 3, 4}, 1000);
  BOOST_TEST(std::set<std::int32_t>(order.begin(), order.end()).size() == 1000u);
  BOOST_TEST(*std::min_element(order.begin(), order.end()) == 0);
  BOOST_TEST(*std::max_element(order.begin(), order.end()) == 999);
  BOOST_TEST(order == permutation({1, 2, 3, 4}, 1000), boost::test_tools::per_element());
  BOOST_CHECK(order != permutation({1, 2, 4, 4}, 1000));
  BOOST_TEST(permutation({1, 2, 3, 4}, 0).empty());
  std::map<std::vector<std::int32_t>, double> orders;
  for (std::uint32_t step = 0; step < 60'000; ++step) ++orders[permutation({1, 2, step, 0}, 3)];
  BOOST_TEST(orders.size() == 6u);
  for (const auto& [one, count] : orders)
    BOOST_TEST(std::abs(count - 10'000) / std::sqrt(60'000 * 5.0 / 36) < z_limit);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_ops_give_the_numbers_of_their_coordinates, T, Floats) {
  Draws d;
  const Tensor x = d.run(random_normal(d.seed, d.step, {dtype_of<T>, {3, 7}}, 3));
  const Tensor u = d.run(random_uniform(d.seed, d.step, {dtype_of<T>, {3, 7}}, 3));
  for (std::int64_t i = 0; i < 21; ++i) {
    BOOST_TEST(x.at(i) == static_cast<double>(normal<T>(d.at, i)));
    BOOST_TEST(u.at(i) == static_cast<double>(uniform<T>(d.at, i)));
  }
}

BOOST_AUTO_TEST_CASE(a_chain_of_a_chained_op_equals_the_chain_alone) {
  Draws d;
  const Tensor all = d.run(random_normal(d.seed, d.step, {DType::f32, {4, 5, 3}}, 3, true));
  const OpDef& op = *find_op("random_normal");
  for (std::int64_t c = 0; c < 4; ++c) {
    const Attributes attrs = make_attributes("test", op.attrs(),
                                             {{"shape", std::vector<std::int64_t>{5, 3}},
                                              {"stream", std::int64_t{3}},
                                              {"first_chain", c}});
    const Tensor one = d.run(call(op, {d.seed, d.step}, attrs));
    for (std::int64_t i = 0; i < 15; ++i) BOOST_TEST(all.at(c * 15 + i) == one.at(i));
  }
}

BOOST_AUTO_TEST_CASE(a_tile_of_an_op_has_the_bits_of_the_whole) {
  Draws d;
  for (bool chained : {false, true}) {
    const Value value = random_normal(d.seed, d.step, {DType::f32, {6, 37}}, 3, chained);
    const Tensor whole = d.run(value);
    const OpDef& op = d.graph.op(value.id);
    const std::vector<Type> types{d.seed.type(), d.step.type()};
    const Site site{&op, types, d.graph.attributes(value.id), value.type()};
    const void* inputs[] = {d.feeds.at("seed").raw(), d.feeds.at("step").raw()};
    for (std::int64_t begin = 0; begin < 222; begin += 5)
      for (std::int64_t n : {std::int64_t{1}, std::int64_t{13}, std::int64_t{64}, 222 - begin}) {
        if (begin + n > 222) continue;
        std::vector<float> part(static_cast<std::size_t>(n));
        op.tile[op.kernel_index(site)]({&site, inputs, part.data(), begin, n});
        BOOST_REQUIRE(std::equal(part.begin(), part.end(), whole.data<float>() + begin));
      }
  }
}

BOOST_AUTO_TEST_CASE(batching_makes_the_leading_axis_the_chain) {
  Draws d;
  const Value one = random_normal(d.seed, d.step, {DType::f32, {5}}, 3);
  const OpDef& op = d.graph.op(one.id);
  const std::vector<Value> inputs{d.seed, d.step};
  const bool none[] = {false, false}, first[] = {true, false};
  const Attributes attrs = d.graph.attributes(one.id);
  const Value many = op.batch({&d.graph, &op, inputs, none, 3, &attrs});
  BOOST_TEST(to_string(many.type()) == "f32[3,5]");
  const Tensor x = d.run(many);
  for (std::uint32_t c = 0; c < 3; ++c)
    for (std::int64_t i = 0; i < 5; ++i) {
      RandomCoordinates at = d.at;
      at.chain = c;
      BOOST_TEST(x.at(c * 5 + i) == static_cast<double>(normal<float>(at, i)));
    }
  const Attributes chained = d.graph.attributes(many.id);
  BOOST_CHECK_EXCEPTION(
      op.batch({&d.graph, &op, inputs, none, 3, &chained}), Error,
      message_is(
          "[random_normal] axis 0 of [3,5] counts chains already, so it cannot be batched again"));
  BOOST_CHECK_EXCEPTION(op.batch({&d.graph, &op, inputs, first, 3, &attrs}), Error,
                        message_is("[random_normal] seed has a chain axis; chains share seed and "
                                   "step, and draw by their own coordinate"));
}

BOOST_AUTO_TEST_CASE(mistakes_are_graph_errors_that_name_them) {
  Draws d;
  const Type type{DType::f32, {2}};
  const std::string inputs = "; inputs seed=i32[2] step=i32[]";
  BOOST_CHECK_EXCEPTION(random_normal(d.step, d.step, type, 0), Error,
                        message_is("[random_normal] the seed must be i32[2]: found i32[]; inputs "
                                   "seed=i32[] step=i32[]"));
  BOOST_CHECK_EXCEPTION(random_normal(d.seed, d.seed, type, 0), Error,
                        message_is("[random_normal] the step must be i32[]: found i32[2]; inputs "
                                   "seed=i32[2] step=i32[2]"));
  BOOST_CHECK_EXCEPTION(random_uniform(d.seed, d.step, {DType::i32, {2}}, 0), Error,
                        message_is("[random_uniform] dtype is i32; expected f32 or f64" + inputs));
  BOOST_CHECK_EXCEPTION(
      random_normal(d.seed, d.step, type, -1), Error,
      message_is("[random_normal] stream is -1; expected 0 to 2^32 - 1" + inputs));
  BOOST_CHECK_EXCEPTION(
      random_normal(d.seed, d.step, {DType::f32, {}}, 0, true), Error,
      message_is("[random_normal] a chained output needs an axis for the chains: found rank 0" +
                 inputs));
  BOOST_CHECK_EXCEPTION(
      random_normal(d.seed, d.step, {DType::f64, {1 << 20, 1 << 14}}, 0), Error,
      message_is("[random_normal] a chain has 17179869184 elements, more than the limit of "
                 "8589934592" +
                 inputs));
  BOOST_CHECK_EXCEPTION(
      make_attributes("random_normal", find_op("random_normal")->attrs(),
                      {{"shape", std::vector<std::int64_t>{2}}}),
      Error, message_is("[random_normal] attribute 'stream' is missing: expected an integer"));
}

BOOST_AUTO_TEST_SUITE_END()
