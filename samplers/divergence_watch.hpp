// DivergenceWatch: which chains are still worth going on with (not installed).
//
// A chain has diverged when its energy or its state is not finite, or when its energy is a million
// times what is usual: the median of |U| as the first run of steps begins, and at least the number
// of coordinates, which U is about half of where chains have settled.
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor.hpp"
#include "samplers/chains.hpp"

namespace whorl {

// Whether all elements of an f32 or f64 tensor are finite.
bool all_finite(const Tensor& tensor);
// Row k of [K, ...]; borrowed.
Tensor row_of(const Tensor& tensor, std::int64_t row);

class DivergenceWatch {
 public:
  // `size` is the number of coordinates; with `drop`, chains are given up one by one.
  DivergenceWatch(std::int64_t chains, std::int64_t size, bool drop);

  // The energies [T, K] of a run that began at `step`. `place` tells where its first number is that
  // is not finite, as in ": first in node 3 'log'".
  void check(const Tensor& energies, std::int64_t step, const std::function<std::string()>& place);
  // "`what` at step 5 in chain 2`where`" is a numeric Error, or a divergence: always an Error when
  // no chain is left.
  void give_up(std::int64_t chain, std::int64_t step, std::string_view what,
               std::string_view where = {});

  const std::vector<Divergence>& divergences() const { return divergences_; }
  bool alive(std::int64_t chain) const { return alive_[static_cast<std::size_t>(chain)]; }
  std::int64_t first_alive() const;

  // Under names that begin with "chains/".
  void save(std::map<std::string, Tensor>& saved) const;
  // After so many steps. Throws a checkpoint Error for what cannot be.
  void load(const std::map<std::string, Tensor, std::less<>>& saved, std::int64_t steps);

 private:
  void learn_limit(const Tensor& energies);
  bool usual(double energy) const;

  std::int64_t size_;
  bool drop_;
  double limit_ = 0;  // 0 until the first run has shown what is usual
  std::vector<bool> alive_;
  std::vector<Divergence> divergences_;
};

// A tensor of what was saved; without a type, numbers in f64. Throws a checkpoint Error.
const Tensor& saved_tensor(const std::map<std::string, Tensor, std::less<>>& saved,
                           const std::string& name, const std::optional<Type>& type = {});

}  // namespace whorl
