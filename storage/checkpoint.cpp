#include "storage/checkpoint.hpp"

#include <xxhash.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/error.hpp"
#include "engine/file.hpp"

namespace whorl {

namespace {

constexpr std::string_view magic = "WHORLCKP", end_mark = "WHORLEND";
constexpr std::uint64_t most_entries = 1'000'000;

std::uint64_t checksum(const void* bytes, std::size_t size) { return XXH3_64bits(bytes, size); }

// Writes the part in front of the tensors' bytes.
class HeaderWriter {
 public:
  void word(std::uint64_t value) { text_.append(reinterpret_cast<const char*>(&value), 8); }
  void text(std::string_view value) {
    word(value.size());
    text_ += value;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string header_of(const Checkpoint& checkpoint) {
  HeaderWriter header;
  header.word(static_cast<std::uint64_t>(checkpoint.step));
  header.word(checkpoint.identity.size());
  for (const auto& [name, text] : checkpoint.identity) {
    header.text(name);
    header.text(text);
  }
  header.word(checkpoint.tensors.size());
  for (const auto& [name, tensor] : checkpoint.tensors) {
    header.text(name);
    header.word(static_cast<std::uint64_t>(tensor.dtype()));
    header.word(static_cast<std::uint64_t>(tensor.shape().rank()));
    for (int axis = 0; axis < tensor.shape().rank(); ++axis)
      header.word(static_cast<std::uint64_t>(tensor.shape()[axis]));
    header.word(checksum(tensor.raw(), static_cast<std::size_t>(tensor.bytes())));
  }
  return header.take();
}

// Reads words and texts that may be anything, and never beyond the end.
class HeaderReader {
 public:
  HeaderReader(const std::string& path, std::string_view bytes) : path_(path), rest_(bytes) {}

  template <class... Args>
  [[noreturn]] void damaged(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::checkpoint, "checkpoint", "{}: the file is damaged: {}", path_,
         fmt::format(format, std::forward<Args>(args)...));
  }
  std::uint64_t word() {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes(8).data(), 8);
    return value;
  }
  std::uint64_t count(std::string_view what, std::uint64_t most) {
    const std::uint64_t value = word();
    if (value > most) damaged("{} {}, expected at most {}", value, what, most);
    return value;
  }
  std::string text() { return std::string(bytes(word())); }
  std::string_view bytes(std::uint64_t size) {
    if (size > rest_.size()) damaged("it ends too early");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::size_t left() const { return rest_.size(); }

 private:
  const std::string& path_;
  std::string_view rest_;
};

struct Listed {
  std::string name;
  Type type;
  std::uint64_t sum = 0;
};

Listed read_entry(HeaderReader& header) {
  Listed entry;
  entry.name = header.text();
  const std::uint64_t dtype = header.word();
  if (dtype >= dtype_count)
    header.damaged("tensor '{}' has elements of the unknown kind {}", entry.name, dtype);
  std::vector<std::int64_t> sizes;
  for (std::uint64_t left = header.count("dimensions", Shape::max_rank); left > 0; --left)
    sizes.push_back(static_cast<std::int64_t>(header.word()));
  try {
    entry.type = {static_cast<DType>(dtype), Shape(sizes)};
  } catch (const Error& error) {
    header.damaged("tensor '{}': {}", entry.name, bare_text(error));
  }
  entry.sum = header.word();
  return entry;
}

std::string read_whole(const std::string& path) {
  InputFile file("checkpoint", path);
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  file.read(bytes.data(), file.size());
  file.check_unchanged();
  return bytes;
}

// The header's bytes, after magic, version, length and its own length have been found right.
std::string_view checked_header(const std::string& path, std::string_view bytes) {
  HeaderReader front(path, bytes);
  if (bytes.size() < magic.size() || bytes.substr(0, magic.size()) != magic)
    fail(ErrorKind::checkpoint, "checkpoint", "{}: this is not a checkpoint{}", path,
         bytes.empty() ? ": the file is empty" : "");
  front.bytes(magic.size());
  const std::uint64_t version = front.word();
  if (version > checkpoint_format_version)
    fail(ErrorKind::checkpoint, "checkpoint",
         "{}: its format is version {}, of a newer Whorl; this one knows version {}", path, version,
         checkpoint_format_version);
  if (version == 0) front.damaged("its format is version 0");
  if (const std::uint64_t length = front.word(); length != bytes.size())
    front.damaged("it has {} bytes, its beginning says {}", bytes.size(), length);
  const std::string_view header = front.bytes(front.word());
  if (front.word() != checksum(header.data(), header.size()))
    front.damaged("the checksum of its beginning is wrong");
  return header;
}

}  // namespace

const Tensor& Checkpoint::tensor(std::string_view name, const Type& type) const {
  const auto found = tensors.find(name);
  if (found == tensors.end())
    fail(ErrorKind::checkpoint, "checkpoint", "it has no '{}'; expected {}", name, to_string(type));
  if (found->second.type() != type)
    fail(ErrorKind::checkpoint, "checkpoint", "its '{}' is {}; expected {}", name,
         to_string(found->second.type()), to_string(type));
  return found->second;
}

std::vector<double> Checkpoint::numbers(std::string_view name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end() || found->second.dtype() != DType::f64)
    fail(ErrorKind::checkpoint, "checkpoint", "it has no '{}'; expected numbers in f64", name);
  const auto values = found->second.values<double>();
  return {values.begin(), values.end()};
}

double Checkpoint::number(std::string_view name) const {
  const std::vector<double> found = numbers(name);
  if (found.size() != 1)
    fail(ErrorKind::checkpoint, "checkpoint", "its '{}' has {} numbers; expected one", name,
         found.size());
  return found.front();
}

std::int64_t Checkpoint::count(std::string_view name, std::int64_t most) const {
  const double found = number(name);
  if (!(found >= 0 && found <= static_cast<double>(most)) || found != std::floor(found))
    fail(ErrorKind::checkpoint, "checkpoint", "its '{}' is {}; expected a whole number up to {}",
         name, found, most);
  return static_cast<std::int64_t>(found);
}

void Checkpoint::put(std::string name, std::span<const double> numbers) {
  tensors.insert_or_assign(std::move(name),
                           Tensor::from({DType::f64, {std::ssize(numbers)}}, numbers));
}

std::int64_t Checkpoint::bytes() const {
  std::int64_t all = 1000;
  for (const auto& [name, text] : identity) all += std::ssize(name) + std::ssize(text) + 16;
  for (const auto& [name, tensor] : tensors) all += tensor.bytes() + std::ssize(name) + 60;
  return all;
}

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  const std::string header = header_of(checkpoint);
  std::uint64_t length = magic.size() + 4 * 8 + header.size() + end_mark.size();
  for (const auto& [name, tensor] : checkpoint.tensors)
    length += static_cast<std::uint64_t>(tensor.bytes());
  HeaderWriter front;
  front.word(checkpoint_format_version);
  front.word(length);
  front.text(header);
  front.word(checksum(header.data(), header.size()));
  const std::string start = std::string(magic) + front.take();

