// The two parts of a Bayesian energy, U = -log p(theta) - sum_i log p(datum i | theta).
//
// They are apart because a minibatch stands for the whole data set in one of them only.
// Thread safety: as for Graph::append.
#pragma once

#include <cstdint>
#include <span>

#include "engine/graph.hpp"

namespace whorl {

struct EnergyTerms {
  Value prior;       // -log p(theta), a scalar
  Value likelihood;  // -log p(rows | theta), summed over the rows that were given, a scalar
};

// U where `rows` of the data set's `total` rows were given: prior + total/rows likelihood. Its
// gradient has the right mean when every row is as likely to be among them. Throws a usage Error
// unless 1 <= rows <= total.
Value minibatch_energy(const EnergyTerms& terms, std::int64_t rows, std::int64_t total);

// -log of N(0, sd^2) for every element of theta, summed, with its constant. Throws a usage Error
// when sd is not a positive number.
Value normal_prior(Value theta, double sd);
// The same for several parameters, added up in their order. There must be one.
Value prior_of(std::span<const Value> parameters, double sd);

}  // namespace whorl
