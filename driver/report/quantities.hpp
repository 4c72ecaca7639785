// What quantities of metrics.jsonl are called on a page.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace whorl::driver::report {

// Whether it is an error or a likelihood of predictions, of which less is better.
bool is_score(std::string_view quantity);
// Whether it is such a likelihood by another way of counting the frames of sequences, whose curves
// look like those of the first one.
bool counts_otherwise(std::string_view quantity);
// What a quantity is called: "KL divergence"; with its unit, for an axis; short, for a table.
std::string quantity_name(std::string_view quantity);
std::string quantity_axis(std::string_view quantity);
std::string quantity_heading(std::string_view quantity);

}  // namespace whorl::driver::report