  std::vector<std::span<const std::byte>> parts;
  const auto add = [&](const void* bytes, std::size_t size) {
    parts.emplace_back(static_cast<const std::byte*>(bytes), size);
  };
  add(start.data(), start.size());
  for (const auto& [name, tensor] : checkpoint.tensors)
    add(tensor.raw(), static_cast<std::size_t>(tensor.bytes()));
  add(end_mark.data(), end_mark.size());
  write_file("checkpoint", path, parts);
}

Checkpoint load_checkpoint(const std::string& path) {
  const std::string bytes = read_whole(path);
  const std::string_view header_bytes = checked_header(path, bytes);
  HeaderReader header(path, header_bytes);
  Checkpoint checkpoint;
  checkpoint.step =
      static_cast<std::int64_t>(header.count("steps", std::numeric_limits<std::int64_t>::max()));
  for (std::uint64_t left = header.count("texts", most_entries); left > 0; --left) {
    std::string name = header.text();
    checkpoint.identity.emplace_back(std::move(name), header.text());
  }
  std::vector<Listed> listed;
  for (std::uint64_t left = header.count("tensors", most_entries); left > 0; --left)
    listed.push_back(read_entry(header));
  if (header.left() > 0) header.damaged("its beginning has {} bytes too many", header.left());

  const auto begin = static_cast<std::size_t>(header_bytes.data() - bytes.data());
  HeaderReader rest(path, std::string_view(bytes).substr(begin + header_bytes.size() + 8));
  for (const Listed& entry : listed) {
    const auto size = static_cast<std::size_t>(entry.type.bytes());
    const std::string_view content = rest.bytes(size);
    if (checksum(content.data(), size) != entry.sum)
      rest.damaged("the checksum of '{}' is wrong", entry.name);
    Tensor tensor(entry.type);
    if (size > 0) std::memcpy(tensor.raw(), content.data(), size);
    if (!checkpoint.tensors.emplace(entry.name, std::move(tensor)).second)
      rest.damaged("it has '{}' twice", entry.name);
  }
  if (rest.left() != end_mark.size() || rest.bytes(end_mark.size()) != end_mark)
    rest.damaged("its end mark is missing");
  return checkpoint;
}

std::string tensors_hash(const std::map<std::string, Tensor>& tensors) {
  std::string sums;
  for (const auto& [name, tensor] : tensors) {
    const XXH128_hash_t sum = XXH3_128bits(tensor.raw(), static_cast<std::size_t>(tensor.bytes()));
    sums +=
        fmt::format("{}:{}:{:016x}{:016x};", name, to_string(tensor.type()), sum.high64, sum.low64);
  }
  const XXH128_hash_t all = XXH3_128bits(sums.data(), sums.size());
  return fmt::format("{:016x}{:016x}", all.high64, all.low64);
}

}  // namespace whorl
