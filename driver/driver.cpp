#include "driver/driver.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "driver/commands.hpp"
#include "driver/interruption.hpp"
#include "engine/attributes.hpp"
#include "engine/compile.hpp"
#include "engine/error.hpp"
#include "engine/kernels/blas.hpp"
#include "graphs/graph_file.hpp"

namespace whorl::driver {

namespace {

std::string main_help() {
  std::string text =
      "whorl COMMAND [arguments] [options] learns, runs and checks samplers; all are graphs.\n"
      "whorl COMMAND --help tells more about one of them, whorl --version the version.\n\n"
      "Commands:\n";
  for (const Command& command : all_commands())
    text += fmt::format("  {:<17} {}\n", synopsis(command), command.summary);
  return text +
         "\nExample: learn a sampler, draw with it, look at what came out\n"
         "  whorl train graphs/experiments/gaussian.pbtxt --out runs/g\n"
         "  whorl sample energy.pbtxt --data d.csv --sampler runs/g/sampler.pbtxt --out runs/t\n"
         "  whorl summary runs/t\n\n"
         "Exit codes: 0 done, 1 a bug in Whorl, 2 usage, 3 graph, 4 data, 5 checkpoint, 6 input "
         "or\n"
         "output, 7 not finite, 8 out of memory, 129, 130 and 143 stopped by a signal after "
         "saving\n";
}

const Command& find_command(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Command& command : all_commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  if (name.starts_with("-"))
    fail(ErrorKind::usage, "whorl", "option '{}' before the command; options follow it", name);
  const std::string nearest = did_you_mean(name, names);
  if (nearest.empty())
    fail(ErrorKind::usage, "whorl", "unknown command '{}'; expected one of: {}; see 'whorl --help'",
         name, fmt::join(names, ", "));
  fail(ErrorKind::usage, "whorl", "unknown command '{}'{}; see 'whorl --help'", name, nearest);
}

void run_words(const std::vector<std::string>& words, Output& output) {
  if (words.empty()) fail(ErrorKind::usage, "whorl", "a command is missing; see 'whorl --help'");
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help")
    return output.write(words.size() == 1 ? main_help() : help_of(find_command(words[1])));
  if (words[0] == "--version")
    return output.print("whorl {}, graph format {}, {}\n", WHORL_VERSION, graph_format_version,
                        blas_description());
  const Command& command = find_command(words[0]);
  const Arguments arguments = Arguments::parse(command, {words.begin() + 1, words.end()});
  if (arguments.has("help")) return output.write(help_of(command));
  output.quiet = arguments.has("quiet");
  command.run(arguments, output);
}

// Errors are one line, whatever a file name or a foreign exception brings along.
int report(std::string_view text, int code) {
  const std::string line = printable(text) + '\n';
  // Where standard error is closed, the exit code has to do.
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return code;
  return code;
}

// A file that is opened while standard output is closed would take its number and get its text.
void fill_standard_descriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    // Read-only, so that a write is still an error.
    if (::fcntl(descriptor, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) < 0) return;
}

}  // namespace

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands{check_command(),  show_command(),    run_command(),
                                             grad_command(),   train_command(),   sample_command(),
                                             resume_command(), predict_command(), summary_command(),
                                             table_command(),  report_command(),  ops_command()};
  return commands;
}

Graph load_with_notes(const Arguments& arguments, const Output& output) {
  LoadReport found;
  LoadOptions options;
  options.report = &found;
  Graph graph = load_graph(arguments.positional()[0], options);
  for (const std::string& warning : found.warnings) output.note(warning);
  return graph;
}

std::shared_ptr<const Plan> compile_within_budget(const Graph& graph, const Arguments& arguments,
                                                  std::int64_t feed_bytes) {
  auto plan = compile(graph);
  const int threads = arguments.threads();
  const std::int64_t bytes = plan->memory_bytes(threads) + feed_bytes;
  const std::int64_t budget = arguments.memory_budget();
  if (bytes > budget)
    fail(ErrorKind::memory, arguments.command(),
         "the plan{} {} bytes on {} thread{}, the budget is {}",
         feed_bytes > 0 ? " and the random feeds need" : " needs", bytes, threads,
         threads == 1 ? "" : "s", budget);
  return plan;
}

void override_environment(const Output& output) {
  for (const char* name : {"MKL_NUM_THREADS", "OMP_NUM_THREADS", "MKL_CBWR"}) {
    if (::getenv(name) == nullptr) continue;
    ::unsetenv(name);
    output.note(fmt::format("{} is set and was ignored: Whorl decides this itself", name));
  }
}

NodeId named_node(const Graph& graph, std::string_view where, std::string_view option,
                  std::string_view name) {
  for (const Graph::Output& output : graph.outputs())
    if (output.name == name) return output.node;
  if (const auto node = graph.find(name)) return *node;
  std::vector<std::string_view> names;
  for (const Graph::Output& output : graph.outputs()) names.push_back(output.name);
  for (NodeId id = 0; id < graph.size(); ++id)
    if (!graph.name(id).empty()) names.push_back(graph.name(id));
  fail(ErrorKind::usage, where, "{}: the graph has no output or node '{}'{}", option, name,
       did_you_mean(name, names));
}

int run_driver(int argc, char** argv) {
  // What these would kill us for comes back as an error of write(), and files are tidied up.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  fill_standard_descriptors();
  try {
    Output output;
    std::vector<std::string> words(argv, argv + argc);
    if (!words.empty()) words.erase(words.begin());
    run_words(words, output);
    output.flush();
    return EXIT_SUCCESS;
  } catch (const Error& error) {
    const int code = error.kind() == ErrorKind::cancelled && Interruption::signal() != 0
                         ? 128 + Interruption::signal()
                         : exit_code(error.kind());
    return report(error.what(), code);
  } catch (const std::bad_alloc&) {
    return report("[memory] the machine has no more memory to give", exit_code(ErrorKind::memory));
  } catch (const std::exception& error) {
    return report(fmt::format("[internal] {}; please report this as a bug", error.what()),
                  exit_code(ErrorKind::internal));
  }
}

}  // namespace whorl::driver
