// Files of lines: what is added is there, whole, and can be cut back to where a checkpoint was.
#include "storage/line_file.hpp"

#include <boost/test/unit_test.hpp>

#include "errors.hpp"
#include "scratch.hpp"

namespace whorl::testing {

BOOST_AUTO_TEST_SUITE(line_file)

BOOST_AUTO_TEST_CASE(lines_are_there_as_soon_as_they_are_added) {
  const Scratch scratch;
  LineFile file(scratch / "m");
  file.add("one\n");
  BOOST_TEST(scratch.read("m") == "one\n");
  file.add("two\n");
  file.sync();
  BOOST_TEST(scratch.read("m") == "one\ntwo\n");
  BOOST_TEST(file.size() == 8);
}

BOOST_AUTO_TEST_CASE(a_new_one_takes_the_place_of_an_old_one) {
  const Scratch scratch;
  scratch.write("m", "old and long\n");
  LineFile(scratch / "m").add("new\n");
  BOOST_TEST(scratch.read("m") == "new\n");
}

BOOST_AUTO_TEST_CASE(one_that_goes_on_is_cut_back) {
  const Scratch scratch;
  scratch.write("m", "one\ntwo\nthree\n");
  LineFile file(scratch / "m", 4);
  BOOST_TEST(scratch.read("m") == "one\n");
  file.add("2\n");
  BOOST_TEST(scratch.read("m") == "one\n2\n");
  BOOST_TEST(error_text([&] { LineFile again(scratch / "m", 7); }) ==
             "[run] " + scratch / "m" + ": the file has 6 bytes, the checkpoint knows of 7");
  BOOST_TEST(error_text([&] { LineFile again(scratch / "n", 0); }) ==
             "[run] " + scratch / "n" + ": cannot be written: No such file or directory");
}

BOOST_AUTO_TEST_CASE(whole_lines_end_at_the_last_newline) {
  const Scratch scratch;
  BOOST_TEST(LineFile::whole_lines(scratch / "none") == 0);
  BOOST_TEST(LineFile::whole_lines(scratch.write("a", "")) == 0);
  BOOST_TEST(LineFile::whole_lines(scratch.write("b", "half")) == 0);
  BOOST_TEST(LineFile::whole_lines(scratch.write("c", "one\nha")) == 4);
  BOOST_TEST(LineFile::whole_lines(scratch.write("d", "one\n")) == 4);
}

BOOST_AUTO_TEST_CASE(zeros_of_a_power_cut_are_no_line) {
  const Scratch directory;
  const std::string path = directory.write("lines", std::string("a\nb\nc\0\0\n\0\n", 11));
  BOOST_TEST(LineFile::whole_lines(path) == 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl::testing
