// draws.nc: the draws of a run, as netCDF-4 in the schema of ArviZ, safe at any instant.
//
// Groups `posterior` (the parameters) and `sample_stats` (one f64 for each chain and draw, and the
// step of each draw); dimensions `chain` and `draw` first, then the parameter's own.
//
// The file is made once by the netCDF library, complete and at its full size: every variable is
// contiguous, every number is NaN and every step is -1. From then on nothing but numbers changes,
// and those are written in place with pwrite(). So the file can be read by any program at any time,
// also while the run goes on or after a kill, what is not drawn yet is NaN, the disk space is taken
// before the first step, memory is a fixed buffer, and the same draws give the same bytes whatever
// happened in between.
//
// Behind the netCDF part follows a trailer of our own, which netCDF ignores: where each variable
// lies, with a checksum. The reader uses that alone, so a damaged file is an Error and never
// reaches the HDF5 library.
//
// NetCDF has no '/' in names: parameter `layer/w` is the variable `layer.w`, with the attribute
// long_name "layer/w"; draws_layout.hpp has the rule. Here, names are the parameters' own.
// Thread safety: one thread at a time for each object; readers and a writer of one file may be
// different threads or processes.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/tensor.hpp"

namespace whorl {

// A parameter, and where it lies in the flat vector of a state.
struct DrawsVariable {
  std::string name;
  Shape shape;
  std::int64_t offset = 0;
};

struct DrawsLayout {
  std::int64_t chains = 0, draws = 0;
  DType dtype = DType::f32;  // of the parameters in the file: f32 or f64
  std::vector<DrawsVariable> parameters;
  std::vector<std::string> statistics;  // names in sample_stats, such as "lp"
  // Texts of the whole file, such as {"inference_library", "whorl"}, in this order.
  std::vector<std::pair<std::string, std::string>> attributes;
};

// The size of the file to the byte, and so what the disk must have. Nothing of that size is made.
std::int64_t draws_file_bytes(const DrawsLayout& layout);

// Makes the file, under a temporary name until it is complete and on disk. Throws an io Error, or a
// usage Error for a layout that cannot be: no chains, two parameters of one name, ...
void create_draws(const std::string& path, const DrawsLayout& layout);

// Replaces the file by one with the first `draws` draws only, in bounded memory; whoever looks sees
// one or the other. The same bytes as if it had been made so. A writer that has the file open would
// go on with the old one. Throws as DrawsReader does, and as create_draws().
void shrink_draws(const std::string& path, std::int64_t draws);

class DrawsWriter {
 public:
  // Opens a file that create_draws() made. `buffer_bytes` is about what is gathered before it is
  // written, at least one draw. Throws an io Error when there is no such file, a checkpoint Error
  // when it is damaged or has another layout, attributes included.
  DrawsWriter(const std::string& path, const DrawsLayout& layout,
              std::int64_t buffer_bytes = 1 << 20);
  ~DrawsWriter();  // what is still in the buffer is lost; a run calls sync() before
  DrawsWriter(const DrawsWriter&) = delete;
  DrawsWriter& operator=(const DrawsWriter&) = delete;

  // All of these may throw an io Error, such as that of a full disk. Nothing is lost by that: a
  // draw that was not taken can be put again, and flush() called again.

  // States [chains, n] of f32 or f64, whose columns `offset` ... are the parameters. Draws come one
  // after the other; the first one may be any.
  void put(std::int64_t draw, std::int64_t step, const Tensor& states);
  // The same for one state among several, [any, chains, n].
  void put(std::int64_t draw, std::int64_t step, const Tensor& states, std::int64_t row);
  // One number for each chain. Statistics may lag behind the draws, each by itself.
  void put_statistic(std::size_t statistic, std::int64_t draw, std::span<const double> values);

  void flush();  // everything is in the file; the steps last, so who sees one sees its draw
  void sync();   // and on disk

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class DrawsReader {
 public:
  // Throws an io Error when there is no such file, a data Error when it is damaged or is not ours.
  // At most the first `most` draws are seen: a run that was killed may have left some that it has
  // not made again yet.
  explicit DrawsReader(const std::string& path,
                       std::int64_t most = std::numeric_limits<std::int64_t>::max());
  ~DrawsReader();
  DrawsReader(DrawsReader&&) noexcept;
  DrawsReader& operator=(DrawsReader&&) noexcept;

  const DrawsLayout& layout() const;
  // The draws that there were when the file was opened: those before the first step that is -1.
  std::int64_t draws() const;
  std::vector<std::int64_t> steps() const;  // of those draws

  // Elements first ... first + count - 1 of a parameter, as [count, chains, draws()].
  std::vector<double> read(std::size_t parameter, std::int64_t first, std::int64_t count) const;
  // All elements of a parameter in one chain, [draws(), elements].
  std::vector<double> read_chain(std::size_t parameter, std::int64_t chain) const;
  // One draw of all chains into `states` [chains, n] of f32 or f64: what DrawsWriter::put was
  // given. Columns of parameters that were not kept stay as they are.
  void read_draw(std::int64_t draw, Tensor& states) const;
  // [chains, draws()]
  std::vector<double> read_statistic(std::size_t statistic) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace whorl
