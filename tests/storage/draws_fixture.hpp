// DrawsFixture: a small layout, draws whose numbers say where they belong, and their files.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "storage/draws_file.hpp"
#include "tests/data/data_fixture.hpp"

namespace whorl::testing {

struct DrawsFixture : DataFixture {
  static constexpr std::int64_t columns = 12;  // of a state; some belong to no parameter

  static DrawsLayout small_layout(std::int64_t draws = 9, DType dtype = DType::f32) {
    DrawsLayout layout;
    layout.chains = 3;
    layout.draws = draws;
    layout.dtype = dtype;
    layout.parameters = {{"layer/w", {2, 3}, 1}, {"b", {}, 8}, {"none", {2, 0}, 9}, {"v", {3}, 9}};
    layout.statistics = {"lp", "step_size"};
    layout.attributes = {{"inference_library", "whorl"}, {"sampling", "12 steps; \"thinned\""}};
    return layout;
  }

  // Exact in f32.
  static double number(std::int64_t draw, std::int64_t chain, std::int64_t column) {
    return static_cast<double>(draw * 1000 + chain * 100 + column) + 0.25;
  }
  static double statistic(std::size_t which, std::int64_t draw, std::int64_t chain) {
    return static_cast<double>(which * 10000) + static_cast<double>(draw * 10 + chain) / 3;
  }
  static std::int64_t step_of(std::int64_t draw) { return 100 + 7 * draw; }

  template <class T = float>
  static Tensor state(const DrawsLayout& layout, std::int64_t draw) {
    Tensor tensor({dtype_of<T>, {layout.chains, columns}});
    for (std::int64_t chain = 0; chain < layout.chains; ++chain)
      for (std::int64_t column = 0; column < columns; ++column)
        tensor.data<T>()[chain * columns + column] = static_cast<T>(number(draw, chain, column));
    return tensor;
  }

  static void put(DrawsWriter& writer, const DrawsLayout& layout, std::int64_t draw) {
    writer.put(draw, step_of(draw), state(layout, draw));
  }
  static void put_statistics(DrawsWriter& writer, const DrawsLayout& layout, std::int64_t draw) {
    for (std::size_t which = 0; which < layout.statistics.size(); ++which) {
      std::vector<double> values;
      for (std::int64_t chain = 0; chain < layout.chains; ++chain)
        values.push_back(statistic(which, draw, chain));
      writer.put_statistic(which, draw, values);
    }
  }
  static void put_all(DrawsWriter& writer, const DrawsLayout& layout, std::int64_t first,
                      std::int64_t end) {
    for (std::int64_t draw = first; draw < end; ++draw) {
      put(writer, layout, draw);
      put_statistics(writer, layout, draw);
    }
  }

  // A new file with draws 0 ... end - 1.
  std::string make(std::string_view name, const DrawsLayout& layout, std::int64_t end) const {
    std::filesystem::remove(scratch / name);
    create_draws(scratch / name, layout);
    DrawsWriter writer(scratch / name, layout);
    put_all(writer, layout, 0, end);
    writer.sync();
    return scratch / name;
  }

  // Whether every number of every draw that the file says to have is the right one.
  static bool has_right_numbers(const DrawsReader& reader) {
    const DrawsLayout& layout = reader.layout();
    for (std::size_t p = 0; p < layout.parameters.size(); ++p) {
      const auto& [name, shape, offset] = layout.parameters[p];
      const std::vector<double> numbers = reader.read(p, 0, shape.elements());
      std::size_t i = 0;
      for (std::int64_t element = 0; element < shape.elements(); ++element)
        for (std::int64_t chain = 0; chain < layout.chains; ++chain)
          for (std::int64_t draw = 0; draw < reader.draws(); ++draw)
            if (numbers.at(i++) != number(draw, chain, offset + element)) return false;
      if (i != numbers.size()) return false;
    }
    return true;
  }
};

}  // namespace whorl::testing
