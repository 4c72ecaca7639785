// Layer two of a proof: means that are zero under exp(-H), with exact draws.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/ops.hpp"
#include "engine/passes.hpp"
#include "engine/rewrite.hpp"
#include "samplers/proof_checks.hpp"

namespace whorl {

namespace {

// Functions of one number, with two derivatives.
enum class Factor { one, linear, square, sine, cosine };
struct Jet {
  double value, first, second;
};
using Jets = std::array<Jet, 5>;  // by Factor
Jets jets_of(double x) {
  const double sine = std::sin(x), cosine = std::cos(x);
  return {
      {{1, 0, 0}, {x, 1, 0}, {x * x, 2 * x, 2}, {sine, cosine, -sine}, {cosine, -sine, -cosine}}};
}

// phi(z) = sum over coordinates i of product over two variables of f(z_i): every function of one
// variable, and for every pair the products below.
struct TestFunction {
  std::size_t a, b;
  Factor f, g;
};
std::vector<TestFunction> test_functions(std::size_t variables) {
  std::vector<TestFunction> result;
  for (std::size_t a = 0; a < variables; ++a) {
    for (Factor f : {Factor::linear, Factor::square, Factor::sine, Factor::cosine})
      result.push_back({a, a, f, Factor::one});
    for (std::size_t b = a + 1; b < variables; ++b) {
      result.push_back({a, b, Factor::linear, Factor::linear});
      result.push_back({a, b, Factor::square, Factor::linear});
      result.push_back({a, b, Factor::linear, Factor::square});
      result.push_back({a, b, Factor::sine, Factor::cosine});
      result.push_back({a, b, Factor::cosine, Factor::sine});
    }
  }
  return result;
}

// Mean and standard error of many numbers, added up by Welford's rule.
struct Mean {
  std::int64_t count = 0;
  double mean = 0, squares = 0;

  void add(double x) {
    const double before = x - mean;
    mean += before / static_cast<double>(++count);
    squares += before * (x - mean);
  }
  double error() const {
    const auto n = static_cast<double>(count);
    return std::sqrt(squares / (n - 1) / n);
  }
};

// All factors of every number of one row, so that functions of it are products.
class RowJets {
 public:
  RowJets(const std::vector<Block>& blocks, std::int64_t width)
      : blocks_(blocks), size_(blocks[0].size), jets_(static_cast<std::size_t>(width)) {}

  void read(const double* z) { std::transform(z, z + jets_.size(), jets_.begin(), jets_of); }
  const Jet& at(std::size_t variable, std::int64_t i, Factor factor) const {
    const Block& block = blocks_[variable];
    return jets_[static_cast<std::size_t>(block.first + (block.per_chain ? 0 : i))]
                [static_cast<std::size_t>(factor)];
  }
  double value(const TestFunction& phi) const {
    double sum = 0;
    for (std::int64_t i = 0; i < size_; ++i)
      sum += at(phi.a, i, phi.f).value * at(phi.b, i, phi.g).value;
    return sum;
  }

 private:
  const std::vector<Block>& blocks_;
  std::int64_t size_;
  std::vector<Jets> jets_;
};

// Drift and D of a variable at a row; zero where the recipe has none.
class Motion {
 public:
  Motion(const Tables& tables, const std::vector<Block>& blocks) : blocks_(blocks) {
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      drift_.push_back(find(tables, fmt::format("drift.{}", k)));
      diffusion_.push_back(find(tables, fmt::format("diffusion.{}", k)));
    }
  }
  double drift(std::size_t k, std::int64_t row, std::int64_t i) const {
    return at(drift_[k], k, row, i);
  }
  double diffusion(std::size_t k, std::int64_t row, std::int64_t i) const {
    return at(diffusion_[k], k, row, i);
  }
  // How fast things change: the largest of root mean square drift and mean D of any number.
  double rate() const {
    double result = 0;
    for (std::size_t k = 0; k < blocks_.size(); ++k)
      for (std::int64_t i = 0; i < blocks_[k].size; ++i) {
        double squares = 0, sum = 0;
        const std::int64_t rows = drift_[k] ? drift_[k]->rows() : 0;
        for (std::int64_t r = 0; r < rows; ++r) {
          squares += std::pow(drift(k, r, i), 2);
          sum += diffusion(k, r, i);
        }
        if (rows > 0)
          result = std::max({result, std::sqrt(squares / static_cast<double>(rows)),
                             sum / static_cast<double>(rows)});
      }
    return result;
  }

