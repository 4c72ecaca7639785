// Equation: the terms of a sampler's equation at many points z, on one test energy.
//
// z is one row of numbers: the position, then the variables in their order.
// Thread safety: one thread at a time.
#pragma once

#include <optional>

#include "samplers/proof_batch.hpp"
#include "samplers/recipe.hpp"

namespace whorl {

// A variable's place in z.
struct Block {
  std::string name;
  bool per_chain;
  std::int64_t first, size;
};

// An entry of D + Q by the numbers of its variables.
struct EntryPlace {
  std::size_t row, column;
  double sign;         // Q[column][row] is the negative of Q[row][column]
  std::string output;  // where its values are
};

// The law of the variables beside the position, when H - U is quadratic in them: mean and a
// matrix F with covariance F F', row by row.
struct QuadraticLaw {
  std::vector<double> mean, factor;
  double deviation(std::int64_t i) const;  // the standard deviation of variable number i
};

class Equation {
 public:
  Equation(const Energy& energy, const Dynamics& dynamics, const Recipe& recipe);

  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<EntryPlace>& entries() const { return entries_; }
  std::int64_t width() const { return blocks_.back().first + blocks_.back().size; }
  double cost() const { return cost_; }  // of the drift and D at one point

  // drift.K (force + Gamma) and diffusion.K of variable K; those that are zero are left out.
  Tables motion(const Table& z) { return (*motion_)(split(z)); }
  // The same, and force.K, correction.K, slope.K (dH/dz_K), total (H) and the entries.
  Tables everything(const Table& z) { return (*everything_)(split(z)); }
  // Columns of z by variable.
  Tables split(const Table& z) const;

  std::optional<QuadraticLaw> quadratic_law();
  // How much H grows, at least, when one of the variables beside the position goes to +-50: a law
  // that can be normalised needs growth.
  double least_growth();

 private:
  std::vector<Block> blocks_;
  std::vector<EntryPlace> entries_;
  std::optional<BatchedGraph> motion_, everything_;
  double cost_ = 0;
};

// What a step's graph is fed with beside the state: parameters and placeholders for seed, step and
// step size.
Feeds shared_feeds(const Step& step);

}  // namespace whorl
