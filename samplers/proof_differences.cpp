// Layer one of a proof: Gamma and the Fokker-Planck equation, by differences.
//
// Every point z comes with its neighbours z + o h e_j for each coordinate j, offset o = -2, -1, 1,
// 2 and four widths h. Of the widths, the neighbouring two whose results agree best are taken: wide
// ones lose by truncation and kinks, narrow ones by rounding.
#include <algorithm>
#include <array>
#include <cmath>

#include "samplers/proof_checks.hpp"

namespace whorl {

namespace {

constexpr double correction_limit = 1e-7;
constexpr double stationarity_limit = 1e-6;
constexpr double curl_limit = 1e-10;

constexpr std::array<double, 4> widths{6.4e-3, 1.6e-3, 4e-4, 1e-4};  // of a standard deviation
constexpr std::array<double, 4> offsets{-2, -1, 1, 2};
constexpr std::int64_t neighbours = widths.size() * offsets.size();

// A difference, and how well two widths agree on it.
struct Difference {
  double value = 0, doubt = HUGE_VAL;
};

Difference best_of(const std::array<double, widths.size()>& by_width) {
  Difference best;
  for (std::size_t w = 0; w + 1 < widths.size(); ++w) {
    const double doubt = std::abs(by_width[w] - by_width[w + 1]);
    if (doubt < best.doubt) best = {by_width[w], doubt};
  }
  return best;
}

// Points with their neighbours as one table, and differences of what was computed for its rows.
class Stencil {
 public:
  Stencil(const Table& points, std::vector<double> units)
      : units_(std::move(units)), coordinates_(points.columns), count_(points.rows()) {
    z_ = Table(points.rows() * (1 + coordinates_ * neighbours), coordinates_);
    for (std::int64_t p = 0; p < points.rows(); ++p)
      for (std::int64_t r = 0; r <= coordinates_ * neighbours; ++r) {
        double* row = std::copy_n(points.row(p), coordinates_, z_.row(base(p) + r)) - coordinates_;
        if (r == 0) continue;
        const auto neighbour = static_cast<std::size_t>((r - 1) % neighbours);
        const std::int64_t j = (r - 1) / neighbours;
        row[j] += offsets[neighbour % offsets.size()] * step(j, neighbour / offsets.size());
      }
  }

  const Table& z() const { return z_; }
  std::int64_t points() const { return count_; }
  std::int64_t base(std::int64_t p) const { return p * (1 + coordinates_ * neighbours); }
  double unit(std::int64_t j) const { return units_[static_cast<std::size_t>(j)]; }

  // df/dz_j at point p, by width; f is a function of the row.
  template <class F>
  std::array<double, widths.size()> first(std::int64_t p, std::int64_t j, F&& f) const {
    return by_width(
        j, p,
        [&](const std::array<double, 4>& v, double h) {
          return (v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h);
        },
        f);
  }
  template <class F>
  std::array<double, widths.size()> second(std::int64_t p, std::int64_t j, F&& f) const {
    const double here = f(base(p));
    return by_width(
        j, p,
        [&](const std::array<double, 4>& v, double h) {
          return (-v[0] + 16 * v[1] - 30 * here + 16 * v[2] - v[3]) / (12 * h * h);
        },
        f);
  }

 private:
  double step(std::int64_t j, std::size_t width) const { return widths[width] * unit(j); }

  template <class Rule, class F>
  std::array<double, widths.size()> by_width(std::int64_t j, std::int64_t p, Rule&& rule,
                                             F&& f) const {
    std::array<double, widths.size()> result;
    std::int64_t row = base(p) + 1 + j * neighbours;
    for (std::size_t w = 0; w < widths.size(); ++w) {
      std::array<double, 4> values;
      for (double& value : values) value = f(row++);
      result[w] = rule(values, step(j, w));
    }
    return result;
  }

