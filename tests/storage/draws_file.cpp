#include "storage/draws_file.hpp"

#include <sys/resource.h>

#include <cmath>
#include <csignal>

#include "tests/storage/draws_fixture.hpp"

namespace whorl {

namespace {

// Files cannot grow or be written beyond `bytes`, as if the disk were full there.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::int64_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{static_cast<rlim_t>(bytes), old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  void (*handler_)(int);
};

std::size_t not_nan(const std::vector<double>& numbers) {
  return static_cast<std::size_t>(
      std::count_if(numbers.begin(), numbers.end(), [](double x) { return !std::isnan(x); }));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(draws_file, testing::DrawsFixture)

BOOST_AUTO_TEST_CASE(draws_come_back_as_they_were_put) {
  const DrawsLayout layout = small_layout();
  const DrawsReader reader(make("d.nc", layout, 9));
  BOOST_TEST(reader.draws() == 9);
  const std::vector<std::int64_t> steps = reader.steps();
  for (std::int64_t draw = 0; draw < 9; ++draw)
    BOOST_TEST(steps.at(static_cast<std::size_t>(draw)) == step_of(draw));
  BOOST_TEST(has_right_numbers(reader));
  for (std::size_t which : {0u, 1u}) {
    const std::vector<double> numbers = reader.read_statistic(which);
    BOOST_TEST_REQUIRE(numbers.size() == 27u);
    for (std::size_t i = 0; i < 27; ++i)
      BOOST_TEST(numbers[i] == statistic(which, static_cast<std::int64_t>(i % 9),
                                         static_cast<std::int64_t>(i / 9)));
  }
}

BOOST_AUTO_TEST_CASE(the_layout_comes_back_with_the_names_of_the_parameters) {
  const DrawsLayout layout = small_layout();
  const DrawsReader reader(make("d.nc", layout, 0));
  const DrawsLayout& found = reader.layout();
  BOOST_TEST(found.chains == 3);
  BOOST_TEST(found.draws == 9);
  BOOST_TEST((found.dtype == DType::f32));
  BOOST_TEST_REQUIRE(found.parameters.size() == 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    BOOST_TEST(found.parameters[i].name == layout.parameters[i].name);
    BOOST_TEST((found.parameters[i].shape == layout.parameters[i].shape));
    BOOST_TEST(found.parameters[i].offset == layout.parameters[i].offset);
  }
  BOOST_TEST(found.statistics == layout.statistics);
  BOOST_TEST((found.attributes == layout.attributes));
}

BOOST_AUTO_TEST_CASE(a_block_of_elements_is_read_by_itself) {
  const DrawsReader reader(make("d.nc", small_layout(), 5));
  const std::vector<double> numbers = reader.read(0, 2, 3);
  BOOST_TEST_REQUIRE(numbers.size() == 45u);
  for (std::int64_t i = 0; i < 45; ++i)
    BOOST_TEST(numbers[static_cast<std::size_t>(i)] == number(i % 5, i / 5 % 3, 1 + 2 + i / 15));
  BOOST_TEST(reader.read(0, 6, 0).empty());
  BOOST_TEST(reader.read(2, 0, 0).empty());
}

BOOST_AUTO_TEST_CASE(long_rows_are_read_in_stretches_of_any_length) {
  DrawsLayout layout;
  layout.chains = 2;
  layout.draws = 3;
  layout.parameters = {{"w", {2'500'000}, 0}};  // more than the reader's memory
  create_draws(scratch / "d.nc", layout);
  DrawsWriter writer(scratch / "d.nc", layout);
  Tensor states({DType::f32, {2, 2'500'000}});
  for (std::int64_t draw = 0; draw < 3; ++draw) {
    for (std::int64_t i = 0; i < states.elements(); ++i)
      states.data<float>()[i] = static_cast<float>(i % 9973 + draw);
    writer.put(draw, draw, states);
  }
  writer.flush();
  const DrawsReader reader(scratch / "d.nc");
  for (const auto& [first, count] :
       {std::pair{0, 2'500'000}, {0, 10}, {2'499'990, 10}, {1000, 2'400'000}, {1, 2'499'998}}) {
    const std::vector<double> numbers = reader.read(0, first, count);
    BOOST_TEST_REQUIRE(numbers.size() == static_cast<std::size_t>(count) * 6);
    std::size_t wrong = 0, i = 0;
    for (std::int64_t element = first; element < first + count; ++element)
      for (std::int64_t chain = 0; chain < 2; ++chain)
        for (std::int64_t draw = 0; draw < 3; ++draw)
          wrong += numbers[i++] != static_cast<double>((chain * 2'500'000 + element) % 9973 + draw);
    BOOST_TEST(wrong == 0u);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_drawn_yet_is_nan) {
  const std::string path = make("d.nc", small_layout(), 4);
  DrawsReader reader(path);
  BOOST_TEST(reader.draws() == 4);
  BOOST_TEST(reader.read_statistic(0).size() == 12u);
  // The other numbers can be seen once their steps are there.
  DrawsWriter writer(path, small_layout());
  put(writer, small_layout(), 8);
  writer.flush();
  BOOST_TEST(DrawsReader(path).draws() == 4);
  DrawsWriter second(path, small_layout());
  for (std::int64_t draw = 4; draw < 8; ++draw) put(second, small_layout(), draw);
  second.flush();
  reader = DrawsReader(path);
  BOOST_TEST(reader.draws() == 9);
  BOOST_TEST(has_right_numbers(reader));
  BOOST_TEST(reader.read_statistic(0).size() == 27u);
  BOOST_TEST(not_nan(reader.read_statistic(0)) == 12u);
  BOOST_TEST(not_nan(reader.read_statistic(1)) == 12u);
}

BOOST_AUTO_TEST_CASE(buffers_of_every_size_give_the_same_bytes_and_never_a_step_without_its_draw) {
  const DrawsLayout layout = small_layout();
  make("wanted.nc", layout, 9);
  const std::string wanted = scratch.read("wanted.nc");
  const std::string path = scratch / "d.nc";
  for (std::int64_t buffer = 0; buffer < 2000; buffer += 37) {
    std::filesystem::remove(path);
    create_draws(path, layout);
    DrawsWriter writer(path, layout, buffer);
    for (std::int64_t draw = 0; draw < 9; ++draw) {
      put_all(writer, layout, draw, draw + 1);
      const DrawsReader live(path);
      BOOST_TEST(live.draws() <= draw + 1);
      BOOST_TEST(has_right_numbers(live));
    }
    writer.flush();
    BOOST_TEST((scratch.read("d.nc") == wanted));
  }
}

BOOST_AUTO_TEST_CASE(a_second_writer_goes_on_and_gives_the_same_bytes) {
  const DrawsLayout layout = small_layout();
  make("wanted.nc", layout, 9);
  for (std::int64_t kept = 0; kept <= 9; ++kept) {
    for (std::int64_t lost : {0, 1, 2}) {
      // Draws of the first run that its checkpoint does not know are drawn again.
      const std::string path = make("d.nc", layout, std::min<std::int64_t>(9, kept + lost));
      DrawsWriter writer(path, layout, 64 * lost);
      put_all(writer, layout, kept, 9);
      writer.sync();
      BOOST_TEST((scratch.read("d.nc") == scratch.read("wanted.nc")));
    }
  }
}

BOOST_AUTO_TEST_CASE(statistics_may_lag_each_by_itself) {
  const DrawsLayout layout = small_layout();
  make("wanted.nc", layout, 9);
  create_draws(scratch / "d.nc", layout);
  DrawsWriter writer(scratch / "d.nc", layout, 100);
  const auto put_one = [&](std::size_t which, std::int64_t draw) {
    std::vector<double> values;
    for (std::int64_t chain = 0; chain < 3; ++chain)
      values.push_back(statistic(which, draw, chain));
    writer.put_statistic(which, draw, values);
  };
  for (std::int64_t draw = 0; draw < 9; ++draw) {
    put(writer, layout, draw);
    if (draw > 0) put_one(0, draw - 1);
    if (draw > 3) put_one(1, draw - 4);
  }
  writer.flush();
  DrawsReader reader(scratch / "d.nc");
  BOOST_TEST(not_nan(reader.read_statistic(0)) == 24u);
  BOOST_TEST(not_nan(reader.read_statistic(1)) == 15u);
  put_one(0, 8);
  for (std::int64_t draw = 5; draw < 9; ++draw) put_one(1, draw);
  writer.flush();
  BOOST_TEST((scratch.read("d.nc") == scratch.read("wanted.nc")));
}

BOOST_AUTO_TEST_CASE(floats_and_doubles_become_what_the_file_has) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const DrawsLayout layout = small_layout(2, dtype);
    create_draws(scratch / "d.nc", layout);
    DrawsWriter writer(scratch / "d.nc", layout);
    Tensor exact = state<double>(layout, 1);
    exact.data<double>()[8] = 1.0 / 3;  // the parameter b of chain 0
    writer.put(0, step_of(0), state<float>(layout, 0));
    writer.put(1, step_of(1), exact);
    writer.flush();
    const DrawsReader reader(scratch / "d.nc");
    const double third = dtype == DType::f64 ? 1.0 / 3 : static_cast<double>(1.0f / 3);
    BOOST_TEST(reader.read(1, 0, 1)[1] == third);
    BOOST_TEST(reader.read(0, 5, 1)[3] == number(1, 1, 6));
    BOOST_TEST(reader.read(0, 5, 1)[2] == number(0, 1, 6));
  }
}

BOOST_AUTO_TEST_CASE(one_draw_of_all_chains_comes_back_as_it_was_put) {
  const auto check = [&]<class Stored, class Wanted>(Stored, Wanted) {
    const DrawsLayout layout = small_layout(3, dtype_of<Stored>);
    create_draws(scratch / "d.nc", layout);
    DrawsWriter writer(scratch / "d.nc", layout);
    std::vector<Tensor> put;
    for (std::int64_t draw = 0; draw < 3; ++draw) {
      put.push_back(state<double>(layout, draw));
      put.back().data<double>()[8] = 1 / (3.0 + static_cast<double>(draw));
      writer.put(draw, step_of(draw), put.back());
    }
    writer.flush();
    const DrawsReader reader(scratch / "d.nc");
    for (std::int64_t draw : {2, 0, 1}) {
      Tensor found({dtype_of<Wanted>, {3, columns}});
      reader.read_draw(draw, found);
      for (std::int64_t chain = 0; chain < 3; ++chain)
        for (std::int64_t column = 0; column < columns; ++column) {
          const double value = put[static_cast<std::size_t>(draw)].at(chain * columns + column);
          // Columns 0 and 7 belong to no parameter.
          const auto wanted = column == 0 || column == 7
                                  ? Wanted{0}
                                  : static_cast<Wanted>(static_cast<Stored>(value));
          BOOST_TEST(found.data<Wanted>()[chain * columns + column] == wanted);
        }
    }
  };
  check(float{}, float{});
  check(float{}, double{});
  check(double{}, float{});
  check(double{}, double{});
}

BOOST_AUTO_TEST_CASE(a_draw_leaves_alone_what_was_not_kept) {
  DrawsLayout layout = small_layout();
  layout.parameters = {layout.parameters[3], layout.parameters[1]};  // v and b
  make("d.nc", layout, 4);
  const DrawsReader reader(scratch / "d.nc", 3);
  Tensor found({DType::f32, {3, columns + 2}});  // a state may have more than the file knows of
  std::fill_n(found.data<float>(), found.elements(), -7.0f);
  reader.read_draw(2, found);
  for (std::int64_t chain = 0; chain < 3; ++chain)
    for (std::int64_t column = 0; column < columns + 2; ++column)
      BOOST_TEST(found.at(chain * (columns + 2) + column) ==
                 (column >= 8 && column < 12 ? number(2, chain, column) : -7));
  BOOST_TEST(error_of([&] { reader.read_draw(3, found); }) ==
             "[draws] d.nc: draw 3 does not exist: there are 3 (2)");
  BOOST_TEST(error_of([&] { reader.read_draw(-1, found); }) ==
             "[draws] d.nc: draw -1 does not exist: there are 3 (2)");
  const auto error = [&](const Type& type) {
    Tensor states(type);
    return error_of([&] { reader.read_draw(0, states); });
  };
  BOOST_TEST(error({DType::f32, {3, 12}}) == "no error");
  BOOST_TEST(error({DType::f32, {3, 11}}) ==
             "[draws] d.nc: a draw of 3 chains does not fit f32[3,11] (2)");
  BOOST_TEST(error({DType::f64, {2, 12}}) ==
             "[draws] d.nc: a draw of 3 chains does not fit f64[2,12] (2)");
  BOOST_TEST(error({DType::i32, {3, 12}}) ==
             "[draws] d.nc: a draw of 3 chains does not fit i32[3,12] (2)");
  BOOST_TEST(error({DType::f32, {36}}) ==
             "[draws] d.nc: a draw of 3 chains does not fit f32[36] (2)");
  BOOST_TEST(error({DType::f32, {1, 3, 12}}) ==
             "[draws] d.nc: a draw of 3 chains does not fit f32[1,3,12] (2)");
}

BOOST_AUTO_TEST_CASE(one_state_among_several_can_be_put) {
  const DrawsLayout layout = small_layout(2);
  Tensor states({DType::f32, {4, 3, columns}});
  for (std::int64_t draw = 0; draw < 4; ++draw) {
    const Tensor one = state(layout, draw);
    std::copy_n(one.data<float>(), one.elements(), states.data<float>() + draw * one.elements());
  }
  create_draws(scratch / "d.nc", layout);
  DrawsWriter writer(scratch / "d.nc", layout);
  writer.put(0, step_of(0), states, 0);
  writer.put(1, step_of(1), states, 1);
  writer.flush();
  BOOST_TEST(has_right_numbers(DrawsReader(scratch / "d.nc")));
}

BOOST_AUTO_TEST_CASE(the_same_layout_gives_the_same_bytes_in_the_size_foretold) {
  for (const std::int64_t draws : {0, 1, 9, 1000, 200'000}) {
    DrawsLayout layout = small_layout(draws, draws == 9 ? DType::f64 : DType::f32);
    if (draws == 1) layout.parameters.clear();
    if (draws == 1000) layout.statistics.clear();
    create_draws(scratch / "a.nc", layout);
    const std::vector<char> elsewhere(10'000, 'x');  // another state of the heap
    create_draws(scratch / "b.nc", layout);
    const std::string bytes = scratch.read("a.nc");
    BOOST_TEST((bytes == scratch.read("b.nc")));
    BOOST_TEST(static_cast<std::int64_t>(bytes.size()) == draws_file_bytes(layout));
  }
}

BOOST_AUTO_TEST_CASE(the_size_of_a_file_larger_than_any_disk_is_known_at_once) {
  DrawsLayout layout;
  layout.chains = 1000;
  layout.draws = 1'000'000;
  layout.parameters = {{"w", {1000}, 0}};
  const std::int64_t bytes = draws_file_bytes(layout);
  BOOST_TEST(bytes > 4'000'000'000'000);
  BOOST_TEST(bytes < 4'000'100'000'000);
}

BOOST_AUTO_TEST_CASE(a_file_is_replaced_and_nothing_else_is_left_behind) {
  make("d.nc", small_layout(), 9);
  create_draws(scratch / "d.nc", small_layout(3));
  BOOST_TEST(DrawsReader(scratch / "d.nc").layout().draws == 3);
  BOOST_TEST(DrawsReader(scratch / "d.nc").draws() == 0);
  BOOST_TEST(scratch.files() == 1u);
}

BOOST_AUTO_TEST_CASE(shrinking_gives_the_file_that_was_made_so) {
  for (std::int64_t draws = 0; draws <= 9; ++draws) {
    for (std::int64_t drawn : {5, 9}) {
      const std::string path = make("d.nc", small_layout(9), drawn);
      make("wanted.nc", small_layout(draws), std::min(draws, drawn));
      shrink_draws(path, draws);
      BOOST_TEST((scratch.read("d.nc") == scratch.read("wanted.nc")));
      BOOST_TEST(scratch.files() == 2u);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_file_for_no_draws_can_be_made_and_read) {
  const DrawsLayout layout = small_layout(0);
  const std::string path = make("d.nc", layout, 0);
  const DrawsReader reader(path);
  BOOST_TEST(reader.draws() == 0);
  BOOST_TEST(reader.steps().empty());
  BOOST_TEST(reader.read(0, 0, 6).empty());
  BOOST_TEST(reader.read_statistic(1).empty());
  DrawsWriter writer(path, layout);
  writer.sync();
  BOOST_TEST(error_of([&] { put(writer, layout, 0); }) ==
             "[draws] d.nc: state of draw 0: the file has 0 draws (2)");
}

BOOST_AUTO_TEST_CASE(a_full_disk_loses_nothing) {
  const DrawsLayout layout = small_layout(300);
  make("wanted.nc", layout, 300);
  const std::string path = make("d.nc", layout, 0);
  const std::string full = "[draws] d.nc: cannot write: File too large (6)";
  for (std::int64_t buffer : {0, 5000, 1 << 20}) {
    create_draws(path, layout);
    // In the middle of the parameters, and not at the border of a number.
    const std::int64_t disk = draws_file_bytes(layout) - 20'001;
    DrawsWriter writer(path, layout, buffer);
    std::int64_t refused = 0;
    for (std::int64_t draw = 0; draw < 300; ++draw) {
      if (draw % 100 == 50) {
        const FileSizeLimit limit(disk);
        BOOST_TEST(error_of([&] { writer.flush(); }) == full);
        BOOST_TEST(error_of([&] { writer.sync(); }) == full);
        const std::string error = error_of([&] { put(writer, layout, draw); });
        refused += error == full;
        if (error == "no error") {
          put_statistics(writer, layout, draw);
          continue;
        }
      }
      put_all(writer, layout, draw, draw + 1);
    }
    BOOST_TEST((refused > 0) == (buffer == 0));
    writer.flush();
    BOOST_TEST((scratch.read("d.nc") == scratch.read("wanted.nc")));
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_finds_no_room_is_an_error_and_leaves_nothing) {
  const DrawsLayout layout = small_layout(3000);
  {
    const FileSizeLimit limit(10'000);
    const std::string error = error_of([&] { create_draws(scratch / "d.nc", layout); });
    BOOST_TEST(error.starts_with("[draws] d.nc: cannot write: files are limited to 10000 bytes; "));
    BOOST_TEST(error.ends_with(" are wanted (6)"));
    BOOST_TEST(scratch.files() == 0u);
  }
  make("d.nc", layout, 10);
  BOOST_TEST(DrawsReader(scratch / "d.nc").draws() == 10);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_opened_or_made_says_why) {
  const auto read = [&](std::string_view name) {
    return error_of([&] { DrawsReader reader(scratch / name); });
  };
  const auto write = [&](std::string_view name) {
    return error_of([&] { DrawsWriter writer(scratch / name, small_layout()); });
  };
  const auto create = [&](std::string_view name) {
    return error_of([&] { create_draws(scratch / name, small_layout()); });
  };
  std::filesystem::create_directory(scratch / "folder");
  BOOST_TEST(read("none.nc") == "[draws] none.nc: cannot open: No such file or directory (6)");
  BOOST_TEST(write("none.nc") == "[draws] none.nc: cannot open: No such file or directory (6)");
  BOOST_TEST(read("folder") == "[draws] folder: cannot read: Is a directory (6)");
  BOOST_TEST(write("folder") == "[draws] folder: cannot open: Is a directory (6)");
  BOOST_TEST(error_of([] { DrawsReader reader("/dev/null"); }) ==
             "[draws] /dev/null: cannot read: not a regular file (6)");
  BOOST_TEST(create("folder") == "[draws] folder: cannot write: Is a directory (6)");
  BOOST_TEST(create("no/d.nc") == "[draws] no/d.nc: cannot write: No such file or directory (6)");
  BOOST_TEST(error_of([] { create_draws("/dev/null", small_layout()); }) ==
             "[draws] /dev/null: cannot write: not a regular file (6)");
  BOOST_TEST(error_of([&] { shrink_draws(scratch / "none.nc", 1); }) ==
             "[draws] none.nc: cannot open: No such file or directory (6)");
  DrawsLayout layout = small_layout();
  layout.attributes = {{"a/b", "text"}};
  BOOST_TEST(error_of([&] { create_draws(scratch / "d.nc", layout); }) ==
             "[draws] d.nc: cannot make the netCDF header: NetCDF: Name contains illegal "
             "characters (6)");
  BOOST_TEST(scratch.files() == 1u);
}

BOOST_AUTO_TEST_CASE(mistakes_of_a_caller_are_told) {
  const DrawsLayout layout = small_layout();
  const std::string path = make("d.nc", layout, 9);
  DrawsWriter writer(path, layout);
  const auto put_error = [&](std::int64_t draw, std::int64_t step, const Tensor& states) {
    return error_of([&] { writer.put(draw, step, states); });
  };
  const Tensor good = state(layout, 3);
  BOOST_TEST(put_error(9, 1, good) == "[draws] d.nc: state of draw 9: the file has 9 draws (2)");
  BOOST_TEST(put_error(-1, 1, good) == "[draws] d.nc: state of draw -1: the file has 9 draws (2)");
  BOOST_TEST(put_error(3, -1, good) == "[draws] d.nc: draw 3 has step -1 (2)");
  BOOST_TEST(put_error(3, 1, Tensor({DType::f32, {3, 11}})) ==
             "[draws] d.nc: states are f32[3,11]; 3 chains of at least 12 floats are wanted (2)");
  BOOST_TEST(put_error(3, 1, Tensor({DType::i32, {3, 12}})) ==
             "[draws] d.nc: states are i32[3,12]; 3 chains of at least 12 floats are wanted (2)");
  BOOST_TEST(error_of([&] {
               writer.put(3, 1, Tensor({DType::f32, {2, 3, 12}}), 2);
             }) == "[draws] d.nc: state 2 of 2 does not exist (2)");
  writer.put(3, 1, good);
  BOOST_TEST(put_error(5, 2, good) == "[draws] d.nc: state of draw 5: the next one is 4 (2)");
  const std::vector<double> values(3);
  writer.put_statistic(0, 2, values);
  BOOST_TEST(error_of([&] { writer.put_statistic(0, 2, values); }) ==
             "[draws] d.nc: lp of draw 2: the next one is 3 (2)");
  BOOST_TEST(error_of([&] { writer.put_statistic(2, 2, values); }) ==
             "[draws] d.nc: 3 values of statistic 2; the file has 2 for 3 chains (2)");
  const DrawsReader reader(path);
  BOOST_TEST(error_of([&] { reader.read(4, 0, 1); }) ==
             "[draws] d.nc: parameter 4 does not exist: there are 4 (2)");
  BOOST_TEST(error_of([&] { reader.read(0, 4, 3); }) ==
             "[draws] d.nc: 'layer/w' has 6 elements, not 3 from 4 on (2)");
  BOOST_TEST(error_of([&] { reader.read_statistic(2); }) ==
             "[draws] d.nc: statistic 2 does not exist: there are 2 (2)");
  BOOST_TEST(error_of([&] { shrink_draws(path, 10); }) ==
             "[draws] d.nc: cannot be shrunk to 10 draws: it has 9 (2)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
