// Checkpoints: every bit comes back, and whatever happened to a file is noticed before it is used.
#include "storage/checkpoint.hpp"

#include <sys/stat.h>
#include <xxhash.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "errors.hpp"
#include "scratch.hpp"

namespace whorl::testing {

namespace {

Checkpoint example(std::int64_t step = 12) {
  Checkpoint checkpoint;
  checkpoint.step = step;
  checkpoint.identity = {{"run", "sample"}, {"config", "a: 1\nb: 2\n"}, {"empty", ""}};
  checkpoint.tensors.emplace("state", Tensor::of<float>({2, 3}, {1, -0.0f, 3e-45f, 4, 5, 6}));
  checkpoint.tensors.emplace("nothing", Tensor({DType::f64, {3, 0}}));
  checkpoint.tensors.emplace("count", Tensor::of<std::int32_t>({}, {7}));
  checkpoint.put("numbers", std::vector{0.1, std::nan(""), 1e300});
  return checkpoint;
}

void check_same(const Checkpoint& a, const Checkpoint& b) {
  BOOST_TEST(a.step == b.step);
  BOOST_TEST((a.identity == b.identity));
  BOOST_REQUIRE(a.tensors.size() == b.tensors.size());
  for (const auto& [name, tensor] : a.tensors)
    BOOST_TEST(tensor.same_bits(b.tensors.find(name)->second), name);
}

// The content of a checkpoint with another header, whose checksum and length are right.
std::string with_header(const std::string& bytes, const std::string& header) {
  std::uint64_t old_size = 0;
  std::memcpy(&old_size, bytes.data() + 24, 8);
  const std::string rest = bytes.substr(32 + old_size + 8);
  const auto word = [](std::uint64_t value) {
    return std::string(reinterpret_cast<const char*>(&value), 8);
  };
  const std::string middle =
      word(header.size()) + header + word(XXH3_64bits(header.data(), header.size()));
  return bytes.substr(0, 16) + word(24 + middle.size() + rest.size()) + middle + rest;
}

std::string header_of(const std::string& bytes) {
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data() + 24, 8);
  return bytes.substr(32, size);
}

std::string load_error_of(const Scratch& scratch, const std::string& bytes) {
  const std::string path = scratch.write("c", bytes);
  const std::string text = error_text([&] { load_checkpoint(path); });
  const std::size_t at = text.find(path);
  return at == std::string::npos ? text : text.substr(0, at) + "c" + text.substr(at + path.size());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(checkpoint)

BOOST_AUTO_TEST_CASE(every_bit_comes_back) {
  const Scratch scratch;
  save_checkpoint(scratch / "c", example());
  check_same(load_checkpoint(scratch / "c"), example());
  save_checkpoint(scratch / "empty", {});
  check_same(load_checkpoint(scratch / "empty"), {});
}

BOOST_AUTO_TEST_CASE(the_same_checkpoint_is_the_same_bytes) {
  const Scratch scratch;
  save_checkpoint(scratch / "a", example());
  save_checkpoint(scratch / "b", example());
  BOOST_TEST(scratch.read("a") == scratch.read("b"));
  BOOST_TEST(scratch.files() == 2u);  // nothing temporary is left
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  const Scratch scratch;
  save_checkpoint(scratch / "good", example());
  const std::string bytes = scratch.read("good");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    BOOST_TEST(!load_error_of(scratch, bytes.substr(0, size)).empty(), size);
  BOOST_TEST(load_error_of(scratch, "") ==
             "[checkpoint] c: this is not a checkpoint: the file is empty");
  BOOST_TEST(
      load_error_of(scratch, bytes + "x") ==
      fmt::format("[checkpoint] c: the file is damaged: it has {} bytes, its beginning says {}",
                  bytes.size() + 1, bytes.size()));
}

BOOST_AUTO_TEST_CASE(every_flipped_bit_is_noticed) {
  const Scratch scratch;
  save_checkpoint(scratch / "good", example());
  std::string bytes = scratch.read("good");
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    BOOST_TEST(!load_error_of(scratch, bytes).empty(), bit);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
  BOOST_TEST(load_error_of(scratch, bytes).empty());
}

BOOST_AUTO_TEST_CASE(a_damaged_tensor_is_named) {
  const Scratch scratch;
  save_checkpoint(scratch / "good", example());
  std::string bytes = scratch.read("good");
  // Tensors come in the order of their names: the last one is 'state', before the end mark.
  bytes[bytes.size() - 12] ^= 4;
  BOOST_TEST(load_error_of(scratch, bytes) ==
             "[checkpoint] c: the file is damaged: the checksum of 'state' is wrong");
}

BOOST_AUTO_TEST_CASE(absurd_content_with_right_checksums_is_refused) {
  const Scratch scratch;
  save_checkpoint(scratch / "good", example());
  const std::string bytes = scratch.read("good"), header = header_of(bytes);
  BOOST_REQUIRE(load_error_of(scratch, with_header(bytes, header)).empty());
  // Every word of the header, wherever it begins, with values that overflow or lie.
  for (std::size_t at = 0; at + 8 <= header.size(); ++at)
    for (std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{127}, std::uint64_t{1} << 31,
          std::uint64_t{1} << 40, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
      std::string changed = header;
      std::memcpy(changed.data() + at, &value, 8);
      load_error_of(scratch, with_header(bytes, changed));  // refused or other numbers: no crash
    }
  BOOST_TEST(load_error_of(scratch, with_header(bytes, header + "more")) ==
             "[checkpoint] c: the file is damaged: its beginning has 4 bytes too many");
}

BOOST_AUTO_TEST_CASE(other_files_and_versions_are_told) {
  const Scratch scratch;
  save_checkpoint(scratch / "good", example());
  std::string bytes = scratch.read("good");
  BOOST_TEST(load_error_of(scratch, "\x89PNG\r\n and more") ==
             "[checkpoint] c: this is not a checkpoint");
  bytes[8] = 2;
  BOOST_TEST(load_error_of(scratch, bytes) ==
             "[checkpoint] c: its format is version 2, of a newer Whorl; this one knows version 1");
  BOOST_TEST(error_text([&] {
               load_checkpoint(scratch / "missing");
             }).ends_with("missing: cannot open: No such file or directory"));
}

BOOST_AUTO_TEST_CASE(what_is_asked_for_must_be_there) {
  const Checkpoint checkpoint = example();
  BOOST_TEST(checkpoint.tensor("state", {DType::f32, {2, 3}}).at(3) == 4);
  BOOST_TEST(error_text([&] {
               checkpoint.tensor("stat", {DType::f32, {}});
             }) == "[checkpoint] it has no 'stat'; expected f32[]");
  BOOST_TEST(error_text([&] {
               checkpoint.tensor("state", {DType::f32, {3, 2}});
             }) == "[checkpoint] its 'state' is f32[2,3]; expected f32[3,2]");
  BOOST_TEST(error_text([&] { checkpoint.numbers("state"); }) ==
             "[checkpoint] it has no 'state'; expected numbers in f64");
  BOOST_TEST(error_text([&] { checkpoint.number("numbers"); }) ==
             "[checkpoint] its 'numbers' has 3 numbers; expected one");
}

BOOST_AUTO_TEST_CASE(hashes_of_data_see_names_types_and_every_element) {
  const Tensor a = Tensor::of<float>({2}, {1, 2}), b = Tensor::of<float>({2}, {1, 3});
  const Tensor c = Tensor::of<float>({2, 1}, {1, 2});
  const std::string hash = tensors_hash({{"x", a}});
  BOOST_TEST(hash.size() == 32u);
  BOOST_TEST(tensors_hash({{"x", a.clone()}}) == hash);
  for (const auto& other :
       {tensors_hash({{"x", b}}), tensors_hash({{"x", c}}), tensors_hash({{"y", a}}),
        tensors_hash({}), tensors_hash({{"x", a}, {"y", a}})})
    BOOST_TEST(other != hash);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(checkpoint_folder)

BOOST_AUTO_TEST_CASE(the_two_newest_are_kept) {
  const Scratch scratch;
  CheckpointFolder folder(scratch / "checkpoint");
  std::vector<std::string> notes;
  BOOST_TEST(!folder.newest(notes));
  for (std::int64_t step : {5, 90, 1000, 20000}) folder.save(example(step));
  BOOST_TEST(std::distance(std::filesystem::directory_iterator(scratch / "checkpoint"), {}) == 2);
  BOOST_TEST(CheckpointFolder(scratch / "checkpoint").newest(notes)->step == 20000);
  BOOST_TEST(notes.empty());
  folder.keep_only(20000);
  BOOST_TEST(std::distance(std::filesystem::directory_iterator(scratch / "checkpoint"), {}) == 1);
  folder.remove();
  BOOST_TEST(!std::filesystem::exists(scratch / "checkpoint"));
}

BOOST_AUTO_TEST_CASE(a_damaged_one_is_passed_over_with_a_note_and_goes_with_the_next_save) {
  const Scratch scratch;
  CheckpointFolder folder(scratch / "checkpoint");
  folder.save(example(10));
  folder.save(example(20));
  const std::string newest = "checkpoint/step-000000000020.checkpoint";
  scratch.write(newest, scratch.read(newest).substr(0, 100));
  CheckpointFolder again(scratch / "checkpoint");
  std::vector<std::string> notes;
  BOOST_TEST(again.newest(notes)->step == 10);
  BOOST_REQUIRE(notes.size() == 1u);
  BOOST_TEST(notes[0].starts_with("passed over: "), notes[0]);
  BOOST_TEST(notes[0].find(newest + ": the file is damaged: it has 100 bytes") !=
             std::string::npos);
  again.save(example(15));
  BOOST_TEST(!std::filesystem::exists(scratch / newest));
  BOOST_TEST(CheckpointFolder(scratch / "checkpoint").newest(notes)->step == 15);
}

BOOST_AUTO_TEST_CASE(where_all_are_damaged_nothing_is_overwritten) {
  const Scratch scratch;
  CheckpointFolder(scratch / "checkpoint").save(example(10));
  const std::string file = "checkpoint/step-000000000010.checkpoint";
  scratch.write(file, "nothing");
  std::vector<std::string> notes;
  CheckpointFolder folder(scratch / "checkpoint");
  const std::string text = error_text([&] { folder.newest(notes); });
  BOOST_TEST(text.starts_with("[checkpoint] none of 1 checkpoint in "), text);
  BOOST_TEST(text.ends_with("can be used: " + scratch / file + ": this is not a checkpoint"), text);
  BOOST_TEST(scratch.read(file) == "nothing");
}

BOOST_AUTO_TEST_CASE(order_is_by_step_and_what_is_not_ours_stays) {
  const Scratch scratch;
  CheckpointFolder folder(scratch / "checkpoint");
  folder.save(example(9));
  scratch.write("checkpoint/step-000000000007.checkpoint.99-0.tmp", "half");
  scratch.write("checkpoint/step-x.checkpoint", "mine");
  scratch.write("checkpoint/notes.txt", "mine");
  folder.save(example(8));  // a clock that was set back does not matter: names have the step
  std::vector<std::string> notes;
  BOOST_TEST(CheckpointFolder(scratch / "checkpoint").newest(notes)->step == 9);
  BOOST_TEST(
      !std::filesystem::exists(scratch / "checkpoint/step-000000000007.checkpoint.99-0.tmp"));
  folder.remove();
  BOOST_TEST(scratch.read("checkpoint/notes.txt") == "mine");
  BOOST_TEST(scratch.read("checkpoint/step-x.checkpoint") == "mine");
}

BOOST_AUTO_TEST_CASE(a_place_that_cannot_be_is_an_io_error) {
  const Scratch scratch;
  scratch.write("file", "");
  CheckpointFolder folder(scratch / "file/checkpoint");
  BOOST_TEST(error_text([&] { folder.save(example()); }) ==
             "[checkpoint] " + scratch / "file/checkpoint" + ": cannot be made: Not a directory");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
