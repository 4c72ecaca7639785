#include "driver/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <thread>

#include "engine/attributes.hpp"
#include "engine/error.hpp"

namespace whorl::driver {

namespace {

namespace po = boost::program_options;

constexpr std::string_view rest = "rest";  // the name under which positional words are collected

template <class... Args>
[[noreturn]] void usage_error(std::string_view where, fmt::format_string<Args...> format,
                              Args&&... args) {
  throw Error(ErrorKind::usage, where, fmt::format(format, std::forward<Args>(args)...));
}

std::vector<Option> with_help(std::vector<Option> options) {
  options.push_back({"help", "", "this text", 'h'});
  return options;
}

po::options_description describe(const std::vector<Option>& options) {
  po::options_description description;
  for (const Option& option : options) {
    std::string names(option.name);
    if (option.letter != '\0') names += fmt::format(",{}", option.letter);
    if (option.value.empty()) {
      description.add_options()(names.c_str(), "");
    } else {
      description.add_options()(names.c_str(), po::value<std::vector<std::string>>(), "");
    }
  }
  description.add_options()(std::string(rest).c_str(), po::value<std::vector<std::string>>(), "");
  return description;
}

std::string dashed(const Option& option) {
  return option.letter == '\0' ? fmt::format("--{}", option.name)
                               : fmt::format("-{}, --{}", option.letter, option.name);
}

[[noreturn]] void unknown_option(const Command& command, const std::string& found) {
  std::vector<std::string> names;
  for (const Option& option : with_help(command.options))
    names.push_back(fmt::format("--{}", option.name));
  // One that is only cut short is meant, however much is missing.
  const auto longer = [&](const std::string& name) { return name.starts_with(found); };
  if (found.size() > 2 && std::count_if(names.begin(), names.end(), longer) == 1)
    usage_error(command.name, "unknown option '{}', did you mean '{}'?; see 'whorl {} --help'",
                found, *std::find_if(names.begin(), names.end(), longer), command.name);
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  usage_error(command.name, "unknown option '{}'{}; see 'whorl {} --help'", found,
              did_you_mean(found, candidates), command.name);
}

// Boost's parse, with its exceptions put into our words.
std::vector<po::option> parse_words(const Command& command, const std::vector<std::string>& words) {
  using Style = po::command_line_style::style_t;
  const int style = Style::allow_long | Style::long_allow_adjacent | Style::long_allow_next |
                    Style::allow_short | Style::allow_dash_for_short | Style::short_allow_adjacent |
                    Style::short_allow_next;
  const po::options_description description = describe(with_help(command.options));
  const po::positional_options_description positional =
      po::positional_options_description().add(std::string(rest).c_str(), -1);
  try {
    return po::command_line_parser(words)
        .options(description)
        .positional(positional)
        .style(style)
        .run()
        .options;
  } catch (const po::unknown_option& error) {
    unknown_option(command, error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    using Kind = po::invalid_syntax::kind_t;
    const bool extra = error.kind() == Kind::extra_parameter;
    usage_error(command.name, "option '{}' {} a value", error.get_option_name(),
                extra ? "does not take" : "needs");
  } catch (const po::error& error) {
    usage_error(command.name, "{}", error.what());
  }
}

// "DIR" of "DIR..."
std::string_view single(std::string_view argument) {
  return argument.substr(0, argument.find("..."));
}

void check_positional(const Command& command, const std::vector<std::string>& found) {
  if (found.size() < command.required)
    usage_error(command.name, "{} is missing; as in: {}", single(command.arguments[found.size()]),
                command.example);
  const bool any_number = !command.arguments.empty() && command.arguments.back().ends_with("...");
  for (std::size_t i = 0; i < found.size() && (i < command.required || any_number); ++i)
    if (found[i].empty())
      usage_error(command.name, "{}: the file name is empty",
                  single(command.arguments[std::min(i, command.arguments.size() - 1)]));
  if (found.size() <= command.arguments.size() || any_number) return;
  const std::string& extra = found[command.arguments.size()];
  const bool feeds = std::any_of(command.options.begin(), command.options.end(),
                                 [](const Option& option) { return option.name == "feed"; });
  if (feeds && extra.find('=') != std::string::npos)
    usage_error(command.name,
                "unexpected argument '{}': every file has its own option, as in "
                "--feed {}",
                extra, extra);
  usage_error(command.name, "unexpected argument '{}'; see 'whorl {} --help'", extra, command.name);
}

}  // namespace

Arguments Arguments::parse(const Command& command, const std::vector<std::string>& words) {
  Arguments arguments;
  arguments.command_ = command.name;
  const std::vector<Option> options = with_help(command.options);
  for (const po::option& found : parse_words(command, words)) {
    if (found.string_key == rest) {
      if (found.position_key < 0) unknown_option(command, fmt::format("--{}", rest));
      arguments.positional_.insert(arguments.positional_.end(), found.value.begin(),
                                   found.value.end());
      continue;
    }
    const auto option = std::find_if(options.begin(), options.end(), [&](const Option& candidate) {
      return candidate.name == found.string_key ||
             found.string_key == std::string{'-', candidate.letter};
    });
    if (option == options.end()) unknown_option(command, found.string_key);
    auto& values = arguments.values_[std::string(option->name)];
    if (!values.empty() && !option->repeated)
      usage_error(command.name, "option '--{}' is given twice", option->name);
    values.push_back(found.value.empty() ? "" : found.value.front());
    // Nobody means the next option as a value, though Boost would take it.
    if (values.back().starts_with("--"))
      usage_error(command.name, "option '--{}' needs a value", option->name);
    if (option->value == "FILE" && values.back().empty())
      usage_error(command.name, "--{}: the file name is empty", option->name);
  }
  // Help is also for those who do not know yet what to give.
  if (!arguments.has("help")) check_positional(command, arguments.positional_);
  return arguments;
}

std::string Arguments::text(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::string{} : found->second.front();
}

std::vector<std::string> Arguments::texts(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::int64_t Arguments::integer(std::string_view option, std::int64_t otherwise, std::int64_t low,
                                std::int64_t high) const {
  if (!has(option)) return otherwise;
  const std::string word = text(option);
  std::int64_t value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end)
    usage_error(command_, "--{} is not a whole number: '{}'", option, word);
  if (error == std::errc::result_out_of_range || value < low || value > high)
    usage_error(command_, "--{} is out of range: {}; expected {} to {}", option, word, low, high);
  return value;
}

std::uint64_t Arguments::seed() const {
  if (!has("seed")) return 0;
  const std::string word = text("seed");
  std::uint64_t value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || stop != end)
    usage_error(command_, "--seed is not a whole number from 0 to 2^64-1: '{}'", word);
  return value;
}

int Arguments::threads() const {
  // The number is 0 where the system does not tell.
  const auto cores = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  const std::int64_t wanted = integer("threads", 0, 0, 4 * cores);
  return static_cast<int>(wanted == 0 ? cores : wanted);
}

std::int64_t Arguments::memory_budget() const {
  const std::int64_t machine = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                               static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  if (!has("memory-budget")) return machine;
  const std::string word = text("memory-budget");
  std::int64_t value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (error != std::errc{} || shift < 0 || value < 1 || value > (machine >> shift))
    usage_error(command_,
                "--memory-budget is '{}'; expected bytes with K, M, G or nothing behind, from 1 to "
                "the machine's {}",
                word, machine);
  return value << shift;
}

std::vector<std::pair<std::string, std::string>> Arguments::assignments(
    std::string_view option) const {
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string& word : texts(option)) {
    const std::size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    if (name.empty()) usage_error(command_, "--{} '{}' has no name before '='", option, word);
    for (const auto& [earlier, file] : result)
      if (earlier == name) usage_error(command_, "--{} names '{}' twice", option, name);
    if (equals + 1 == word.size())
      usage_error(command_, "--{} '{}' has nothing after '='", option, word);
    result.emplace_back(std::move(name),
                        equals == std::string::npos ? "" : word.substr(equals + 1));
  }
  return result;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string synopsis(const Command& command) {
  std::string text(command.name);
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const std::string_view argument = command.arguments[i];
    text += i < command.required ? fmt::format(" {}", argument) : fmt::format(" [{}]", argument);
  }
  return text;
}

std::string help_of(const Command& command) {
  std::string text =
      fmt::format("whorl {} [options]\n\n{}\n\nOptions:\n", synopsis(command), command.details);
  for (const Option& option : with_help(command.options)) {
    const std::string left =
        fmt::format("{}{}{}", dashed(option), option.value.empty() ? "" : " ", option.value);
    text += fmt::format("  {:<24} {}\n", left, option.help);
  }
  return text + fmt::format("\nExample:\n  {}\n", command.example);
}

}  // namespace whorl::driver
