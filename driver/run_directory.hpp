// RunDirectory: what a run of a sampler leaves behind.
//
//   config.pbtxt         the experiment with all its settings, to be run again
//   energy.pb            the energy, when the target is a graph
//   sampler.pbtxt        the sampler, when it is from a file
//   metrics.jsonl        one JSON object a line: step, seconds, energy, temperature, kl
//   draws/NAME.npy       the draws of a parameter, [chains, draws, ...]
//
// All but metrics.jsonl, which grows line by line, appear complete or not at all. The directory is
// locked as long as the object lives, so that no two runs share one.
// Thread safety: for one thread.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "driver/sampling.hpp"

namespace whorl::driver {

class RunDirectory {
 public:
  // Makes the directory, and the ones above it, and sees whether files can be written there. One
  // that is not empty is refused unless `overwrite` is given, one where another run is at work
  // always. Throws a usage or io Error.
  RunDirectory(std::filesystem::path path, bool overwrite);
  // A directory that was made for a run that never began is removed.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  // Before anything is written: removes the files of an earlier run. What can fail before a run
  // begins has failed by then, so the earlier run is not lost for nothing.
  void begin();
  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, std::string_view text);
  // One line of JSON for metrics.jsonl, with its newline.
  void add_metrics(std::string_view line);
  // `draws` is [chains, draws, n].
  void write_draws(const std::vector<Parameter>& parameters, const Tensor& draws);

 private:
  std::filesystem::path path_;
  bool made_ = false, begun_ = false;
  int lock_ = -1;  // the directory, open
  std::ofstream metrics_;
};

// {"step": 100, "seconds": 0.5, "energy": 12.5, "temperature": 1.01, "kl": 0.2}
std::string to_json_line(const Metrics& metrics);
// The name of a parameter's file: "/" is written as "%2F".
std::string draw_file_name(std::string_view parameter);

}  // namespace whorl::driver
