#include "engine/arena.hpp"

#include <algorithm>

namespace whorl {

std::int64_t Arena::rounded(std::int64_t bytes) {
  return std::max<std::int64_t>((bytes + 63) / 64 * 64, 64);
}

void Arena::insert(std::int64_t offset, std::int64_t bytes) {
  free_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

void Arena::erase(std::map<std::int64_t, std::int64_t>::iterator block) {
  by_size_.erase({block->second, block->first});
  free_.erase(block);
}

std::int64_t Arena::take(std::int64_t bytes) {
  bytes = rounded(bytes);
  const auto fit = by_size_.lower_bound({bytes, 0});
  if (fit != by_size_.end()) {
    const auto [have, offset] = *fit;
    erase(free_.find(offset));
    if (have > bytes) insert(offset + bytes, have - bytes);
    return offset;
  }
  // The arena grows; a free block at its end is the beginning of the new one.
  std::int64_t offset = size_;
  if (!free_.empty()) {
    const auto last = std::prev(free_.end());
    if (last->first + last->second == size_) {
      offset = last->first;
      erase(last);
    }
  }
  size_ = offset + bytes;
  return offset;
}

void Arena::give_back(std::int64_t offset, std::int64_t bytes) {
  bytes = rounded(bytes);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    const auto joined = next++;
    erase(joined);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      erase(before);
    }
  }
  insert(offset, bytes);
}

}  // namespace whorl
