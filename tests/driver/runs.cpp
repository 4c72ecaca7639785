#include "runs.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace whorl::testing {

namespace {

const char* const small = R"(
format_version: 1
experiment: "a small Gaussian"
targets { gaussian { dimension: 3 mean: 1 correlated: 0.6 seed: 4 smallest_sd: 0.3 } gradient_noise: 0.5 }
sampler { name: "sghmc" settings { name: "friction" value: 2 } }
run {
  chains: 5 steps: 400 burn_in: 30 thin: 2 seed: 1
  step_size { constant: 0.1 }
  position { uniform { low: 0 high: 6 } }
}
)";

const char* const training = R"(
format_version: 1
experiment: "small training"
targets { gaussian { dimension: 2 mean: 1 diagonal: 1 seed: 3 smallest_sd: 0.2 } count: 2 }
training {
  start {
    curl { hidden: 4 activation: "relu" inputs { name: "energy" } inputs { name: "momentum" } low: -5 high: 5 }
    diffusion { hidden: 4 activation: "relu" inputs { name: "energy" } inputs { name: "momentum" } inputs { name: "gradient" } transform: "softplus" low: 0 high: 5 }
    c: 0.1
  }
  epochs: 5 rollouts: 3 steps: 8 truncate: 4
  cross_chain { every: 2 ridge: 0.03 }
  chains: 6 seed: 2 step_size: 0.05
  position { uniform { low: 0 high: 2 } }
}
)";

}  // namespace

const std::string Runs::sample =
    "sample small.pbtxt --checkpoint-every 0.000001s --threads 1 --quiet --out ";
const std::string Runs::train =
    "train training.pbtxt --checkpoint-every 0.000001s --threads 1 --quiet --out ";
const std::vector<std::pair<std::string, std::string>> Runs::clock{
    {"SOURCE_DATE_EPOCH", "1700000000"}};

Runs::Runs() {
  directory.write("small.pbtxt", small);
  directory.write("training.pbtxt", training);
}

std::vector<std::string> Runs::words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> all;
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

Outcome Runs::call(const std::string& text,
                   const std::vector<std::pair<std::string, std::string>>& environment) const {
  auto all = clock;
  all.insert(all.end(), environment.begin(), environment.end());
  return run(words(text), all);
}

int Runs::interrupted(const std::string& text, int signal, int microseconds) const {
  const std::vector<std::string> all = words(text);
  std::vector<char*> arguments{const_cast<char*>("whorl")};
  for (const std::string& word : all) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::string where = directory.path();
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::setenv(clock[0].first.c_str(), clock[0].second.c_str(), 1);
    if (::chdir(where.c_str()) == 0) ::execv(WHORL_BINARY, arguments.data());
    ::_exit(96);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  int status = 0;
  pid_t ended = 0;
  while (ended == 0 && std::chrono::steady_clock::now() < end) {
    ::usleep(200);
    ended = ::waitpid(child, &status, WNOHANG);
  }
  if (ended == 0) {
    ::kill(child, signal);
    ::waitpid(child, &status, 0);
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string Runs::next_call(const std::string& begin, const std::string& run) const {
  return std::filesystem::exists(directory / (run + "/config.pbtxt"))
             ? "resume " + run + " --threads 2 --quiet"
             : begin + run + " --overwrite";
}

std::map<std::string, std::string> Runs::files(const std::string& run) const {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> found;
  const fs::path root = directory / run;
  std::error_code fault;
  for (fs::recursive_directory_iterator at(root, fault), end; at != end; at.increment(fault)) {
    const std::string name = fs::relative(at->path(), root);
    if (at->is_regular_file() && name != "events.jsonl" && name != "run.lock")
      found[name] = directory.read(run + "/" + name);
  }
  return found;
}

std::string Runs::differences(const std::map<std::string, std::string>& a,
                              const std::map<std::string, std::string>& b) {
  std::string names;
  for (const auto& [name, bytes] : a)
    if (const auto other = b.find(name); other == b.end() || other->second != bytes)
      names += name + " ";
  for (const auto& [name, bytes] : b)
    if (!a.contains(name)) names += name + " ";
  return names;
}

int wanted(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::atoi(value);
}

}  // namespace whorl::testing
