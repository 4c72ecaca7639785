#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/error.hpp"
#include "storage/draws_bytes.hpp"
#include "storage/draws_file.hpp"
#include "storage/draws_layout.hpp"
#include "storage/draws_trailer.hpp"

namespace whorl {

namespace {

// A chain's stretch of as many draws is long enough for one write, even of single numbers, and
// short enough that whoever reads a live file does not wait for long.
constexpr std::int64_t longest_window = 1024;

// The draws of one variable that are not in the file yet: [chains, window, row] bytes. They stay
// here until all of them were written, so a write that failed can be repeated.
class Window {
 public:
  Window(const DrawsRegion& region, std::int64_t chains, std::int64_t draws, std::int64_t row_bytes,
         std::int64_t window)
      : region_(region),
        chains_(chains),
        draws_(draws),
        row_bytes_(row_bytes),
        window_(window),
        rows_(static_cast<std::size_t>(chains * window * row_bytes)) {}

  std::int64_t size() const { return window_; }
  bool is_full() const { return held_ == window_; }
  std::int64_t next() const { return first_ + held_; }  // the draw that comes next
  bool is_begun() const { return first_ >= 0; }
  void begin_at(std::int64_t draw) { first_ = draw; }

  std::byte* next_row(std::int64_t chain) {
    return rows_.data() + (chain * window_ + held_) * row_bytes_;
  }
  void advance() { ++held_; }

  void write(const DrawsBytes& file) {
    const auto bytes = static_cast<std::size_t>(held_ * row_bytes_);
    for (std::int64_t chain = 0; chain < chains_ && bytes > 0; ++chain)
      file.write(region_.offset + (chain * draws_ + first_) * row_bytes_,
                 {rows_.data() + chain * window_ * row_bytes_, bytes});
    first_ += held_;
    held_ = 0;
  }

 private:
  DrawsRegion region_;
  std::int64_t chains_, draws_, row_bytes_, window_;
  std::int64_t first_ = -1, held_ = 0;
  std::vector<std::byte> rows_;
};

template <class To, class From>
void convert(const From* from, std::int64_t n, std::byte* to) {
  if constexpr (std::is_same_v<To, From>) {
    std::copy_n(reinterpret_cast<const std::byte*>(from), n * static_cast<std::int64_t>(sizeof(To)),
                to);
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto number = static_cast<To>(from[i]);
      std::memcpy(to + i * static_cast<std::int64_t>(sizeof(To)), &number, sizeof number);
    }
  }
}

template <class From>
void convert_to(DType dtype, const From* from, std::int64_t n, std::byte* to) {
  if (dtype == DType::f32)
    convert<float>(from, n, to);
  else
    convert<double>(from, n, to);
}

}  // namespace

struct DrawsWriter::Impl {
  DrawsBytes file;
  DrawsLayout layout;
  std::vector<Window> parameters, statistics;
  std::optional<Window> steps;
  std::int64_t least_columns = 0;

  Impl(const std::string& path, const DrawsLayout& wanted, std::int64_t buffer_bytes);
  void check_draw(std::string_view what, const Window& window, std::int64_t draw) const;
  void check_states(const Tensor& states, int rank) const;
  template <class T>
  void put(std::int64_t draw, std::int64_t step, const T* states, std::int64_t columns);
  void write_parameters_and_steps();
};

DrawsWriter::Impl::Impl(const std::string& path, const DrawsLayout& wanted,
                        std::int64_t buffer_bytes)
    : file(path, DrawsBytes::Access::write), layout(wanted) {
  const DrawsTrailer trailer = load_trailer(file, ErrorKind::checkpoint);
  if (const std::string text = layout_difference(trailer.layout, layout); !text.empty())
    fail(ErrorKind::checkpoint, "draws", "{}: not the file of this run: {}", path, text);

  // Equal shares: short rows gather more draws.
  const std::int64_t most = std::clamp<std::int64_t>(layout.draws, 1, longest_window);
  const auto variables =
      static_cast<std::int64_t>(layout.parameters.size() + layout.statistics.size());
  const std::int64_t share = buffer_bytes / std::max<std::int64_t>(1, variables);
  const auto window_of = [&](const DrawsRegion& region, std::int64_t row) {
    const std::int64_t draw = std::max<std::int64_t>(1, layout.chains * row);
    return Window(region, layout.chains, layout.draws, row,
                  std::clamp<std::int64_t>(share / draw, 1, most));
  };
  std::int64_t longest = layout.parameters.empty() ? most : 1;
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    const DrawsVariable& parameter = layout.parameters[i];
    parameters.push_back(window_of(trailer.places.parameters[i], row_bytes(layout, parameter)));
    longest = std::max(longest, parameters.back().size());
    least_columns = std::max(least_columns, parameter.offset + parameter.shape.elements());
  }
  for (const DrawsRegion& region : trailer.places.statistics)
    statistics.push_back(window_of(region, sizeof(double)));
  steps.emplace(trailer.places.steps, 1, layout.draws, sizeof(std::int64_t), longest);
}

