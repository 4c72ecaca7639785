// Small runs of `sample` and `train`, and what they leave, for tests that disturb them.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "program.hpp"

namespace whorl::testing {

struct Runs : Program {
  Runs();  // writes small.pbtxt, a target of 3 dimensions, and training.pbtxt

  // Small enough to be made hundreds of times; a checkpoint after every few steps.
  static const std::string sample, train;
  // Files are then the same from run to run.
  static const std::vector<std::pair<std::string, std::string>> clock;

  // The words of a call, at blanks.
  static std::vector<std::string> words(const std::string& text);
  Outcome call(const std::string& text,
               const std::vector<std::pair<std::string, std::string>>& environment = {}) const;
  // Starts the program and kills it, or sends another signal, after so many microseconds; the exit
  // code is 128 + the signal where it died by it.
  int interrupted(const std::string& text, int signal, int microseconds) const;
  // How the run in a directory is brought to its end: taken up, or begun again where it had not
  // come so far as to be one.
  std::string next_call(const std::string& begin, const std::string& run) const;

  // The content of every file of a run but those that depend on the clock, by name.
  std::map<std::string, std::string> files(const std::string& run) const;
  // The names of files that differ, or are in one only.
  static std::string differences(const std::map<std::string, std::string>& a,
                                 const std::map<std::string, std::string>& b);
};

// A number from the environment, such as WHORL_KILLS, for longer tests than the usual ones.
int wanted(const char* variable, int otherwise);

}  // namespace whorl::testing
