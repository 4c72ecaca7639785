// TestTarget: an energy whose law can be drawn from exactly.
//
//   gaussian   x = mu + L xi, with a full triangular L
//   mixture    x = mu + s m + xi with s = 1 or -1, of unequal weights
//
// Both have lengths near 1 in every direction and correlate all coordinates. The energy is the sum
// of a prior and a likelihood, for samplers that weigh them.
// Thread safety: immutable.
#pragma once

#include <string_view>

#include "samplers/energy.hpp"
#include "samplers/proof_batch.hpp"

namespace whorl {

class TestTarget {
 public:
  enum class Kind { gaussian, mixture };

  TestTarget(Kind kind, std::int64_t size);

  std::string name() const;  // "gaussian, d = 2"
  const Energy& energy() const { return energy_; }
  // Exact draws; their spread about the centre is multiplied by `wider`.
  Table draw(std::int64_t rows, std::uint64_t seed, double wider = 1) const;

 private:
  Kind kind_;
  std::int64_t size_;
  Energy energy_;
};

// Streams of random numbers that the checks draw from.
struct ProofStreams {
  static constexpr std::uint32_t position = 1, side = 2, others = 3, noise = 16;
};

// Rows of independent normals.
Table normal_table(std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                   std::uint32_t stream);

}  // namespace whorl
