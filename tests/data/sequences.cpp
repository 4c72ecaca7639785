#include "data/sequences.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "data/npy.hpp"
#include "tests/data/data_fixture.hpp"
#include "tests/data/mat_bytes.hpp"

namespace whorl {

using testing::mat_cells, testing::mat_compressed, testing::mat_file, testing::mat_numbers;
using Lengths = std::vector<std::int64_t>;

namespace {

struct Fixture : testing::DataFixture {
  std::string error_of_source(const std::string& source) {
    return error_of([&] { load_sequences(scratch / source, DType::f32); });
  }
};

// Lets the process have so many bytes more than it has.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::int64_t bytes) {
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &old_);
    const rlimit limit{static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + bytes), old_.rlim_max};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &old_); }

 private:
  rlimit old_{};
};

// Sequences of one column with these lengths, frames 0, 1, 2, ...
Sequences of_lengths(const Lengths& lengths) {
  Lengths starts{0};
  for (std::int64_t length : lengths) starts.push_back(starts.back() + length);
  Tensor frames({DType::f32, {starts.back(), 1}});
  for (std::int64_t i = 0; i < frames.elements(); ++i)
    frames.data<float>()[i] = static_cast<float>(i);
  return {frames, starts};
}

void check_starts(const Sequences& sequences, const Lengths& starts) {
  BOOST_TEST(sequences.starts() == starts, boost::test_tools::per_element());
}

// All lengths at which a sequence ends up.
Lengths padded(const Sequences& sequences, const Lengths& buckets) {
  Lengths result;
  for (std::int64_t s = 0; s < sequences.count(); ++s)
    result.push_back(buckets[bucket_of(buckets, sequences.length(s))]);
  return result;
}

const Tensor three_by_two = Tensor::of<double>({3, 2}, {1, 2, 3, 4, 5, 6});
const Tensor one_by_two = Tensor::of<float>({1, 2}, {7, 8});

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sequences, Fixture)

BOOST_AUTO_TEST_CASE(sequences_stand_one_after_the_other) {
  const Sequences sequences = of_lengths({3, 1, 4});
  BOOST_TEST(sequences.count() == 3);
  BOOST_TEST(sequences.frames() == 8);
  BOOST_TEST(sequences.columns() == 1);
  BOOST_TEST(sequences.start(1) == 3);
  BOOST_TEST(sequences.length(1) == 1);
  BOOST_TEST(sequences.length(2) == 4);
  BOOST_TEST(sequences.longest() == 4);
}

BOOST_AUTO_TEST_CASE(what_would_break_the_invariants_is_refused) {
  const auto error = [&](const Tensor& frames, const Lengths& starts) {
    return error_of([&] { Sequences(frames, starts); });
  };
  BOOST_TEST(error(one_by_two, {}) == "[sequences] there are no sequences (4)");
  BOOST_TEST(error(one_by_two, {0}) == "[sequences] there are no sequences (4)");
  BOOST_TEST(error(three_by_two, {0, 2}) ==
             "[sequences] the sequences are frames 0 to 2; expected 0 to 3 (4)");
  BOOST_TEST(error(three_by_two, {1, 3}) ==
             "[sequences] the sequences are frames 1 to 3; expected 0 to 3 (4)");
  for (const Lengths& starts : {Lengths{0, 1, 1, 3}, Lengths{0, 4, 2, 3}})
    BOOST_TEST(error(three_by_two, starts) == "[sequences] sequence 1 has no frames (4)");
  BOOST_TEST(error(Tensor::of<float>({2}, {1, 2}), {0, 2}) ==
             "[sequences] the frames are f32[2]; expected f32 or f64 [T,C] (4)");
  BOOST_TEST(error(Tensor({DType::f32, {2, 0}}), {0, 2}) ==
             "[sequences] the frames are f32[2,0]; expected f32 or f64 [T,C] (4)");
  BOOST_TEST(error(Tensor({DType::i32, {2, 1}}), {0, 2}) ==
             "[sequences] the frames are i32[2,1]; expected f32 or f64 [T,C] (4)");
  BOOST_TEST(error(Tensor::of<float>({2, 2}, {1, 2, 3, INFINITY}), {0, 2}) ==
             "[sequences] frame 1 has a number that is not finite: inf (4)");
}

BOOST_AUTO_TEST_CASE(the_cells_of_a_mat_variable_are_sequences) {
  write("m.mat", mat_file({mat_cells("songs", {mat_numbers<std::uint8_t>({2, 2}, {1, 3, 2, 4}),
                                               mat_numbers<std::uint8_t>({1, 2}, {5, 6})})}));
  for (DType dtype : {DType::f32, DType::f64}) {
    const Sequences sequences = load_sequences(scratch / "m.mat:songs", dtype);
    check_starts(sequences, {0, 2, 3});
    BOOST_TEST(sequences.tensor().same_bits(
        Tensor::from({dtype, {3, 2}}, std::vector<double>{1, 2, 3, 4, 5, 6})));
  }
}

