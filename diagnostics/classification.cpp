#include "diagnostics/classification.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/error.hpp"

namespace whorl {

namespace {

constexpr double smallest_exponent = -708;  // e^-708 is the last before subnormal numbers

// e^x for x <= 0, and 0 below e^-708; within two units in the last place. Branch-free, so that a
// loop over it becomes vector code: the C library's would take most of the time here.
inline double exp_below_one(double x) {
  constexpr double magic = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  const double c = x < smallest_exponent ? smallest_exponent : x;
  const double shifted = std::fma(c, 1.4426950408889634, magic);
  const double n = shifted - magic;
  double r = std::fma(n, -0x1.62e42fefa38p-1, c);  // ln 2 in two parts, n times the first is exact
  r = std::fma(n, -0x1.ef35793c7673p-45, r);
  double p = 1.0 / 6227020800;
  p = std::fma(p, r, 1.0 / 479001600);
  p = std::fma(p, r, 1.0 / 39916800);
  p = std::fma(p, r, 1.0 / 3628800);
  p = std::fma(p, r, 1.0 / 362880);
  p = std::fma(p, r, 1.0 / 40320);
  p = std::fma(p, r, 1.0 / 5040);
  p = std::fma(p, r, 1.0 / 720);
  p = std::fma(p, r, 1.0 / 120);
  p = std::fma(p, r, 1.0 / 24);
  p = std::fma(p, r, 1.0 / 6);
  p = std::fma(p, r, 0.5);
  p = std::fma(p * r, r, r);
  const std::uint64_t power = (std::bit_cast<std::uint64_t>(shifted) + 1023) << 52;
  const double scale = std::bit_cast<double>(power);
  // A factor, because the compiler would make a branch of choosing between 0 and this.
  return std::fma(p, scale, scale) * (x < smallest_exponent ? 0.0 : 1.0);
}

// Some rows of a draw at a time, class by class, so that every loop over rows is vector code and
// all stays in a near cache.
class Tile {
 public:
  explicit Tile(std::int64_t classes)
      : classes_(classes),
        rows_(std::clamp(std::int64_t{4096} / classes, std::int64_t{8}, std::int64_t{64})) {
    numbers_.resize(static_cast<std::size_t>((2 * classes_ + 3) * rows_));
  }
  std::int64_t rows() const { return rows_; }
  // Of the rows last computed: p(c) is e(c) times share.
  const double* e(std::int64_t c) const { return numbers_.data() + (classes_ + c) * rows_; }
  const double* share() const { return array(0); }
  const double* entropy() const { return array(1); }

  // Logits [count, columns]. NaN where a row's largest one is infinite.
  template <class T>
  void compute(const T* logits, std::int64_t columns, std::int64_t count) {
    double *total = array(0), *entropy = array(1), *highest = array(2);
    for (std::int64_t c = 0; c < classes_; ++c) {
      double* x = shifted(c);
      if (columns == 1 && c == 0)
        std::fill_n(x, count, 0.0);
      else
        for (std::int64_t i = 0; i < count; ++i)
          x[i] = static_cast<double>(logits[columns == 1 ? i : i * columns + c]);
      if (c == 0) std::copy_n(x, count, highest);
      for (std::int64_t i = 0; i < count; ++i) highest[i] = x[i] > highest[i] ? x[i] : highest[i];
    }
    std::fill_n(total, count, 0.0);
    std::fill_n(entropy, count, 0.0);
    for (std::int64_t c = 0; c < classes_; ++c) {
      double *x = shifted(c), *y = numbers_.data() + (classes_ + c) * rows_;
      for (std::int64_t i = 0; i < count; ++i) x[i] -= highest[i];
      for (std::int64_t i = 0; i < count; ++i) y[i] = exp_below_one(x[i]);
      for (std::int64_t i = 0; i < count; ++i) total[i] += y[i];
      // -infinity counts as 0, and would not if it were multiplied.
      for (std::int64_t i = 0; i < count; ++i)
        entropy[i] -= y[i] * (x[i] < smallest_exponent ? smallest_exponent : x[i]);
    }
    for (std::int64_t i = 0; i < count; ++i) highest[i] = std::log(total[i]);
    for (std::int64_t i = 0; i < count; ++i) total[i] = 1 / total[i];
    for (std::int64_t i = 0; i < count; ++i) entropy[i] = highest[i] + entropy[i] * total[i];
  }

