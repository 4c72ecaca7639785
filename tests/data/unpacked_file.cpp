#include "data/unpacked_file.hpp"

#include "tests/data/data_fixture.hpp"
#include "tests/data/idx_bytes.hpp"

namespace whorl {

using testing::gzip;

BOOST_FIXTURE_TEST_SUITE(unpacked_file, testing::DataFixture)

BOOST_AUTO_TEST_CASE(plain_and_packed_files_have_the_same_content) {
  const std::string content = "the content, and more of it";
  for (const std::string& path : {write("x", content), write("x.gz", gzip(content))}) {
    UnpackedFile file("test", path);
    BOOST_TEST(file.packed() == path.ends_with(".gz"));
    std::string start(11, ' ');
    BOOST_TEST(file.read(start.data(), 11) == 11);
    BOOST_TEST(start == "the content");
    BOOST_TEST(!file.at_end());
  }
  UnpackedFile file("test", write("x", "12"));
  std::string all(100, ' ');
  BOOST_TEST(file.read(all.data(), 100) == 2);
  BOOST_TEST(file.at_end());
  BOOST_TEST(file.read(all.data(), 100) == 0);
}

BOOST_AUTO_TEST_CASE(a_file_that_changes_while_it_is_read_is_refused) {
  // More than a block, so that not all of it is read at once.
  std::string content(200000, ' ');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * i % 251);
  for (bool packed : {false, true}) {
    const std::string path = write("x", packed ? gzip(content) + gzip(content) : content);
    const auto read_after = [&](auto&& change) {
      UnpackedFile file("test", path);
      change();
      return error_of([&] {
        std::vector<char> memory(500000);
        file.read(memory.data(), std::ssize(memory));
        file.check_unchanged();
      });
    };
    BOOST_TEST(read_after([&] { std::ofstream(path, std::ios::app) << "more"; }) ==
               "[test] x: the file was changed while it was read (6)");
    if (!packed)
      BOOST_TEST(read_after([&] { std::filesystem::resize_file(path, 65536); }) ==
                 "[test] x: the file ended at byte 65536 while it was read: 65536 more wanted (6)");
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_somebody_writes_meanwhile_is_not_called_damaged) {
  const std::string path = write("x", gzip("content").substr(0, 12));
  UnpackedFile file("test", path);
  std::ofstream(path, std::ios::app) << "more";
  char memory[100];
  BOOST_TEST(error_of([&] { file.read(memory, 100); }) ==
             "[test] x: the file was changed while it was read (6)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
