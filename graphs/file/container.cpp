#include "graphs/file/container.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/unknown_field_set.h>
#include <xxhash.h>

#include <boost/crc.hpp>
#include <vector>

#include "graphs/graph.pb.h"

namespace whorl::graphs {

namespace pb = google::protobuf;

namespace {

constexpr std::string_view end_mark = "WHRL END";
constexpr std::uint32_t container_version = 1;
constexpr std::size_t header_bytes = 8 + 4 + 8 + 4;

void put(std::string& bytes, std::uint64_t number, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

std::uint64_t take(std::string_view bytes, std::size_t at, int size) {
  std::uint64_t number = 0;
  for (int i = 0; i < size; ++i)
    number |= std::uint64_t{static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)])}
              << (8 * i);
  return number;
}

std::uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return static_cast<std::uint32_t>(crc.checksum());
}

bool parse(std::string_view payload, int nesting, file::Graph& message) {
  pb::io::ArrayInputStream stream(payload.data(), static_cast<int>(payload.size()));
  pb::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(nesting);
  return message.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

// The first unknown field at any depth: its number and the message that holds it; 0 for none.
std::pair<int, std::string> unknown_field(const pb::Message& root) {
  std::vector<const pb::Message*> open{&root};
  std::vector<const pb::FieldDescriptor*> fields;
  while (!open.empty()) {
    const pb::Message& message = *open.back();
    open.pop_back();
    const pb::Reflection& reflection = *message.GetReflection();
    const pb::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
    if (!unknown.empty()) return {unknown.field(0).number(), message.GetDescriptor()->name()};
    fields.clear();
    reflection.ListFields(message, &fields);
    for (const pb::FieldDescriptor* field : fields) {
      if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
      if (!field->is_repeated()) {
        open.push_back(&reflection.GetMessage(message, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i)
        open.push_back(&reflection.GetRepeatedMessage(message, field, i));
    }
  }
  return {};
}

// The payload, after all that the container itself can tell was checked.
std::string_view checked_payload(const Source& source) {
  const std::string_view bytes = source.bytes;
  const Place place = source.place();
  if (bytes.size() < header_bytes)
    load_error(place, "the file is cut off: {} bytes, the header alone has {}", bytes.size(),
               header_bytes);
  const auto version = static_cast<std::uint32_t>(take(bytes, 8, 4));
  if (version != container_version)
    load_error(place, "container version {} is not known; this Whorl reads version {}", version,
               container_version);
  const std::uint64_t length = take(bytes, 12, 8);
  const std::size_t most = bytes.size() - header_bytes;
  if (length > most || most - length < end_mark.size())
    load_error(place, "the file is cut off: it declares {} bytes of graph, {} bytes follow", length,
               most);
  if (most - length > end_mark.size())
    load_error(place, "{} bytes follow after the graph's end", most - length - end_mark.size());
  if (!bytes.ends_with(end_mark)) load_error(place, "the end mark is missing");
  const std::string_view payload = bytes.substr(header_bytes, length);
  const auto stored = static_cast<std::uint32_t>(take(bytes, 20, 4)), found = crc32c(payload);
  if (stored != found)
    load_error(place, "the checksum differs: {:08x} is stored, {:08x} found; the file is damaged",
               stored, found);
  return payload;
}

}  // namespace

std::string payload_of(const pb::Message& message) {
  std::string payload;
  {
    pb::io::StringOutputStream stream(&payload);
    pb::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return payload;
}

std::string hash_of(const pb::Message& message) {
  const std::string payload = payload_of(message);
  const XXH128_hash_t hash = XXH3_128bits(payload.data(), payload.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string wrap(std::string_view payload) {
  std::string bytes(container_magic);
  put(bytes, container_version, 4);
  put(bytes, payload.size(), 8);
  put(bytes, crc32c(payload), 4);
  bytes += payload;
  bytes += end_mark;
  return bytes;
}

void parse_container(const Source& source, file::Graph& message) {
  const std::string_view payload = checked_payload(source);
  if (!parse(payload, static_cast<int>(source.limits.nesting), message))
    load_error(source.place(),
               "the payload is not a protobuf message, or is nested deeper than {} levels",
               source.limits.nesting);
  if (const auto [number, where] = unknown_field(message); number != 0)
    load_error(source.place(),
               "unknown field {} of {}: written by a newer Whorl or by another "
               "program",
               number, where);
  if (payload_of(message) != payload)
    load_error(source.place(),
               "the payload is not encoded in the canonical way: a field is given "
               "twice or out of order");
}

bool is_bare_message(std::string_view bytes) {
  // Our message starts with the field format_version: tag 0x08. In a text, that is no character.
  if (!bytes.starts_with('\x08') && !bytes.starts_with('\x12') && !bytes.starts_with('\x1a'))
    return false;
  file::Graph message;
  return parse(bytes, 64, message) &&
         message.inputs_size() + message.constants_size() + message.nodes_size() > 0;
}

}  // namespace whorl::graphs
