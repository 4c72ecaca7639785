#include "driver/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>

#include "data/npy.hpp"
#include "driver/json.hpp"
#include "engine/file.hpp"
#include "engine/role.hpp"
#include "graphs/graph_file.hpp"

namespace whorl::driver {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const fs::path& path, std::string_view why) {
  fail(ErrorKind::io, "run", "{}: cannot be written: {}", path.string(), why);
}

bool is_earlier_run(const fs::path& path) {
  try {
    load_experiment(path / "config.pbtxt");
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The parameters of the earlier run in a directory, as far as it tells.
std::vector<std::string> earlier_parameters(const fs::path& path) {
  std::error_code fault;
  if (!fs::exists(path / "energy.pb", fault)) return {"theta"};  // a Gaussian's, or of a training
  std::vector<std::string> names;
  try {
    const Graph graph = load_graph(path / "energy.pb");
    for (NodeId id : graph.input_nodes())
      if (is_parameter(graph, id)) names.emplace_back(graph.name(id));
  } catch (const Error&) {
    return {};
  }
  return names;
}

// What an earlier run left; nothing else in a directory is ours to remove.
void remove_earlier_run(const fs::path& path) {
  const auto remove = [](const fs::path& file) {
    std::error_code fault;
    fs::remove(file, fault);
    if (fault) cannot_write(file, fault.message());
  };
  for (const std::string& parameter : earlier_parameters(path))
    remove(path / "draws" / draw_file_name(parameter));
  std::error_code fault;
  if (fs::is_empty(path / "draws", fault) && !fault) remove(path / "draws");
  for (const char* name : {"energy.pb", "sampler.pbtxt", "metrics.jsonl", "config.pbtxt"})
    remove(path / name);
}

// A parameter's columns of the draws [chains, draws, n], as [chains, draws, shape...].
Tensor part_of(const Tensor& draws, const Parameter& parameter) {
  const std::int64_t rows = draws.shape()[0] * draws.shape()[1], n = draws.shape()[2];
  const std::int64_t size = parameter.shape.elements();
  const auto bytes = static_cast<std::int64_t>(size_of(draws.dtype()));
  Tensor part(
      {draws.dtype(), parameter.shape.with_front(draws.shape()[1]).with_front(draws.shape()[0])});
  const auto* from = static_cast<const std::byte*>(draws.raw()) + parameter.offset * bytes;
  auto* to = static_cast<std::byte*>(part.raw());
  for (std::int64_t row = 0; row < rows && size > 0; ++row)
    std::memcpy(to + row * size * bytes, from + row * n * bytes,
                static_cast<std::size_t>(size * bytes));
  return part;
}

// Opens and locks a directory; the lock ends with the process, however that ends.
int lock_directory(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) fail(ErrorKind::io, "run", "--out {}: {}", path.string(), std::strerror(errno));
  // Where the file system has no locks, there is none.
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(file);
    fail(ErrorKind::usage, "run", "--out {}: another run is writing to this directory",
         path.string());
  }
  return file;
}

}  // namespace

RunDirectory::RunDirectory(fs::path path, bool overwrite) : path_(std::move(path)) {
  std::error_code fault;
  made_ = fs::create_directories(path_, fault);
  if (fault) fail(ErrorKind::io, "run", "--out {}: {}", path_.string(), fault.message());
  const bool empty = fs::is_empty(path_, fault);
  if (fault) fail(ErrorKind::io, "run", "--out {}: {}", path_.string(), fault.message());
  if (!empty && !overwrite)
    fail(ErrorKind::usage, "run",
         "--out {}: the directory is not empty; choose another, or give --overwrite",
         path_.string());
  if (!empty && !is_earlier_run(path_))
    fail(ErrorKind::usage, "run",
         "--out {}: the directory is not that of an earlier run: it has no config.pbtxt that is an "
         "experiment; choose another",
         path_.string());
  if (::access(path_.c_str(), W_OK | X_OK) != 0) cannot_write(path_, std::strerror(errno));
  lock_ = lock_directory(path_);
}

RunDirectory::~RunDirectory() {
  std::error_code fault;
  if (made_ && !begun_) fs::remove(path_, fault);
  ::close(lock_);
}

void RunDirectory::begin() {
  begun_ = true;
  remove_earlier_run(path_);
  metrics_.open(path_ / "metrics.jsonl");
  if (!metrics_) cannot_write(path_ / "metrics.jsonl", std::strerror(errno));
}

void RunDirectory::write(const std::string& name, std::string_view text) {
  write_file("run", (path_ / name).string(), text);
}

void RunDirectory::add_metrics(std::string_view line) {
  metrics_ << line << std::flush;
  if (!metrics_) cannot_write(path_ / "metrics.jsonl", std::strerror(errno));
}

void RunDirectory::write_draws(const std::vector<Parameter>& parameters, const Tensor& draws) {
  std::error_code fault;
  fs::create_directory(path_ / "draws", fault);
  if (fault) cannot_write(path_ / "draws", fault.message());
  for (const Parameter& parameter : parameters)
    save_npy((path_ / "draws" / draw_file_name(parameter.name)).string(),
             part_of(draws, parameter));
}

std::string to_json_line(const Metrics& metrics) {
  std::string line = fmt::format("{{\"step\": {}, \"seconds\": {:.6g}, \"energy\": {}",
                                 metrics.step, metrics.seconds, json_number(metrics.energy));
  if (metrics.temperature)
    line += fmt::format(", \"temperature\": {}", json_number(*metrics.temperature));
  if (metrics.kl) line += fmt::format(", \"kl\": {}", json_number(*metrics.kl));
  return line + "}\n";
}

std::string draw_file_name(std::string_view parameter) {
  std::string name;
  for (char c : parameter) {
    if (c == '/') {
      name += "%2F";
    } else {
      name += c;
    }
  }
  return name + ".npy";
}

}  // namespace whorl::driver
