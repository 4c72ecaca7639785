// Draws that are stored as they come, by a program that may be stopped and go on later.
#pragma once

#include <string>
#include <vector>

// Both leave draws.nc and checkpoint/ in an empty folder, and return all draws.
std::vector<double> uninterrupted_draws(const std::string& folder);
std::vector<double> interrupted_draws(const std::string& folder);
