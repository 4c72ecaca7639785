#include "diagnostics/rank_histogram.hpp"

#include <algorithm>
#include <cmath>

#include "diagnostics/ranks.hpp"
#include "engine/error.hpp"

namespace whorl {

namespace {

constexpr double rare = 0.01;

// How many draws of a bin that holds `in_bin` of `all` a chain of `size` has: the smallest and the
// largest number beyond which there is no more than half of `rare`.
std::pair<double, double> usual_counts(double all, double size, double in_bin) {
  const double least = std::max(0.0, size + in_bin - all), most = std::min(size, in_bin);
  const double mode = std::clamp(std::floor((size + 1) * (in_bin + 1) / (all + 2)), least, most);
  // p(k + 1) / p(k)
  const auto ratio = [&](double k) {
    return (in_bin - k) * (size - k) / ((k + 1) * (all - in_bin - size + k + 1));
  };
  // In units of the mode's, which neither overflow nor vanish where it matters.
  std::vector<double> p(static_cast<std::size_t>(most - least) + 1);
  const std::size_t middle = static_cast<std::size_t>(mode - least);
  p[middle] = 1;
  for (std::size_t i = middle; i + 1 < p.size(); ++i)
    p[i + 1] = p[i] * ratio(least + static_cast<double>(i));
  for (std::size_t i = middle; i > 0; --i)
    p[i - 1] = p[i] / ratio(least + static_cast<double>(i - 1));
  double sum = 0;
  for (double v : p) sum += v;
  std::size_t low = 0, high = p.size() - 1;
  for (double tail = p[low]; tail <= rare / 2 * sum; tail += p[low]) ++low;
  for (double tail = p[high]; tail <= rare / 2 * sum; tail += p[high]) --high;
  return {least + static_cast<double>(low), least + static_cast<double>(high)};
}

void add_band(RankHistogram& result, double chains, double length, double ess) {
  result.low = result.high = std::numeric_limits<double>::quiet_NaN();
  if (std::isnan(ess)) return;
  const double bins = static_cast<double>(result.bins);
  // With fewer effective draws than bins there is no band to speak of.
  const double size = std::round(std::clamp(ess / chains, std::min(bins, length), length));
  const auto [low, high] = usual_counts(chains * size, size, std::round(chains * size / bins));
  result.low = low * length / size;
  result.high = high * length / size;
}

}  // namespace

RankHistogram rank_histogram(std::span<const double> draws, std::int64_t chains,
                             std::int64_t length, std::int64_t bins, double ess) {
  if (chains < 1 || length < 1 || draws.size() != static_cast<std::size_t>(chains * length))
    fail(ErrorKind::usage, "rank_histogram",
         "there are {} numbers in {} chains of {} draws; expected a number for each draw",
         draws.size(), chains, length);
  if (bins < 1)
    fail(ErrorKind::usage, "rank_histogram", "there are {} bins; expected 1 or more", bins);
  RankHistogram result;
  result.bins = bins;
  result.expected = static_cast<double>(length) / static_cast<double>(bins);
  add_band(result, static_cast<double>(chains), static_cast<double>(length), ess);
  if (!std::all_of(draws.begin(), draws.end(), [](double v) { return std::isfinite(v); }))
    return result;

  std::vector<SortedDraw> sorted(draws.size()), scratch;
  for (std::size_t i = 0; i < draws.size(); ++i)
    sorted[i] = {draws[i], static_cast<std::int64_t>(i)};
  sort_draws(sorted, scratch);
  result.counts.assign(static_cast<std::size_t>(chains * bins), 0);
  const double scale = static_cast<double>(bins) / static_cast<double>(draws.size());
  for_each_rank(sorted, [&](std::span<const SortedDraw> equal, double rank) {
    const std::int64_t bin = static_cast<std::int64_t>((rank - 0.5) * scale);
    for (const SortedDraw& draw : equal)
      ++result.counts[static_cast<std::size_t>(draw.index / length * bins + bin)];
  });
  return result;
}

}  // namespace whorl
