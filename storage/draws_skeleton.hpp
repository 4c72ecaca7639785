// DrawsSkeleton: the netCDF part of a draws file without its numbers, made by the netCDF library.
//
// It is a sparse file of the full size in the memory of the machine (or where that cannot be had,
// in the folder for temporary files), so it costs a few pages whatever the number of draws. The
// library never sees the place where the draws will be: neither its missing file locks nor its full
// disk can reach it, and every error of that place is told in the system's own words.
// The same layout gives the same bytes: no time stamps are kept.
// Thread safety: netCDF is for one thread at a time, so skeletons are made one after the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/draws_bytes.hpp"
#include "storage/draws_layout.hpp"

namespace whorl {

class DrawsSkeleton {
 public:
  // `layout` has no faults. `shown` begins the text of the io Error that this may throw.
  DrawsSkeleton(const DrawsLayout& layout, const std::string& shown);

  const DrawsPlaces& places() const { return places_; }
  // Whole numbers 0, 1, 2, ... in 64 bits, which are still missing.
  const std::vector<DrawsRegion>& coordinates() const { return coordinates_; }
  const DrawsBytes& bytes() const { return *bytes_; }

 private:
  void make(const std::string& folder, const DrawsLayout& layout, const std::string& shown);

  DrawsPlaces places_;
  std::vector<DrawsRegion> coordinates_;
  std::unique_ptr<DrawsBytes> bytes_;
};

}  // namespace whorl
