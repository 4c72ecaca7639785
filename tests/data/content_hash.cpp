#include "data/content_hash.hpp"

#include "tests/data/data_fixture.hpp"

namespace whorl {

BOOST_FIXTURE_TEST_SUITE(content, testing::DataFixture)

BOOST_AUTO_TEST_CASE(the_hash_is_that_of_all_bytes) {
  // XXH3_128bits of nothing, as its authors' test vectors have it.
  BOOST_TEST(content_hash(scratch.write("empty", "")) == "99aa06d3014798d86001c324468d497f");
  const std::string big(1000000, 'x');
  const std::string hash = content_hash(scratch.write("a", big));
  BOOST_TEST(content_hash(scratch.write("b", big)) == hash);
  BOOST_TEST(content_hash(scratch.write("c", big + "x")) != hash);
  std::string other = big;
  other.back() = 'y';
  BOOST_TEST(content_hash(scratch.write("d", other)) != hash);
}

BOOST_AUTO_TEST_CASE(test_data_that_are_the_training_data_are_told) {
  const std::string train = scratch.write("train.csv", "x\n1\n");
  const std::string copy = scratch.write("test.csv", "x\n1\n");
  BOOST_TEST(without_directory(same_content_warning(train, copy)) ==
             "train.csv and test.csv hold the same bytes: the test data are the training data");
  BOOST_TEST(same_content_warning(train, scratch.write("other.csv", "x\n2\n")) == "");
  BOOST_TEST(same_content_warning(train, scratch.write("long.csv", "x\n11\n")) == "");
  BOOST_TEST(error_of([&] { same_content_warning(train, scratch / "none"); }) ==
             "[hash] none: cannot open: No such file or directory (6)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
