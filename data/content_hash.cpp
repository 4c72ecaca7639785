#include "data/content_hash.hpp"

#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/error.hpp"
#include "engine/file.hpp"

namespace whorl {

std::string content_hash(const std::string& path) {
  InputFile file("hash", path);
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::vector<char> block(std::size_t{1} << 18);
  while (file.position() < file.size()) {
    const std::int64_t n =
        std::min(static_cast<std::int64_t>(block.size()), file.size() - file.position());
    file.read(block.data(), n);
    XXH3_128bits_update(state.get(), block.data(), static_cast<std::size_t>(n));
  }
  file.check_unchanged();
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string same_content_warning(const std::string& train, const std::string& test) {
  if (InputFile("hash", train).size() != InputFile("hash", test).size() ||
      content_hash(train) != content_hash(test))
    return "";
  return fmt::format("{} and {} hold the same bytes: the test data are the training data", train,
                     test);
}

}  // namespace whorl
