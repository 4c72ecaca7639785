// Programs outside of this project that are run beside a benchmark, as references.
//
// Such a program prints lines of JSON with "case", "threads" and "ms_per_step".
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>

namespace whorl::bench {

// The times that a program prints, by "case/threads".
inline std::map<std::string, double> run_reference(const char* command) {
  std::map<std::string, double> found;
  FILE* pipe = ::popen(command, "r");
  if (pipe == nullptr) return found;
  std::array<char, 4096> line;
  while (std::fgets(line.data(), static_cast<int>(line.size()), pipe) != nullptr) {
    const std::string text(line.data());
    const auto field = [&](const std::string& key) {
      const auto at = text.find("\"" + key + "\": ");
      return at == std::string::npos ? std::string() : text.substr(at + key.size() + 4);
    };
    const std::string name = field("case"), threads = field("threads"), time = field("ms_per_step");
    if (name.size() < 2 || threads.empty() || time.empty()) continue;
    found[name.substr(1, name.find('"', 1) - 1) + "/" + threads.substr(0, threads.find(','))] =
        std::stod(time);
  }
  ::pclose(pipe);
  return found;
}

// The shortest times of all programs, run one after the other.
inline std::map<std::string, double> run_references(int argc, char** argv) {
  std::map<std::string, double> best;
  for (int i = 1; i < argc; ++i)
    for (const auto& [name, time] : run_reference(argv[i])) {
      const auto [at, fresh] = best.emplace(name, time);
      if (!fresh && time < at->second) at->second = time;
    }
  return best;
}

inline void report_case(const std::string& name, int threads, double milliseconds,
                        const std::map<std::string, double>& references) {
  fmt::print("{:<32} {} thread{} {:>9.4f} ms a step", name, threads, threads == 1 ? " " : "s",
             milliseconds);
  const auto found = references.find(fmt::format("{}/{}", name, threads));
  if (found != references.end())
    fmt::print("   reference {:>9.4f}   ratio {:.2f}", found->second, milliseconds / found->second);
  fmt::print("\n");
}

}  // namespace whorl::bench
