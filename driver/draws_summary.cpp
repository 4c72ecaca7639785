#include "driver/draws_summary.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cmath>

namespace whorl::driver {

namespace {

constexpr std::int64_t block_bytes = 32 << 20;

// The draws of the living chains only, [living, draws].
void take_living(std::span<const double> all, const std::vector<std::int64_t>& living,
                 std::int64_t draws, std::vector<double>& values) {
  values.resize(living.size() * static_cast<std::size_t>(draws));
  for (std::size_t k = 0; k < living.size(); ++k)
    std::copy_n(all.begin() + living[k] * draws, draws,
                values.begin() + static_cast<std::int64_t>(k) * draws);
}

// Numbers of one parameter that follow each other, as many as fit into a block.
std::size_t block_end(const std::vector<DrawnNumber>& numbers, std::size_t begin,
                      std::int64_t most) {
  std::size_t end = begin + 1;
  while (end < numbers.size() && numbers[end].parameter == numbers[begin].parameter &&
         numbers[end].element == numbers[end - 1].element + 1 &&
         static_cast<std::int64_t>(end - begin) < most)
    ++end;
  return end;
}

}  // namespace

std::string name_of(const DrawsLayout& layout, const DrawnNumber& number) {
  const DrawsVariable& parameter = layout.parameters[number.parameter];
  std::string index;
  std::int64_t rest = number.element;
  for (int axis = parameter.shape.rank() - 1; axis >= 0; --axis) {
    index = fmt::format("{}{}{}", rest % parameter.shape[axis], index.empty() ? "" : ",", index);
    rest /= parameter.shape[axis];
  }
  return index.empty() ? parameter.name : fmt::format("{}[{}]", parameter.name, index);
}

std::vector<DrawnNumber> all_numbers(const DrawsLayout& layout) {
  std::vector<DrawnNumber> numbers;
  for (std::size_t p = 0; p < layout.parameters.size(); ++p)
    for (std::int64_t i = 0; i < layout.parameters[p].shape.elements(); ++i)
      numbers.push_back({p, i});
  return numbers;
}

std::vector<DrawnNumber> some_numbers(const DrawsLayout& layout, std::int64_t most) {
  const std::vector<DrawnNumber> all = all_numbers(layout);
  const auto count = std::ssize(all);
  if (count <= most) return all;
  std::vector<DrawnNumber> some;
  for (std::int64_t k = 0; k < most; ++k)
    some.push_back(all[static_cast<std::size_t>(k * count / most)]);
  return some;
}

std::vector<std::int64_t> living_chains(const DrawsReader& reader) {
  const DrawsLayout& layout = reader.layout();
  const std::int64_t draws = reader.draws();
  std::vector<char> lost(static_cast<std::size_t>(layout.chains), 0);
  const auto look = [&](const std::vector<double>& values, auto&& is_lost) {
    for (std::size_t chain = 0; chain < lost.size() && draws > 0; ++chain)
      if (is_lost(values[(chain + 1) * static_cast<std::size_t>(draws) - 1])) lost[chain] = 1;
  };
  const auto first = std::find_if(layout.parameters.begin(), layout.parameters.end(),
                                  [](const auto& p) { return p.shape.elements() > 0; });
  if (first != layout.parameters.end())
    look(reader.read(static_cast<std::size_t>(first - layout.parameters.begin()), 0, 1),
         [](double last) { return std::isnan(last); });
  const auto diverging = std::find(layout.statistics.begin(), layout.statistics.end(), "diverging");
  if (diverging != layout.statistics.end())
    look(reader.read_statistic(static_cast<std::size_t>(diverging - layout.statistics.begin())),
         [](double last) { return last == 1; });
  std::vector<std::int64_t> living;
  for (std::int64_t chain = 0; chain < layout.chains; ++chain)
    if (lost[static_cast<std::size_t>(chain)] == 0) living.push_back(chain);
  return living;
}

namespace {

// f(i, draws) for every number i, the draws [chains, draws] of all chains: blocks are read one
// after the other, the numbers of a block are looked at together.
void for_each_number(const DrawsReader& reader, const std::vector<DrawnNumber>& numbers,
                     int threads, const NumberVisitor& f) {
  const std::int64_t column = reader.layout().chains * reader.draws();
  const std::int64_t most = std::max<std::int64_t>(1, block_bytes / (8 * column));
  tbb::task_arena arena(threads);
  for (std::size_t begin = 0; begin < numbers.size();) {
    const std::size_t end = block_end(numbers, begin, most);
    const std::vector<double> block = reader.read(numbers[begin].parameter, numbers[begin].element,
                                                  static_cast<std::int64_t>(end - begin));
    const std::size_t size = static_cast<std::size_t>(column);
    arena.execute([&] {
      tbb::parallel_for(begin, end, [&](std::size_t i) {
        f(i, std::span(block).subspan((i - begin) * size, size));
      });
    });
    begin = end;
  }
}

// Which chains move in any number: asked by several threads, each may only add.
class Movement {
 public:
  explicit Movement(std::size_t chains) : moved_(chains) {}
  void look(std::span<const double> values) {
    const std::size_t draws = values.size() / moved_.size();
    for (std::size_t k = 0; k < moved_.size(); ++k) {
      const auto chain = values.subspan(k * draws, draws);
      if (moved_[k].load(std::memory_order_relaxed)) continue;
      if (std::any_of(chain.begin(), chain.end(), [&](double x) { return x != chain.front(); }))
        moved_[k].store(true, std::memory_order_relaxed);
    }
  }
  std::int64_t still() const {
    return std::count_if(moved_.begin(), moved_.end(), [](const auto& m) { return !m.load(); });
  }

 private:
  std::vector<std::atomic<bool>> moved_;
};

}  // namespace

DrawsSummary summarise_draws(const DrawsReader& reader, std::vector<DrawnNumber> numbers,
                             int threads, const NumberVisitor& also) {
  DrawsSummary found;
  found.numbers = std::move(numbers);
  found.chains = reader.layout().chains;
  found.draws = reader.draws();
  const std::vector<std::int64_t> living = living_chains(reader);
  found.lost = found.chains - std::ssize(living);
  if (found.draws < 4 || living.empty()) return found;
  found.summaries.resize(found.numbers.size());
  Movement movement(living.size());
  tbb::enumerable_thread_specific<Summariser> summarisers(std::ssize(living), found.draws);
  for_each_number(reader, found.numbers, threads, [&](std::size_t i, std::span<const double> all) {
    std::vector<double> values;
    take_living(all, living, found.draws, values);
    found.summaries[i] = summarisers.local()(values);
    movement.look(values);
    if (also) also(i, values);
  });
  if (!found.numbers.empty()) found.still = movement.still();
  return found;
}

DrawnStatistic read_statistic(const DrawsReader& reader, std::size_t statistic,
                              const std::vector<std::int64_t>& living) {
  const std::int64_t draws = reader.draws();
  const std::vector<double> all = reader.read_statistic(statistic);
  DrawnStatistic found{reader.layout().statistics[statistic], {}, draws};
  const auto unknown = [&](std::int64_t draw) {
    return std::any_of(living.begin(), living.end(), [&](std::int64_t chain) {
      return std::isnan(all[static_cast<std::size_t>(chain * draws + draw)]);
    });
  };
  while (found.known > 0 && unknown(found.known - 1)) --found.known;
  for (std::int64_t chain : living)
    found.values.insert(found.values.end(), all.begin() + chain * draws,
                        all.begin() + chain * draws + found.known);
  return found;
}

}  // namespace whorl::driver