  std::vector<double> units_;
  std::int64_t coordinates_, count_;
  Table z_;
};

const Table* find(const Tables& tables, std::string_view kind, std::size_t k) {
  const auto found = tables.find(fmt::format("{}.{}", kind, k));
  return found == tables.end() ? nullptr : &found->second;
}
double value(const Table* table, std::int64_t row, std::int64_t column) {
  return table == nullptr ? 0 : table->row(row)[column];
}

// Gamma_a of coordinate i at point p: the sum of d/dz_b over the entries (a, b).
Difference numeric_correction(const Stencil& stencil, const Equation& equation,
                              const Tables& values, std::size_t a, std::int64_t i, std::int64_t p) {
  Difference total{0, 0};
  for (const EntryPlace& entry : equation.entries()) {
    if (entry.row != a) continue;
    const Table& table = values.at(entry.output);
    const Block &row = equation.blocks()[a], &column = equation.blocks()[entry.column];
    // A variable that the chain has once feels all coordinates of an entry.
    const bool all = row.per_chain && table.columns > 1;
    for (std::int64_t c = all ? 0 : i; c < (all ? table.columns : i + 1); ++c) {
      const std::int64_t j = column.first + (column.per_chain ? 0 : c);
      const Difference part =
          best_of(stencil.first(p, j, [&](std::int64_t r) { return table.row(r)[c]; }));
      total.value += entry.sign * part.value;
      total.doubt += part.doubt;
    }
  }
  return total;
}

// The result of one comparison on one test energy.
struct Comparison {
  Worst worst;
  Kinks kinks;
};
Comparison compare_correction(const Stencil& stencil, const Equation& equation,
                              const Tables& values, const std::string& place) {
  Comparison result;
  for (std::size_t a = 0; a < equation.blocks().size(); ++a) {
    const Table* correction = find(values, "correction", a);
    for (std::int64_t p = 0; p < stencil.points(); ++p)
      for (std::int64_t i = 0; i < equation.blocks()[a].size; ++i) {
        const Difference numeric = numeric_correction(stencil, equation, values, a, i, p);
        const double size = std::max(1.0, std::abs(numeric.value));
        ++result.kinks.differences;
        if (numeric.doubt > 0.1 * correction_limit * size) {
          ++result.kinks.left_out;
          continue;
        }
        const double error = std::abs(value(correction, stencil.base(p), i) - numeric.value);
        result.worst.see(error / size, fmt::format("{}, {}", equation.blocks()[a].name, place));
      }
  }
  return result;
}

// One coordinate's share of the Fokker-Planck equation at a point, divided by pi:
// -d_j(f_j pi) + d_j^2(D_j pi).
struct Share {
  Difference value;
  double size = 0;
};
Share fokker_planck_share(const Stencil& stencil, const Tables& values, const Block& block,
                          std::size_t k, std::int64_t i, std::int64_t p) {
  const Table &h = values.at("total"), *drift = find(values, "drift", k),
              *diffusion = find(values, "diffusion", k);
  const std::int64_t j = block.first + i;
  const double here = h.row(stencil.base(p))[0];
  const auto density = [&](std::int64_t r) { return std::exp(here - h.row(r)[0]); };
  const auto flow = stencil.first(
      p, j, [&](std::int64_t r) { return drift == nullptr ? 0 : drift->row(r)[i] * density(r); });
  std::array<double, widths.size()> spread{}, total{};
  if (diffusion != nullptr)
    spread =
        stencil.second(p, j, [&](std::int64_t r) { return diffusion->row(r)[i] * density(r); });
  for (std::size_t w = 0; w < widths.size(); ++w) total[w] = spread[w] - flow[w];
  Share share{best_of(total), 0};
  share.size = std::abs(best_of(flow).value) + std::abs(best_of(spread).value);
  return share;
}

// The shares of one point, coordinate by coordinate.
std::vector<Share> fokker_planck_shares(const Stencil& stencil, const Equation& equation,
                                        const Tables& values, std::int64_t p) {
  std::vector<Share> shares;
  for (std::size_t k = 0; k < equation.blocks().size(); ++k)
    for (std::int64_t i = 0; i < equation.blocks()[k].size; ++i)
      shares.push_back(fokker_planck_share(stencil, values, equation.blocks()[k], k, i, p));
  return shares;
}

double total_size(const std::vector<Share>& shares) {
  double size = 0;
  for (const Share& share : shares) size += share.size;
  return size;
}

// The sum of a point's shares, relative to their sizes.
Comparison compare_stationarity(const Stencil& stencil, const Equation& equation,
                                const Tables& values, const std::string& place) {
  std::vector<std::vector<Share>> points;
  std::vector<double> sizes;
  for (std::int64_t p = 0; p < stencil.points(); ++p) {
    points.push_back(fokker_planck_shares(stencil, equation, values, p));
    sizes.push_back(total_size(points.back()));
  }
  // A median: near a kink a size is meaningless.
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  const double usual = *middle;

  Comparison result;
  for (const std::vector<Share>& shares : points) {
    double residual = 0;
    bool clear = true;
    for (const Share& share : shares) {
      const double local = std::max(share.size, usual / static_cast<double>(shares.size()));
      const bool kink = share.value.doubt > 0.1 * stationarity_limit * local;
      ++result.kinks.differences;
      result.kinks.left_out += kink;
      clear = clear && !kink;
      residual += share.value.value;
    }
    if (clear) result.worst.see(std::abs(residual) / std::max(total_size(shares), usual), place);
  }
  return result;
}

// What dH'(force) leaves of -dH' D dH, relative to its parts: the work that Q does.
double curl_work(const Equation& equation, const Tables& values, std::int64_t row) {
  double work = 0, size = 1;
  for (std::size_t k = 0; k < equation.blocks().size(); ++k)
    for (std::int64_t i = 0; i < equation.blocks()[k].size; ++i) {
      const double slope = value(find(values, "slope", k), row, i);
      for (double part : {slope * value(find(values, "force", k), row, i),
                          slope * slope * value(find(values, "diffusion", k), row, i)}) {
        work += part;
        size += std::abs(part);
      }
    }
  return std::abs(work) / size;
}

// Points about the law, in its tails too, and the unit of length of every coordinate.
Table spread_points(const TestTarget& target, const Equation& equation,
                    const std::optional<QuadraticLaw>& law, const ProofOptions& options,
                    std::vector<double>& units) {
  constexpr double wider = 1.5;
  const std::int64_t width = equation.width(), size = equation.blocks()[0].size;
  const std::int64_t rows = std::max<std::int64_t>(20, options.points * 2 / (2 + size));
  const Table position = target.draw(rows, options.seed, wider);
  Table points = normal_table(rows, width, options.seed, ProofStreams::others);
  units.assign(static_cast<std::size_t>(width), 1);
  for (std::int64_t j = size; law && j < width; ++j)
    units[static_cast<std::size_t>(j)] = law->deviation(j - size);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::copy_n(position.row(r), size, points.row(r));
    for (std::int64_t j = size; j < width; ++j) {
      const double mean = law ? law->mean[static_cast<std::size_t>(j - size)] : 0;
      points.row(r)[j] = mean + wider * units[static_cast<std::size_t>(j)] * points.row(r)[j];
    }
  }
  return points;
}

}  // namespace