 private:
  static const Table* find(const Tables& tables, const std::string& name) {
    const auto found = tables.find(name);
    return found == tables.end() ? nullptr : &found->second;
  }
  double at(const Table* table, std::size_t k, std::int64_t row, std::int64_t i) const {
    return table == nullptr ? 0 : table->row(row)[blocks_[k].per_chain ? 0 : i];
  }

  const std::vector<Block>& blocks_;
  std::vector<const Table*> drift_, diffusion_;
};

// f . grad phi and D : hess phi at a row. A number that the chain has once is in every summand of
// phi, so its derivatives add up over i like the others.
struct Generator {
  double drift = 0, noise = 0;
};
Generator generator(const TestFunction& phi, const RowJets& jets, const Motion& motion,
                    std::int64_t size, std::int64_t row) {
  Generator result;
  for (std::int64_t i = 0; i < size; ++i) {
    const Jet &f = jets.at(phi.a, i, phi.f), &g = jets.at(phi.b, i, phi.g);
    result.drift += motion.drift(phi.a, row, i) * f.first * g.value;
    result.noise += motion.diffusion(phi.a, row, i) * f.second * g.value;
    if (phi.a == phi.b) continue;
    result.drift += motion.drift(phi.b, row, i) * f.value * g.first;
    result.noise += motion.diffusion(phi.b, row, i) * f.value * g.second;
  }
  return result;
}

// z drawn from exp(-H).
Table exact_draws(const TestTarget& target, const Equation& equation, const QuadraticLaw& law,
                  std::int64_t rows, std::uint64_t seed) {
  const std::int64_t width = equation.width(), size = equation.blocks()[0].size, n = width - size;
  const Table position = target.draw(rows, seed),
              xi = normal_table(rows, std::max<std::int64_t>(n, 1), seed, ProofStreams::others);
  Table z(rows, width);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::copy_n(position.row(r), size, z.row(r));
    for (std::int64_t i = 0; i < n; ++i) {
      double x = law.mean[static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j < n; ++j)
        x += law.factor[static_cast<std::size_t>(i * n + j)] * xi.row(r)[j];
      z.row(r)[size + i] = x;
    }
  }
  return z;
}

// The step with its normal numbers as inputs noise.0, noise.1, ... Equal draws stay equal.
Graph with_noise_inputs(const Graph& graph, std::vector<std::string>& names) {
  const Graph merged = run_passes(graph, {{"dead", remove_dead}, {"common", merge_common}});
  Rewrite rewrite(merged);
  for (NodeId id = 0; id < merged.size(); ++id) {
    if (merged.op(id).name != "random_normal") {
      rewrite.copy(id);
      continue;
    }
    names.push_back(fmt::format("noise.{}", names.size()));
    rewrite.place(id, input(rewrite.graph(), names.back(), merged.type(id)).id);
  }
  return rewrite.finish();
}

// One step of many chains at once, from given states with given noise.
class OneStep {
 public:
  OneStep(const Energy& energy, const Equation& equation, const Recipe& recipe,
          Integrator integrator, std::uint64_t seed, std::int64_t rows)
      : field_(equation) {
    const Step step = recipe_step(energy, recipe, {.integrator = integrator});
    std::vector<std::string> noise, inputs, outputs;
    const Graph graph = with_noise_inputs(step.graph, noise);
    for (const Block& block : equation.blocks()) outputs.push_back(block.name);
    inputs = outputs;
    inputs.insert(inputs.end(), noise.begin(), noise.end());
    graph_.emplace(graph, inputs, shared_feeds(step), outputs);
    for (std::size_t k = 0; k < noise.size(); ++k)
      noise_[noise[k]] = normal_table(rows, graph.type(*graph.find(noise[k])).elements(), seed,
                                      ProofStreams::noise + static_cast<std::uint32_t>(k));
  }

  // The new states; `sign` is that of the noise.
  Table operator()(const Table& z, double eta, double sign) {
    Tables inputs = field_.split(z);
    for (const auto& [name, table] : noise_) {
      Table& signed_noise = inputs[name] = table;
      for (double& x : signed_noise.values) x *= sign;
    }
    graph_->share("step_size", Tensor::scalar(eta));
    const Tables moved = (*graph_)(inputs);
    Table result(z.rows(), z.columns);
    for (const Block& block : field_.blocks())
      for (std::int64_t r = 0; r < z.rows(); ++r)
        std::copy_n(moved.at(block.name).row(r), block.size, result.row(r) + block.first);
    return result;
  }

