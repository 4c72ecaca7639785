// The container of binary graph files. Protobuf alone accepts half of all single bit flips, some
// truncations, unknown fields and fields that are given twice; the container accepts none of them.
//
//   8 bytes  magic 0x89 "WHRL" CR LF 0x1a: text-mode transfers and 7-bit channels damage it
//   4 bytes  container version, 1
//   8 bytes  length of the payload
//   4 bytes  CRC32C of the payload
//   payload  a whorl.file.Graph, in protobuf's deterministic encoding
//   8 bytes  end mark "WHRL END"
// Numbers are little endian.
#pragma once

#include <string>
#include <string_view>

#include "graphs/file/source.hpp"

namespace google::protobuf {
class Message;
}
namespace whorl::file {
class Graph;
}

namespace whorl::graphs {

inline constexpr std::string_view container_magic = "\x89WHRL\r\n\x1a";

// The message in protobuf's deterministic encoding, and 128 bits of it in hexadecimal.
std::string payload_of(const google::protobuf::Message& message);
std::string hash_of(const google::protobuf::Message& message);
std::string wrap(std::string_view payload);

// Reads a container. The payload must be exactly what payload_of(message) gives, which refuses
// every other encoding of the same message.
void parse_container(const Source& source, file::Graph& message);

// Binary protobuf without a container, as far as one can tell.
bool is_bare_message(std::string_view bytes);

}  // namespace whorl::graphs
