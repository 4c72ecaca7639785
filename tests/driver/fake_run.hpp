// FakeRun: the directory of a run as `sample` would leave it, with draws of the test's own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/random.hpp"
#include "storage/draws_file.hpp"

namespace whorl::testing {

inline constexpr const char* gaussian_config = R"(format_version: 1
experiment: "a plane"
targets { gaussian { dimension: 3 mean: 2 covariance: [4, 1, 0, 1, 1, 0, 0, 0, 9] } }
sampler { name: "sghmc" }
run { chains: 4 steps: 200 burn_in: 100 thin: 1 seed: 1 step_size { constant: 0.1 } }
)";

inline constexpr const char* ended =
    "{\"event\": \"begin\", \"step\": 0, \"seconds\": 0}\n"
    "{\"event\": \"end\", \"step\": 200, \"seconds\": 2}\n";

// A run as `sample` would leave it: parameters w [2] and b [], numbers by chain, draw and place.
struct FakeRun {
  std::int64_t chains = 4, draws = 100, made = 100;
  std::vector<DrawsVariable> parameters{{"w", {2}, 0}, {"b", {}, 2}};
  std::vector<std::string> statistics{"lp", "kinetic_temperature", "configurational_temperature"};
  std::string config = gaussian_config, events = ended;
  std::function<double(int, int, int)> number;             // of chain, draw and place
  std::function<double(int, int, std::size_t)> statistic;  // of chain, draw and which
  std::int64_t lag = 0;                                    // of the statistics

  void write(const std::filesystem::path& directory) const;
  std::int64_t size() const {
    std::int64_t n = 0;
    for (const DrawsVariable& parameter : parameters) n += parameter.shape.elements();
    return n;
  }
  // What is drawn at a place, [chains, made].
  std::vector<double> column(int place) const {
    std::vector<double> values;
    for (int c = 0; c < chains; ++c)
      for (int t = 0; t < made; ++t) values.push_back(number(c, t, place));
    return values;
  }
};

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline void FakeRun::write(const std::filesystem::path& directory) const {
  std::filesystem::create_directories(directory);
  write_text(directory / "config.pbtxt", config);
  write_text(directory / "events.jsonl", events);
  const DrawsLayout layout{chains, draws, DType::f64, parameters, statistics, {}};
  const std::string path = (directory / "draws.nc").string();
  create_draws(path, layout);
  DrawsWriter writer(path, layout);
  Tensor state(Type{DType::f64, {chains, size()}});
  std::vector<double> row(static_cast<std::size_t>(chains));
  for (int t = 0; t < made; ++t) {
    for (int c = 0; c < chains; ++c)
      for (int i = 0; i < size(); ++i) state.data<double>()[c * size() + i] = number(c, t, i);
    writer.put(t, 100 + t, state);
    for (std::size_t s = 0; s < statistics.size() && t < made - lag; ++s) {
      for (int c = 0; c < chains; ++c) row[static_cast<std::size_t>(c)] = statistic(c, t, s);
      writer.put_statistic(s, t, row);
    }
  }
  writer.flush();
}

// A number for each chain, draw and place, the same on every call.
inline double normal_at(int chain, int draw, int place) {
  double z = 0;
  fill_normal<double>({.seed = 5,
                       .stream = static_cast<std::uint32_t>(place),
                       .step = static_cast<std::uint32_t>(draw),
                       .chain = static_cast<std::uint32_t>(chain)},
                      0, std::span(&z, 1));
  return z;
}

inline FakeRun good_run() {
  FakeRun run;
  run.number = normal_at;
  run.statistic = [](int c, int t, std::size_t s) {
    return s == 0 ? -normal_at(c, t, 50) : 1 + 0.1 * normal_at(c, t, 51 + static_cast<int>(s));
  };
  return run;
}

}  // namespace whorl::testing