 private:
  const Equation& field_;
  std::optional<BatchedGraph> graph_;
  Tables noise_;
};

// Coordinates are draws of a kind too: phi adds them up. And nothing should take many seconds.
std::int64_t affordable_draws(const Equation& equation, const ProofOptions& options) {
  constexpr double operations = 5e7;
  constexpr std::int64_t fewest = 5000;
  const double affordable = operations / std::max(equation.cost(), 1.0);
  return std::clamp(
      std::min(static_cast<std::int64_t>(affordable), options.draws / equation.blocks()[0].size),
      std::min(fewest, options.draws), options.draws);
}

}  // namespace

double normal_limit(std::int64_t count) {
  const double rate = false_alarm_rate / static_cast<double>(count);
  double low = 0, high = 30;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > rate ? low : high) = middle;
  }
  return high;
}

void StatisticalChecks::add(const TestTarget& target, Equation& equation, const QuadraticLaw& law,
                            const Recipe& recipe, const ProofOptions& options) {
  const std::int64_t rows = affordable_draws(equation, options), size = equation.blocks()[0].size;
  const Table z = exact_draws(target, equation, law, rows, options.seed);
  const Tables tables = equation.motion(z);
  const Motion motion(tables, equation.blocks());
  const std::vector<TestFunction> functions = test_functions(equation.blocks().size());
  RowJets jets(equation.blocks(), equation.width());

  const double eta = 0.01 / (1 + motion.rate());
  OneStep step(target.energy(), equation, recipe, options.integrator, options.seed, rows);
  const std::array<Table, 4> moved{step(z, eta, 1), step(z, eta, -1), step(z, eta / 2, 1),
                                   step(z, eta / 2, -1)};
  constexpr std::array<double, 4> weights{-0.5, -0.5, 2, 2};  // of 4 m(eta/2) - m(eta), in pairs

  std::vector<Mean> generators(functions.size()), steps(functions.size()), noise(functions.size());
  std::vector<double> extrapolated(functions.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    jets.read(z.row(r));
    for (std::size_t f = 0; f < functions.size(); ++f) {
      const Generator g = generator(functions[f], jets, motion, size, r);
      generators[f].add(g.drift + g.noise);
      noise[f].add(g.noise);
      extrapolated[f] = -3 * jets.value(functions[f]);
    }
    for (std::size_t m = 0; m < moved.size(); ++m) {
      jets.read(moved[m].row(r));
      for (std::size_t f = 0; f < functions.size(); ++f)
        extrapolated[f] += weights[m] * jets.value(functions[f]);
    }
    for (std::size_t f = 0; f < functions.size(); ++f) steps[f].add(extrapolated[f] / eta);
  }

  const auto judge = [&](Statistic& statistic, const std::vector<Mean>& means) {
    for (std::size_t f = 0; f < functions.size(); ++f) {
      // A function that nothing moves has the mean 0 without any error.
      const double error = means[f].error();
      statistic.worst.see(means[f].mean == 0 ? 0 : std::abs(means[f].mean) / error, target.name());
      if (noise[f].mean != 0)
        statistic.resolution = std::min(statistic.resolution, error / std::abs(noise[f].mean));
    }
    statistic.functions += static_cast<std::int64_t>(functions.size());
  };
  judge(generator_, generators);
  judge(step_, steps);
}

Check StatisticalChecks::check(std::string name, const Statistic& statistic,
                               std::string_view what) {
  const double limit = normal_limit(statistic.functions);
  return {
      std::move(name),
      statistic.worst.value,
      limit,
      false,
      statistic.worst.value <= limit ? Verdict::passed : Verdict::failed,
      fmt::format("{}, largest |z| of {} functions; worst at {}; sees {:.2g}% of the noise", what,
                  statistic.functions, statistic.worst.where, 100 * limit * statistic.resolution)};
}

std::vector<Check> StatisticalChecks::checks() const {
  return {check("generator", generator_, "E[L phi] = 0"),
          check("step", step_, "E[phi] after one step")};
}

std::vector<Check> StatisticalChecks::skipped(std::string_view reason) {
  std::vector<Check> result;
  for (const char* name : {"generator", "step"})
    result.push_back({name, 0, 0, false, Verdict::skipped, std::string(reason)});
  return result;
}

}  // namespace whorl
