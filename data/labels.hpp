// Labels: the classes of the rows of a data set, an i32[N] array with numbers from 0.
//
// Thread safety: free functions without shared state.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.hpp"

namespace whorl {

// The rows whose label is in `kept`, in their order, with labels 0 .. k-1: `kept[i]` becomes i. All
// arrays are copies. Throws a usage Error when `input` is not i32[N] or a label is listed twice, a
// data Error when a label is in no row.
Dataset keep_labels(const Dataset& dataset, std::string_view input,
                    std::span<const std::int64_t> kept);

// Throws a data Error that names the first row whose label is not in 0 .. classes-1. Returns a
// warning when there are classes that no row has.
std::vector<std::string> check_labels(const Dataset& dataset, std::string_view input,
                                      std::int64_t classes);

}  // namespace whorl