BOOST_AUTO_TEST_CASE(the_npy_files_of_a_folder_are_sequences_in_the_order_of_their_names) {
  save_npy(scratch / "b.npy", three_by_two);
  save_npy(scratch / "B.npy", one_by_two);
  save_npy(scratch / ".hidden.npy", Tensor::scalar(1.0f));
  write("notes.txt", "not a sequence");
  const Sequences sequences = load_sequences(scratch.path(), DType::f32);
  check_starts(sequences, {0, 1, 4});
  BOOST_TEST(sequences.tensor().same_bits(Tensor::of<float>({4, 2}, {7, 8, 1, 2, 3, 4, 5, 6})));
}

BOOST_AUTO_TEST_CASE(an_npy_file_is_one_sequence) {
  save_npy(scratch / "a.npy", three_by_two);
  const Sequences sequences = load_sequences(scratch / "a.npy", DType::f64);
  check_starts(sequences, {0, 3});
  BOOST_TEST(sequences.tensor().same_bits(three_by_two));
}

BOOST_AUTO_TEST_CASE(a_long_sequence_is_as_good_as_another) {
  save_npy(scratch / "a.npy", Tensor({DType::f32, {20000, 3}}));
  BOOST_TEST(load_sequences(scratch / "a.npy", DType::f32).longest() == 20000);
}

BOOST_AUTO_TEST_CASE(a_source_that_cannot_be_read_is_refused) {
  BOOST_TEST(error_of_source("none") == "[data] none: cannot open: No such file or directory (6)");
  BOOST_TEST(error_of_source("none.mat:x") ==
             "[mat] none.mat: cannot open: No such file or directory (6)");
  std::filesystem::create_directory(scratch / "empty");
  BOOST_TEST(error_of_source("empty") == "[sequences] empty: there are no .npy files in it (4)");
  std::filesystem::create_directory(scratch / "empty/a.npy");
  BOOST_TEST(error_of_source("empty") == "[data] empty/a.npy: cannot read: Is a directory (6)");
  BOOST_TEST(error_of([&] { load_sequences(scratch / "none", DType::i32); }) ==
             "[sequences] frames cannot be i32; expected f32 or f64 (2)");
}

BOOST_AUTO_TEST_CASE(a_mat_file_without_its_variable_lists_those_that_there_are) {
  const std::string cells = mat_numbers<std::uint8_t>({1, 1}, {1});
  write("m.mat", mat_file({mat_cells("train", {cells}), mat_cells("test", {cells})}));
  const std::string which =
      "[sequences] m.mat: which variable? the file has: train, test; write "
      "m.mat:train (2)";
  BOOST_TEST(error_of_source("m.mat") == which);
  BOOST_TEST(error_of_source("m.mat:") == which);
  BOOST_TEST(error_of_source("m.mat:tarin") ==
             "[mat] m.mat: there is no variable 'tarin', did you mean 'train'? (4)");
  BOOST_TEST(error_of_source("m.mat:songs") ==
             "[mat] m.mat: there is no variable 'songs'; the file has: train, test (4)");
}

BOOST_AUTO_TEST_CASE(sequences_of_other_shapes_are_refused) {
  write("m.mat", mat_file({mat_cells("none", {}),
                           mat_cells("empty", {mat_numbers<std::uint8_t>({1, 2}, {1, 2}),
                                               mat_numbers<std::uint8_t>({0, 2}, {})}),
                           mat_cells("other", {mat_numbers<std::uint8_t>({1, 2}, {1, 2}),
                                               mat_numbers<std::uint8_t>({1, 3}, {1, 2, 3})}),
                           mat_cells("narrow", {mat_numbers<std::uint8_t>({5, 0}, {})})}));
  BOOST_TEST(error_of_source("m.mat:none") ==
             "[sequences] m.mat: variable 'none' has no cells (4)");
  BOOST_TEST(error_of_source("m.mat:empty") ==
             "[sequences] m.mat: variable 'empty': cell 2: the sequence has no frames: found "
             "[0,2]; expected [T,2] (4)");
  BOOST_TEST(error_of_source("m.mat:other") ==
             "[sequences] m.mat: variable 'other': cell 2: found [1,3]; expected a sequence [T,2] "
             "(4)");
  BOOST_TEST(error_of_source("m.mat:narrow") ==
             "[sequences] m.mat: variable 'narrow': cell 1: found [5,0]; expected a sequence [T,C] "
             "(4)");
  save_npy(scratch / "a.npy", Tensor({DType::f32, {3, 2, 2}}));
  BOOST_TEST(error_of_source("a.npy") ==
             "[sequences] a.npy: found [3,2,2]; expected a sequence [T,C] (4)");
  save_npy(scratch / "a.npy", Tensor::of<double>({2, 1}, {0, 1e39}));
  BOOST_TEST(error_of_source("a.npy") ==
             "[npy] a.npy: row 1: 1e+39 is too large for an array of f32 (4)");
}

