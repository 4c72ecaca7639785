// Arena: places for values that live for a while, in as few bytes as a simple rule gives.
//
// Best fit with coalescing: a value takes the smallest free block that holds it; a block that is
// given back joins its neighbours. All places are multiples of 64 bytes.
#pragma once

#include <cstdint>
#include <map>
#include <set>

namespace whorl {

class Arena {
 public:
  std::int64_t take(std::int64_t bytes);  // the offset
  void give_back(std::int64_t offset, std::int64_t bytes);
  std::int64_t size() const { return size_; }

  static std::int64_t rounded(std::int64_t bytes);

 private:
  std::map<std::int64_t, std::int64_t> free_;                // offset -> bytes
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;  // (bytes, offset)
  std::int64_t size_ = 0;

  void insert(std::int64_t offset, std::int64_t bytes);
  void erase(std::map<std::int64_t, std::int64_t>::iterator block);
};

}  // namespace whorl
