// Sampler files: networks that were learned, or D and Q written by hand, in protobuf text.
//
// Loading checks everything as load_graph does and throws graph Errors with file and line; a step
// is made of the sampler, so what loads is a sampler. A `hash` that does not fit is refused, so an
// edited copy cannot pass for the original; without one the file is taken as it is. save_sampler
// writes the shortest numbers that read back to the same bits, and the hash.
// Thread safety: free functions; values.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/graph.hpp"
#include "samplers/learned.hpp"
#include "samplers/recipe.hpp"

namespace whorl {

inline constexpr int sampler_format_version = 1;

struct SamplerFile {
  std::string name;
  std::vector<std::pair<std::string, std::string>> record;

  // One of the two.
  std::optional<LearnedSampler> learned;
  std::vector<Variable> variables;
  // D and Q for n coordinates of a dtype, as graph_dynamics wants them; empty for learned ones.
  std::function<Graph(std::int64_t n, DType dtype)> dynamics;
  std::string dynamics_text;  // the function's own text, for saving
};

SamplerFile load_sampler(const std::filesystem::path& path);
SamplerFile parse_sampler(std::string text, std::string_view origin);
// The file appears whole or not at all. A sampler that load_sampler would refuse is refused here.
void save_sampler(const SamplerFile& sampler, const std::filesystem::path& path);
std::string to_pbtxt(const SamplerFile& sampler);
// 128 bits in hexadecimal, of all that the sampler does: not of its name and its record.
std::string canonical_hash(const SamplerFile& sampler);

}  // namespace whorl
