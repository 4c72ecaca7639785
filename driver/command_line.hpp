// CommandLine: what a subcommand accepts, and what a user gave it.
//
// A Command is data: its options are listed once, and parsing, help and the offer of the nearest
// name for a misspelt one come from that list. Every mistake is a usage Error.
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace whorl::driver {

struct Option {
  std::string_view name;   // without dashes
  std::string_view value;  // how help calls its value; "" for a switch
  std::string_view help;
  char letter = '\0';
  bool repeated = false;
};

struct Command;
class Output;

class Arguments {
 public:
  // Throws a usage Error that offers the nearest option.
  static Arguments parse(const Command& command, const std::vector<std::string>& words);

  std::string_view command() const { return command_; }
  const std::vector<std::string>& positional() const { return positional_; }
  bool has(std::string_view option) const { return values_.contains(option); }
  // Of an option that was given once; "" when it was not.
  std::string text(std::string_view option) const;
  // All values of a repeated option.
  std::vector<std::string> texts(std::string_view option) const;
  // A whole number in [low, high]. `otherwise` is the caller's to check.
  std::int64_t integer(std::string_view option, std::int64_t otherwise, std::int64_t low,
                       std::int64_t high) const;
  std::uint64_t seed() const;          // --seed, 0 when it was not given
  int threads() const;                 // --threads; never 0: all cores when that is meant
  std::int64_t memory_budget() const;  // --memory-budget, or what the machine has
  // The values of a repeated option as NAME=FILE; FILE is "" where '=' is missing.
  std::vector<std::pair<std::string, std::string>> assignments(std::string_view option) const;

 private:
  std::string command_;
  std::vector<std::string> positional_;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

struct Command {
  std::string_view name;
  // Such as GRAPH; the last one may be "DIR...", which is one or more.
  std::vector<std::string_view> arguments;
  std::size_t required;      // how many of them must be given
  std::string_view summary;  // one line, for the list of commands
  std::string_view details;  // a paragraph for its own help
  std::string_view example;
  std::vector<Option> options;
  void (*run)(const Arguments&, Output&);
};

// The parts of a text between separators; as many as there are separators, and one more.
std::vector<std::string> split(std::string_view text, char separator);

std::string synopsis(const Command& command);  // "ops [NAME]"
std::string help_of(const Command& command);

// The options that several commands share.
inline constexpr Option threads_option{"threads", "N",
                                       "threads to run on; 0 (the default) means all cores"};
inline constexpr Option budget_option{
    "memory-budget", "SIZE", "refuse what needs more, as in 500M or 2G (default: all memory)"};
inline constexpr Option with_option{"with", "NAME=VALUE",
                                    "any setting of the experiment by its path, as in run.chains=8",
                                    '\0', true};
inline constexpr Option max_time_option{
    "max-time", "TIME", "end after that, as in 90s, 15m or 2h; the earlier parts of a run count"};
inline constexpr Option checkpoint_option{"checkpoint-every", "TIME",
                                          "from one checkpoint to the next (default 30s)"};
constexpr Option quiet_option(std::string_view help) { return {"quiet", "", help}; }
inline constexpr Option json_option{"json", "", "print the result as JSON"};

}  // namespace whorl::driver
