// The hash of a file's content, to know it again.
//
// Thread safety: free functions without shared state.
#pragma once

#include <string>

namespace whorl {

// XXH3 of all bytes, 128 bits as 32 hexadecimal digits. Not for protection against forgers.
std::string content_hash(const std::string& path);

// A warning when both files hold the same bytes, else "".
std::string same_content_warning(const std::string& train, const std::string& test);

}  // namespace whorl
