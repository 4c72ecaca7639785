#include "engine/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>

#include "engine/error.hpp"
#include "scratch.hpp"

namespace whorl {

namespace {

using testing::Scratch;

template <class F>
std::string error_of(const Scratch& scratch, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    std::string text = error.what();
    const std::string directory = scratch.path() + "/";
    if (const auto at = text.find(directory); at != std::string::npos)
      text.erase(at, directory.size());
    return fmt::format("{} ({})", text, exit_code(error.kind()));
  }
  return "no error";
}

std::string open_error(const Scratch& scratch, std::string_view name) {
  return error_of(scratch, [&] { InputFile("test", scratch / name); });
}

// Files that this process writes may not grow beyond a size for the life of the object.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &saved_);
    const rlimit limit{bytes, saved_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &saved_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit saved_ = {};
  void (*handler_)(int);
};

}  // namespace

BOOST_AUTO_TEST_SUITE(file)

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_refused_in_the_words_of_the_system) {
  const Scratch scratch;
  ::mkfifo((scratch / "pipe").c_str(), 0600);
  BOOST_TEST(open_error(scratch, "missing") ==
             "[test] missing: cannot open: No such file or directory (6)");
  BOOST_TEST(open_error(scratch, ".").find("cannot read: Is a directory (6)") != std::string::npos);
  BOOST_TEST(open_error(scratch, "pipe") == "[test] pipe: cannot read: not a regular file (6)");
  BOOST_TEST(open_error(scratch, std::string(300, 'x')) ==
             "[test] " + std::string(300, 'x') + ": cannot open: File name too long (6)");
  BOOST_TEST(error_of(scratch, [] { InputFile("test", "/dev/zero"); }) ==
             "[test] /dev/zero: cannot read: not a regular file (6)");
}

BOOST_AUTO_TEST_CASE(a_file_without_permission_is_refused) {
  const Scratch scratch;
  const std::string path = scratch.write("secret", "x");
  ::chmod(path.c_str(), 0);
  // The superuser may read everything.
  if (::geteuid() != 0) {
    BOOST_TEST(open_error(scratch, "secret") ==
               "[test] secret: cannot open: Permission denied (6)");
  } else {
    BOOST_TEST(open_error(scratch, "secret") == "no error");
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_shrinks_or_changes_while_it_is_read_is_refused) {
  const Scratch scratch;
  InputFile file("test", scratch.write("x", "0123456789"));
  char bytes[10];
  file.read(bytes, 4);
  BOOST_TEST(std::string(bytes, 4) == "0123");
  scratch.write("x", "01234");
  BOOST_TEST(error_of(scratch, [&] { file.read(bytes, 6); }) ==
             "[test] x: the file ended at byte 5 while it was read: 5 more wanted (6)");
  BOOST_TEST(error_of(scratch, [&] { file.check_unchanged(); }) ==
             "[test] x: the file was changed while it was read (6)");
}

BOOST_AUTO_TEST_CASE(a_written_file_replaces_the_old_one_and_leaves_nothing_beside_it) {
  const Scratch scratch;
  scratch.write("out", "old");
  write_file("test", scratch / "out", "new text");
  BOOST_TEST(scratch.read("out") == "new text");
  BOOST_TEST(scratch.files() == 1u);
}

BOOST_AUTO_TEST_CASE(a_failed_write_keeps_the_old_file_and_leaves_nothing_beside_it) {
  const Scratch scratch;
  scratch.write("out", "old");
  const std::string text(100000, 'x');
  {
    const FileSizeLimit limit(4096);
    BOOST_TEST(error_of(scratch, [&] { write_file("test", scratch / "out", text); }) ==
               "[test] out: cannot write: File too large (6)");
  }
  BOOST_TEST(scratch.read("out") == "old");
  BOOST_TEST(scratch.files() == 1u);
}

BOOST_AUTO_TEST_CASE(a_link_stays_a_link_and_its_target_is_written) {
  const Scratch scratch;
  scratch.write("target", "old");
  std::filesystem::create_symlink(scratch / "target", scratch / "link");
  write_file("test", scratch / "link", "new");
  BOOST_TEST(std::filesystem::is_symlink(scratch / "link"));
  BOOST_TEST(scratch.read("target") == "new");
}

BOOST_AUTO_TEST_CASE(places_that_cannot_be_written_are_refused) {
  const Scratch scratch;
  BOOST_TEST(error_of(scratch, [&] { write_file("test", scratch / "no/out", "x"); }) ==
             "[test] no/out: cannot write: No such file or directory (6)");
  std::filesystem::create_directory(scratch / "folder");
  BOOST_TEST(error_of(scratch, [&] { write_file("test", scratch / "folder", "x"); }) ==
             "[test] folder: cannot write: Is a directory (6)");
  BOOST_TEST(error_of(scratch, [&] { write_file("test", "/dev/null", "x"); }) ==
             "[test] /dev/null: cannot write: not a regular file (6)");
  // The name of an open file is not a place to write one, even where the file is regular.
  scratch.write("in", "old");
  const int descriptor = ::open((scratch / "in").c_str(), O_RDONLY);
  const std::string name = "/proc/self/fd/" + std::to_string(descriptor);
  BOOST_TEST(error_of(scratch, [&] { write_file("test", name, "x"); }) ==
             "[test] " + name + ": cannot write: not a regular file (6)");
  std::filesystem::create_symlink(name, scratch / "link");
  BOOST_TEST(error_of(scratch, [&] { write_file("test", scratch / "link", "x"); }) ==
             "[test] link: cannot write: not a regular file (6)");
  ::close(descriptor);
  BOOST_TEST(scratch.read("in") == "old");
  BOOST_TEST(error_of(scratch, [&] { write_file("test", "", "x"); }) ==
             "[test] cannot write: the file name is empty (6)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
