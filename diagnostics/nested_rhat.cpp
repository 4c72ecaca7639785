#include "diagnostics/nested_rhat.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "engine/error.hpp"

namespace whorl {

namespace {

struct Spread {
  double mean = 0, variance = 0;  // the variance of one number is 0
};

// Differences from the first number: equal ones have exactly no variance.
Spread spread_of(std::span<const double> values) {
  const double size = static_cast<double>(values.size()), first = values[0];
  double sum = 0, squares = 0;
  for (double v : values) sum += v - first;
  const Spread result{.mean = first + sum / size};
  if (values.size() == 1) return result;
  for (double v : values) squares += (v - result.mean) * (v - result.mean);
  return {result.mean, squares / (size - 1)};
}

void expect_superchains(std::size_t found, std::int64_t chains, std::int64_t length,
                        std::int64_t superchains) {
  if (chains < 1 || length < 1 || found != static_cast<std::size_t>(chains * length))
    fail(ErrorKind::usage, "nested_rhat",
         "there are {} numbers in {} chains of {} draws; expected a number for each draw", found,
         chains, length);
  if (superchains < 2 || chains % superchains != 0)
    fail(ErrorKind::usage, "nested_rhat",
         "{} chains do not make {} superchains; expected two or more of equal size", chains,
         superchains);
}

}  // namespace

double nested_rhat(std::span<const double> draws, std::int64_t chains, std::int64_t length,
                   std::int64_t superchains) {
  expect_superchains(draws.size(), chains, length, superchains);
  const std::size_t m = static_cast<std::size_t>(chains / superchains);
  const std::size_t n = static_cast<std::size_t>(length);
  std::vector<double> means, chain_means(m);
  double within = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(superchains); ++k) {
    double of_draws = 0;
    for (std::size_t c = 0; c < m; ++c) {
      const Spread chain = spread_of(draws.subspan((k * m + c) * n, n));
      chain_means[c] = chain.mean;
      of_draws += chain.variance / static_cast<double>(m);
    }
    const Spread of_chains = spread_of(chain_means);
    means.push_back(of_chains.mean);
    within += (of_chains.variance + of_draws) / static_cast<double>(superchains);
  }
  const double between = spread_of(means).variance;
  const bool has_value = within + between > 0 && std::isfinite(within + between) && m * n > 1;
  return has_value ? std::sqrt(1 + between / within) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace whorl
