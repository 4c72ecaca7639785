#include "program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "data/npy.hpp"
#include "storage/draws_file.hpp"

namespace whorl::testing {

Tensor Program::draws(std::string_view run, std::string_view parameter) const {
  const DrawsReader reader(directory / (std::string(run) + "/draws.nc"));
  const DrawsLayout& layout = reader.layout();
  std::size_t p = 0;
  while (layout.parameters.at(p).name != parameter) ++p;
  Tensor all({DType::f64,
              layout.parameters[p].shape.with_front(reader.draws()).with_front(layout.chains)});
  auto* place = all.data<double>();
  for (std::int64_t chain = 0; chain < layout.chains; ++chain) {
    const std::vector<double> path = reader.read_chain(p, chain);
    place = std::copy(path.begin(), path.end(), place);
  }
  return all;
}

const char* const logistic_regression = R"(
format_version: 1
inputs { name: "x" type: "f32[4,2]" }
inputs { name: "y" type: "f32[4]" }
inputs { name: "w" type: "f32[2]" role: "parameter" }
inputs { name: "b" type: "f32[]" role: "parameter" }
nodes { name: "scores" op: "matmul" inputs: "x" inputs: "w" }
nodes { name: "logits" op: "add" inputs: "scores" inputs: "b" }
nodes { name: "losses" op: "bernoulli_cross_entropy" inputs: "logits" inputs: "y" }
nodes { name: "misfit" op: "sum" inputs: "losses" }
nodes { name: "w2" op: "square" inputs: "w" }
nodes { name: "size" op: "sum" inputs: "w2" }
nodes { name: "half" op: "fill" attr { name: "shape" } attr { name: "value" f: 0.5 } }
nodes { name: "prior" op: "mul" inputs: "half" inputs: "size" }
nodes { name: "U" op: "add" inputs: "misfit" inputs: "prior" }
outputs { name: "U" }
)";

namespace {

[[noreturn]] void start(const std::string& directory, const std::vector<std::string>& words,
                        const std::vector<std::pair<std::string, std::string>>& environment,
                        const std::string& standard_output) {
  std::string program = WHORL_BINARY;
  std::vector<char*> arguments{program.data()};
  std::vector<std::string> copies = words;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (::chdir(directory.c_str()) != 0) ::_exit(99);
  const int err = ::open("err.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(err, STDERR_FILENO);
  ::close(STDOUT_FILENO);
  if (!standard_output.empty()) {
    const int out = ::open(standard_output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out != STDOUT_FILENO) ::dup2(out, STDOUT_FILENO);
  }
  ::execv(program.c_str(), arguments.data());
  ::_exit(98);
}

}  // namespace

Outcome Program::run(const std::vector<std::string>& words,
                     const std::vector<std::pair<std::string, std::string>>& environment,
                     const std::string& standard_output) const {
  const pid_t child = ::fork();
  if (child == 0) start(directory.path(), words, environment, standard_output);
  int status = 0;
  ::waitpid(child, &status, 0);
  Outcome outcome;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = directory.read("out.txt");
  outcome.err = directory.read("err.txt");
  return outcome;
}

Outcome Program::operator()(const std::string& words) const {
  std::istringstream stream(words);
  std::vector<std::string> list;
  for (std::string word; stream >> word;) list.push_back(word);
  return run(list);
}

std::string Program::error(const std::string& words) const {
  const Outcome outcome = (*this)(words);
  std::string text = outcome.err;
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return fmt::format("{}: {}{}", outcome.code, text, outcome.out);
}

void Program::npy(std::string_view name, const Tensor& tensor) const {
  save_npy(directory / name, tensor);
}

Tensor Program::npy(std::string_view name) const { return load_npy(directory / name); }

void write_regression(const Program& program) {
  program.directory.write("energy.pbtxt", logistic_regression);
  program.npy("x.npy", Tensor::of<float>({4, 2}, {1, 0, 0, 1, 1, 1, -1, 2}));
  program.npy("y.npy", Tensor::of<float>({4}, {1, 0, 1, 0}));
  program.npy("w.npy", Tensor({DType::f32, {2}}));
  program.npy("b.npy", Tensor({DType::f32, {}}));
}

}  // namespace whorl::testing
