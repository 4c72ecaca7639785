// Split: some rows of a data set aside, to measure by what the others have taught.
//
// Thread safety: a free function without shared state.
#pragma once

#include <cstdint>
#include <utility>

#include "data/dataset.hpp"

namespace whorl {

// {all but the last `rows` rows, the last `rows` rows}. The first part shares its memory with
// `dataset`, so that a large set is not there twice; the second is a copy. Throws a usage Error
// when `rows` is below 1 or no row would be left.
std::pair<Dataset, Dataset> split_last(const Dataset& dataset, std::int64_t rows);

}  // namespace whorl
