#include "graphs/file/external.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "graphs/file/descriptor.hpp"
#include "graphs/graph.pb.h"

namespace whorl::graphs {

namespace {

std::vector<std::string> components_of(const std::string& path) {
  if (path.empty()) graph_error("external", "the external path is empty");
  if (path.find('\0') != std::string::npos || !is_utf8(path))
    graph_error("external", "the external path has a byte that is not text");
  if (path.front() == '/') graph_error("external", "external path '{}' is absolute", path);
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  for (const std::string& part : parts) {
    if (part == "..") graph_error("external", "external path '{}' has '..'", path);
    if (part.empty() || part == ".")
      graph_error("external", "external path '{}' has an empty part or '.'", path);
  }
  return parts;
}

// Opens one part after the other, each relative to the directory before it. Without "..", absolute
// parts and symbolic links there is no way out, and a race with somebody who renames can change
// which file beneath is read, but not that it is beneath.
Descriptor open_beneath(const std::filesystem::path& directory, const std::string& path) {
  const auto parts = components_of(path);
  Descriptor at(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at)
    graph_error("external", "the graph's directory cannot be opened: {}", std::strerror(errno));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    struct stat status {};
    if (::fstatat(at.number(), parts[i].c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      graph_error("external", "external path '{}' cannot be opened: {}", path,
                  std::strerror(errno));
    if (S_ISLNK(status.st_mode))
      graph_error("external", "external path '{}' goes through a symbolic link", path);
    const bool last = i + 1 == parts.size();
    // Before it is opened: opening a device can have effects.
    if (last && !S_ISREG(status.st_mode))
      graph_error("external", "external path '{}' is not a regular file", path);
    const int flags =
        O_NOFOLLOW | O_CLOEXEC | (last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY);
    Descriptor next(::openat(at.number(), parts[i].c_str(), flags));
    if (!next)
      graph_error("external", "external path '{}' cannot be opened: {}", path,
                  std::strerror(errno));
    at = std::move(next);
  }
  return at;
}

std::string read_range(const Descriptor& file, const std::string& path, std::int64_t offset,
                       std::int64_t length) {
  std::string bytes(static_cast<std::size_t>(length), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(file.number(), bytes.data() + have, bytes.size() - have,
                                offset + static_cast<std::int64_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      graph_error("external", "external file '{}' cannot be read: {}", path,
                  got == 0 ? "it became shorter" : std::strerror(errno));
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

std::string read_external(const file::External& message, std::int64_t wanted,
                          const Source& source) {
  const std::string& path = message.path();
  if (source.directory.empty())
    graph_error("external", "external path '{}' is refused: the graph must be whole without other files",
                path);
  const std::int64_t offset = message.offset();
  const std::int64_t length = message.has_length() ? message.length() : wanted;
  if (offset < 0) graph_error("external", "external offset {} is negative", offset);
  if (length < 0) graph_error("external", "external length {} is negative", length);
  if (length != wanted)
    graph_error("external", "external length is {} bytes, but the type needs {}", length, wanted);
  const Descriptor file = open_beneath(source.directory, path);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0)
    graph_error("external", "external path '{}' cannot be read: {}", path, std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    graph_error("external", "external path '{}' is not a regular file", path);
  if (status.st_nlink > 1)
    graph_error("external", "external path '{}' is a hard link: it has {} names", path,
                static_cast<std::uint64_t>(status.st_nlink));
  if (offset > status.st_size || length > status.st_size - offset)
    graph_error("external", "external file '{}' has {} bytes, too few for {} bytes from offset {}",
                path, static_cast<std::int64_t>(status.st_size), length, offset);
  return read_range(file, path, offset, length);
}

}  // namespace whorl::graphs
