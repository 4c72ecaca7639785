// What the benchmarks of the recurrent network share: its size, the cases, and frames of music.
#pragma once

#include <fmt/format.h>

#include <string>

#include "engine/random.hpp"
#include "engine/tensor.hpp"

namespace whorl::bench {

inline constexpr std::int64_t keys = 88, units = 200;
inline constexpr std::int64_t frame_counts[] = {200, 800}, chain_counts[] = {1, 8};

// As references call it.
inline std::string gru_case(std::int64_t frames, std::int64_t chains, std::string_view sampler) {
  return fmt::format("C5/gru-sample/T{}/K{}/{}", frames, chains, sampler);
}

// Keys that are down now and then, four of 88 in the mean.
inline void fill_frames(std::uint64_t seed, Tensor& frames) {
  fill_normal<float>({.seed = seed}, 0, frames.values<float>());
  for (float& v : frames.values<float>()) v = v > 1.69f ? 1.0f : 0.0f;
}

// The standard deviation of the weights that everything begins with.
inline constexpr double weight_sd = 0.08;

}  // namespace whorl::bench
