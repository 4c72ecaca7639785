// What the draws of a run say of every number that is sampled, read in blocks of bounded memory.
//
// Chains that were given up, which the statistic "diverging" or a NaN as their last draw tells, are
// left out with all their draws. Results do not depend on threads.
// Thread safety: a reader belongs to one thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "diagnostics/summary.hpp"
#include "storage/draws_file.hpp"

namespace whorl::driver {

// One number of a draw: element `element` of parameter `parameter`.
struct DrawnNumber {
  std::size_t parameter = 0;
  std::int64_t element = 0;
};

// "w[1,2]"; "b" where the parameter is a single number.
std::string name_of(const DrawsLayout& layout, const DrawnNumber& number);
// All of them, in the order of a draw.
std::vector<DrawnNumber> all_numbers(const DrawsLayout& layout);
// At most `most` of them, evenly spread.
std::vector<DrawnNumber> some_numbers(const DrawsLayout& layout, std::int64_t most);

// The chains that were not given up.
std::vector<std::int64_t> living_chains(const DrawsReader& reader);

struct DrawsSummary {
  std::vector<DrawnNumber> numbers;
  std::vector<ParameterSummary> summaries;  // one for each number; empty for fewer than 4 draws
  std::int64_t chains = 0, lost = 0, draws = 0;
  std::int64_t still = 0;  // chains that never moved, among those that were not given up
};
// `also` is called with each number's place and its draws in the chains that were not given up,
// [living, draws], by several threads at once.
using NumberVisitor = std::function<void(std::size_t, std::span<const double>)>;
DrawsSummary summarise_draws(const DrawsReader& reader, std::vector<DrawnNumber> numbers,
                             int threads, const NumberVisitor& also = {});

// One statistic in the chains that were not given up, [living, known], for the draws for which it
// is known: it may lag behind the draws of a run that goes on.
struct DrawnStatistic {
  std::string name;
  std::vector<double> values;
  std::int64_t known = 0;
};
DrawnStatistic read_statistic(const DrawsReader& reader, std::size_t statistic,
                              const std::vector<std::int64_t>& living);

}  // namespace whorl::driver