void DrawsWriter::Impl::check_draw(std::string_view what, const Window& window,
                                   std::int64_t draw) const {
  if (draw < 0 || draw >= layout.draws)
    fail(ErrorKind::usage, "draws", "{}: {} of draw {}: the file has {} draws", file.path(), what,
         draw, layout.draws);
  if (window.is_begun() && draw != window.next())
    fail(ErrorKind::usage, "draws", "{}: {} of draw {}: the next one is {}", file.path(), what,
         draw, window.next());
}

void DrawsWriter::Impl::check_states(const Tensor& states, int rank) const {
  const Shape& shape = states.shape();
  const bool fits = is_float(states.dtype()) && shape.rank() == rank &&
                    shape[rank - 2] == layout.chains && shape[rank - 1] >= least_columns;
  if (!fits)
    fail(ErrorKind::usage, "draws", "{}: states are {}; {} chains of at least {} floats are wanted",
         file.path(), to_string(states.type()), layout.chains, least_columns);
}

template <class T>
void DrawsWriter::Impl::put(std::int64_t draw, std::int64_t step, const T* states,
                            std::int64_t columns) {
  check_draw("state", *steps, draw);
  if (step < 0) fail(ErrorKind::usage, "draws", "{}: draw {} has step {}", file.path(), draw, step);
  // Room is made before anything is taken in: a draw that met a full disk can be put again.
  for (Window& window : parameters)
    if (window.is_full()) window.write(file);
  if (steps->is_full()) write_parameters_and_steps();
  if (!steps->is_begun()) {
    for (Window& window : parameters) window.begin_at(draw);
    steps->begin_at(draw);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const DrawsVariable& parameter = layout.parameters[i];
    for (std::int64_t chain = 0; chain < layout.chains; ++chain)
      convert_to(layout.dtype, states + chain * columns + parameter.offset,
                 parameter.shape.elements(), parameters[i].next_row(chain));
    parameters[i].advance();
  }
  std::memcpy(steps->next_row(0), &step, sizeof step);
  steps->advance();
}

// In this order: who sees the step of a draw in a live file sees its numbers.
void DrawsWriter::Impl::write_parameters_and_steps() {
  for (Window& window : parameters) window.write(file);
  steps->write(file);
}

DrawsWriter::DrawsWriter(const std::string& path, const DrawsLayout& layout,
                         std::int64_t buffer_bytes)
    : impl_(std::make_unique<Impl>(path, layout, buffer_bytes)) {}

DrawsWriter::~DrawsWriter() = default;

void DrawsWriter::put(std::int64_t draw, std::int64_t step, const Tensor& states) {
  impl_->check_states(states, 2);
  const std::int64_t columns = states.shape()[1];
  if (states.dtype() == DType::f32)
    impl_->put(draw, step, states.data<float>(), columns);
  else
    impl_->put(draw, step, states.data<double>(), columns);
}

void DrawsWriter::put(std::int64_t draw, std::int64_t step, const Tensor& states,
                      std::int64_t row) {
  impl_->check_states(states, 3);
  const Shape& shape = states.shape();
  if (row < 0 || row >= shape[0])
    fail(ErrorKind::usage, "draws", "{}: state {} of {} does not exist", impl_->file.path(), row,
         shape[0]);
  const std::int64_t columns = shape[2], first = row * shape[1] * columns;
  if (states.dtype() == DType::f32)
    impl_->put(draw, step, states.data<float>() + first, columns);
  else
    impl_->put(draw, step, states.data<double>() + first, columns);
}

void DrawsWriter::put_statistic(std::size_t statistic, std::int64_t draw,
                                std::span<const double> values) {
  const auto chains = static_cast<std::size_t>(impl_->layout.chains);
  if (statistic >= impl_->statistics.size() || values.size() != chains)
    fail(ErrorKind::usage, "draws", "{}: {} values of statistic {}; the file has {} for {} chains",
         impl_->file.path(), values.size(), statistic, impl_->statistics.size(), chains);
  Window& window = impl_->statistics[statistic];
  impl_->check_draw(impl_->layout.statistics[statistic], window, draw);
  if (window.is_full()) window.write(impl_->file);
  if (!window.is_begun()) window.begin_at(draw);
  for (std::size_t chain = 0; chain < chains; ++chain)
    std::memcpy(window.next_row(static_cast<std::int64_t>(chain)), &values[chain], sizeof(double));
  window.advance();
}

void DrawsWriter::flush() {
  for (Window& window : impl_->statistics) window.write(impl_->file);
  impl_->write_parameters_and_steps();
}

void DrawsWriter::sync() {
  flush();
  impl_->file.sync();
}

}  // namespace whorl