// Sanitizers take memory of their own, and keep what is given back.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
BOOST_AUTO_TEST_CASE(the_frames_are_in_memory_once) {
  // 64 MiB of frames: from 16 MiB of bytes in two cells, or from eight files of 8 MiB.
  constexpr std::int32_t mebi = 1 << 20;
  const std::int64_t enough = (64 + 16 + 8) * std::int64_t{mebi};
  const std::string songs = [] {
    const auto cell = mat_numbers<std::uint8_t>({mebi, 8}, std::vector<std::uint8_t>(8 * mebi));
    return mat_cells("songs", {cell, cell});
  }();
  std::filesystem::create_directory(scratch / "folder");
  write("plain.mat", mat_file({songs}));
  write("packed.mat", mat_file({mat_compressed(songs)}));
  for (int i = 0; i < 8; ++i)
    save_npy(scratch / fmt::format("folder/{}.npy", i), Tensor({DType::f32, {mebi / 4, 8}}));
  for (const char* source : {"plain.mat:songs", "packed.mat:songs", "folder"}) {
    const MemoryLimit limit(enough);
    BOOST_TEST(load_sequences(scratch / source, DType::f32).frames() == 2 * mebi);
  }
}
#endif

BOOST_AUTO_TEST_CASE(cutting_makes_windows_of_the_same_frames) {
  const Sequences whole = of_lengths({5, 2, 4});
  const Sequences windows = cut(whole, 2);
  check_starts(windows, {0, 2, 4, 5, 7, 9, 11});
  BOOST_TEST(windows.tensor().raw() == whole.tensor().raw());
  check_starts(cut(whole, 5), whole.starts());
  check_starts(cut(whole, std::numeric_limits<std::int64_t>::max()), whole.starts());
  BOOST_TEST(cut(whole, 1).count() == 11);
  BOOST_TEST(error_of([&] { cut(whole, 0); }) ==
             "[sequences] the window is 0 frames; expected 1 or more (2)");
}

BOOST_AUTO_TEST_CASE(buckets_fall_by_a_ratio_and_serve_all_sequences) {
  const Sequences sequences = of_lengths({100, 99, 70, 13, 1});
  // 100 / 1.35 = 74, then 54, 40, 29, 21, 15, 11, 8
  const Lengths buckets = bucket_lengths(sequences);
  BOOST_TEST(buckets == (Lengths{8, 16, 80, 104}), boost::test_tools::per_element());
  BOOST_TEST(padded(sequences, buckets) == (Lengths{104, 104, 80, 16, 8}),
             boost::test_tools::per_element());
  BOOST_TEST(bucket_lengths(of_lengths({7})) == Lengths{8}, boost::test_tools::per_element());
  BOOST_TEST(bucket_of(buckets, 8) == 0u);
  BOOST_TEST(bucket_of(buckets, 9) == 1u);
  BOOST_TEST(error_of([&] { bucket_of(buckets, 105); }) ==
             "[sequences] a sequence has 105 frames, more than the longest length of 104 (4)");
}

BOOST_AUTO_TEST_CASE(the_waste_of_padding_is_bounded) {
  // Every length there may be, of each of several longest ones.
  for (std::int64_t longest : {1, 8, 9, 63, 129, 200}) {
    Lengths lengths;
    for (std::int64_t length = 1; length <= longest; ++length) lengths.push_back(length);
    const Sequences sequences = of_lengths(lengths);
    const Lengths buckets = bucket_lengths(sequences);
    BOOST_TEST(buckets.size() <= 12u);
    const Lengths found = padded(sequences, buckets);
    for (std::size_t i = 0; i < found.size(); ++i)
      BOOST_TEST(static_cast<double>(found[i]) < 1.35 * static_cast<double>(lengths[i]) + 10);
  }
}

BOOST_AUTO_TEST_CASE(there_are_at_most_as_many_buckets_as_asked_for) {
  Lengths lengths;
  for (std::int64_t length = 1; length < 5000; length += length / 20 + 1) lengths.push_back(length);
  const Sequences sequences = of_lengths(lengths);
  for (std::int64_t most : {1, 2, 5, 12, 30}) {
    const Lengths buckets = bucket_lengths(sequences, most);
    BOOST_TEST(std::ssize(buckets) <= most);
    BOOST_TEST(padded(sequences, buckets).back() == (lengths.back() + 7) / 8 * 8);
  }
  BOOST_TEST(bucket_lengths(sequences).size() >= 10u);
  BOOST_TEST(error_of([&] { bucket_lengths(sequences, 0); }) ==
             "[sequences] the number of bucket lengths is 0; expected 1 or more (2)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