void Worst::see(double candidate, std::string_view place) {
  if (std::isnan(candidate)) candidate = HUGE_VAL;
  if (!where.empty() && candidate <= value) return;
  value = candidate;
  where = place;
}

bool Kinks::too_many() const { return 20 * left_out > differences; }
std::string Kinks::text() const {
  return left_out == 0 ? ""
                       : fmt::format("; {} of {} differences met a kink", left_out, differences);
}

void DifferenceChecks::add(const TestTarget& target, Equation& equation,
                           const std::optional<QuadraticLaw>& law, const ProofOptions& options) {
  std::vector<double> units;
  const Table points = spread_points(target, equation, law, options, units);
  const Stencil stencil(points, units);
  const Tables values = equation.everything(stencil.z());
  const std::string place = target.name();

  const auto take = [](const Comparison& comparison, Worst& worst, Kinks& kinks) {
    if (!comparison.worst.where.empty()) worst.see(comparison.worst.value, comparison.worst.where);
    kinks.differences += comparison.kinks.differences;
    kinks.left_out += comparison.kinks.left_out;
  };
  take(compare_correction(stencil, equation, values, place), correction_, correction_kinks_);
  take(compare_stationarity(stencil, equation, values, place), stationarity_, stationarity_kinks_);
  for (std::int64_t p = 0; p < stencil.points(); ++p)
    curl_.see(curl_work(equation, values, stencil.base(p)), place);
  for (std::size_t k = 0; k < equation.blocks().size(); ++k)
    if (const Table* diffusion = find(values, "diffusion", k))
      for (double d : diffusion->values)
        negative_diffusion_.see(-d, fmt::format("{}, {}", equation.blocks()[k].name, place));
}

std::vector<Check> DifferenceChecks::checks() const {
  const auto difference_check = [](std::string name, const Worst& worst, double limit,
                                   const Kinks& kinks, std::string_view what) {
    // Without a single clear difference nothing was seen.
    const Verdict verdict = worst.value > limit                       ? Verdict::failed
                            : kinks.too_many() || worst.where.empty() ? Verdict::undecided
                                                                      : Verdict::passed;
    return Check{std::move(name),
                 worst.value,
                 limit,
                 false,
                 verdict,
                 fmt::format("{}; worst at {}{}", what,
                             worst.where.empty() ? "no point" : worst.where, kinks.text())};
  };
  std::vector<Check> result;
  result.push_back(difference_check("correction", correction_, correction_limit, correction_kinks_,
                                    "Gamma against differences of D and Q"));
  result.push_back(difference_check("stationarity", stationarity_, stationarity_limit,
                                    stationarity_kinks_,
                                    "what the Fokker-Planck equation leaves, relative"));
  const bool noise = !negative_diffusion_.where.empty();
  const double smallest = noise ? -negative_diffusion_.value : 0;
  result.push_back(
      {"diffusion", smallest, 0, true, noise && smallest >= 0 ? Verdict::passed : Verdict::failed,
       noise ? "the smallest D seen; at " + negative_diffusion_.where
             : "there is no D, so no noise: chains would not forget where they began"});
  result.push_back({"curl", curl_.value, curl_limit, false,
                    curl_.value <= curl_limit ? Verdict::passed : Verdict::failed,
                    "the work that Q does, relative; worst at " + curl_.where});
  return result;
}

}  // namespace whorl