 private:
  double* shifted(std::int64_t c) { return numbers_.data() + c * rows_; }  // logits - the largest
  double* array(std::int64_t which) { return shifted(2 * classes_ + which); }
  const double* array(std::int64_t which) const { return e(classes_ + which); }

  std::int64_t classes_, rows_;
  std::vector<double> numbers_;
};

double log_of(double p) { return std::log(std::max(p, std::numeric_limits<double>::min())); }

// The sums over rows, before they are means.
void add_row(ClassificationScores& scores, std::span<const double> p, std::int32_t label) {
  std::size_t top = 0;
  double squares = 0;
  for (std::size_t c = 0; c < p.size(); ++c) {
    if (p[c] > p[top]) top = c;
    const double off = p[c] - (c == static_cast<std::size_t>(label) ? 1 : 0);
    squares += off * off;
    if (p[c] > 0) scores.entropy -= p[c] * std::log(p[c]);
  }
  const double right = p[static_cast<std::size_t>(label)];
  const bool correct = top == static_cast<std::size_t>(label);
  scores.error += correct ? 0 : 1;
  scores.nll_sum -= log_of(right);
  scores.floored += right < std::numeric_limits<double>::min();
  scores.brier += squares;
  constexpr std::int64_t last = ClassificationScores::bins - 1;
  const std::int64_t above =
      static_cast<std::int64_t>(std::ceil(std::min(p[top], 1.0) * (last + 1)));
  CalibrationBin& bin =
      scores.calibration[static_cast<std::size_t>(std::clamp(above - 1, std::int64_t{0}, last))];
  ++bin.count;
  bin.confidence += p[top];
  bin.accuracy += correct;
}

void make_means(ClassificationScores& scores) {
  const double rows = static_cast<double>(scores.rows);
  scores.nll = scores.nll_sum / rows;
  for (double* sum : {&scores.error, &scores.brier, &scores.entropy, &scores.aleatoric})
    *sum /= rows;
  scores.epistemic = scores.entropy - scores.aleatoric;
  if (scores.epistemic < 0) scores.epistemic = 0;  // by rounding only: the entropy is concave
  for (CalibrationBin& bin : scores.calibration) {
    if (bin.count == 0) continue;
    const double count = static_cast<double>(bin.count);
    bin.confidence /= count;
    bin.accuracy /= count;
    scores.ece += count / rows * std::abs(bin.accuracy - bin.confidence);
  }
}

ClassificationScores without_value(std::int64_t rows, std::int64_t draws) {
  ClassificationScores scores;
  scores.rows = rows;
  scores.draws = draws;
  scores.error = scores.nll = scores.nll_sum = scores.brier = scores.ece = scores.entropy =
      scores.aleatoric = scores.epistemic = std::numeric_limits<double>::quiet_NaN();
  return scores;
}

}  // namespace

PredictiveMean::PredictiveMean(std::int64_t rows, std::int64_t columns)
    : rows_(rows), columns_(columns) {
  if (rows < 1 || columns < 1)
    fail(ErrorKind::usage, "classification", "there are {} rows of {} columns; expected 1 or more",
         rows, columns);
  sums_.assign(static_cast<std::size_t>(rows * (classes() + 2)), 0.0);
}

template <class T>
void PredictiveMean::add_draw(std::span<const T> logits, std::int64_t first_row) {
  const std::int64_t size = static_cast<std::int64_t>(logits.size()), count = size / columns_;
  if (size % columns_ != 0 || first_row < 0 || first_row > rows_ || count > rows_ - first_row)
    fail(ErrorKind::usage, "classification",
         "{} logits from row {} on do not fit; expected rows of {}, up to row {}", size, first_row,
         columns_, rows_);
  const std::int64_t n = classes();
  Tile tile(n);
  double* entropy = sums_.data() + rows_ * n;
  double* draws = entropy + rows_;
  for (std::int64_t begin = 0; begin < count; begin += tile.rows()) {
    const std::int64_t rows = std::min(tile.rows(), count - begin);
    tile.compute(logits.data() + begin * columns_, columns_, rows);
    const std::int64_t first = first_row + begin;
    const double* share = tile.share();
    for (std::int64_t c = 0; c < n; ++c) {
      const double* e = tile.e(c);
      double* p = sums_.data() + first * n + c;
      for (std::int64_t i = 0; i < rows; ++i) p[i * n] += e[i] * share[i];
    }
    for (std::int64_t i = 0; i < rows; ++i) entropy[first + i] += tile.entropy()[i];
    for (std::int64_t i = 0; i < rows; ++i) draws[first + i] += 1;
  }
}

void PredictiveMean::add(std::span<const float> logits, std::int64_t first_row) {
  add_draw(logits, first_row);
}
void PredictiveMean::add(std::span<const double> logits, std::int64_t first_row) {
  add_draw(logits, first_row);
}

void PredictiveMean::add(const PredictiveMean& other) {
  if (other.rows_ != rows_ || other.columns_ != columns_)
    fail(ErrorKind::usage, "classification",
         "a mean of {} rows of {} columns does not fit one of {} rows of {}", other.rows_,
         other.columns_, rows_, columns_);
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
}

void PredictiveMean::clear() { std::fill(sums_.begin(), sums_.end(), 0.0); }

std::int64_t PredictiveMean::draws() const {
  return static_cast<std::int64_t>(*std::min_element(counts(), counts() + rows_));
}

void PredictiveMean::check_draws() const {
  const auto [least, most] = std::minmax_element(counts(), counts() + rows_);
  if (*least >= 1 && *least == *most) return;
  fail(ErrorKind::usage, "classification",
       "row {} has {} draws and row {} has {}; expected as many for each row, 1 or more",
       least - counts(), *least, most - counts(), *most);
}

std::vector<double> PredictiveMean::probabilities() const {
  check_draws();
  std::vector<double> p(sums_.begin(), sums_.begin() + rows_ * classes());
  for (double& v : p) v /= counts()[0];
  return p;
}

ClassificationScores PredictiveMean::scores(std::span<const std::int32_t> labels) const {
  check_draws();
  if (static_cast<std::int64_t>(labels.size()) != rows_)
    fail(ErrorKind::usage, "classification", "there are {} labels for {} rows", labels.size(),
         rows_);
  ClassificationScores scores;
  scores.rows = rows_;
  scores.draws = draws();
  const double draws = counts()[0];
  const std::size_t n = static_cast<std::size_t>(classes());
  std::vector<double> p(n);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] < 0 || labels[row] >= classes())
      fail(ErrorKind::data, "classification",
           "the label of row {} is {}; expected a class from 0 to {}", row, labels[row],
           classes() - 1);
    double total = 0;
    for (std::size_t c = 0; c < n; ++c) total += p[c] = sums_[row * n + c] / draws;
    const double aleatoric = entropies()[row] / draws;
    if (!std::isfinite(aleatoric + total)) return without_value(rows_, scores.draws);
    scores.aleatoric += aleatoric;
    add_row(scores, p, labels[row]);
  }
  make_means(scores);
  return scores;
}

void PredictiveMean::load(std::span<const double> sums) {
  if (sums.size() != sums_.size())
    fail(ErrorKind::usage, "classification",
         "there are {} sums for {} rows of {} columns; expected {}", sums.size(), rows_, columns_,
         sums_.size());
  const auto is_count = [](double v) { return v >= 0 && v <= 0x1p53 && v == std::floor(v); };
  if (!std::all_of(sums.end() - rows_, sums.end(), is_count))
    fail(ErrorKind::usage, "classification", "the draws of a row are not a count");
  std::copy(sums.begin(), sums.end(), sums_.begin());
}

}  // namespace whorl
