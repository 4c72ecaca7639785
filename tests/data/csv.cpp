#include "data/csv.hpp"

#include <clocale>
#include <cmath>
#include <limits>

#include "data/lines.hpp"
#include "tests/data/data_fixture.hpp"

namespace whorl {

namespace {

struct Fixture : testing::DataFixture {
  Table load(std::string_view text, const CsvOptions& options = {}) const {
    return load_csv(write("d.csv", text), options);
  }
  std::string error(std::string_view text, const CsvOptions& options = {}) const {
    return error_of([&] { load(text, options); });
  }
  void check(const Table& table, const std::vector<std::string>& names,
             const std::vector<double>& values) const {
    BOOST_TEST(table.names == names);
    BOOST_TEST(table.values == values);
  }
};

constexpr CsvOptions dropping{.missing = Missing::drop_row};
constexpr CsvOptions headless{.header = false};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(csv, Fixture)

BOOST_AUTO_TEST_CASE(a_table_has_the_names_and_numbers_of_its_file) {
  const Table table = load("a,b,c\n1,2.5,-3e2\n.5,+7,1e-3\n");
  check(table, {"a", "b", "c"}, {1, 2.5, -300, .5, 7, 1e-3});
  BOOST_TEST(table.rows() == 2);
  BOOST_TEST(table.columns() == 3);
  BOOST_TEST(table.at(1, 1) == 7);
  BOOST_TEST(table.line(1) == 3);
}

BOOST_AUTO_TEST_CASE(line_ends_and_byte_order_marks_of_all_editors_are_read) {
  check(load("a,b\n1,2\n3,4"), {"a", "b"}, {1, 2, 3, 4});
  check(load("a,b\r\n1,2\r\n3,4\r\n"), {"a", "b"}, {1, 2, 3, 4});
  check(load("a,b\r\n1,2\r\n3,4"), {"a", "b"}, {1, 2, 3, 4});
  check(load("\xef\xbb\xbf"
             "a,b\n1,2\n"),
        {"a", "b"}, {1, 2});
  check(load("a\n1"), {"a"}, {1});
}

BOOST_AUTO_TEST_CASE(quotes_and_blanks_around_cells_do_not_count) {
  check(load("\"a, b\" ,\"say \"\"x\"\"\", \"\xc3\xa4\"\n \"1\",\t2 ,3\n"),
        {"a, b", "say \"x\"", "\xc3\xa4"}, {1, 2, 3});
}

BOOST_AUTO_TEST_CASE(other_separators_are_read_on_request) {
  check(load("a;b\n1;2\n", {.separator = ';'}), {"a", "b"}, {1, 2});
  check(load("a\tb\n1\t 2\n", {.separator = '\t'}), {"a", "b"}, {1, 2});
  check(load("a|b\n1|2\n", {.separator = '|'}), {"a", "b"}, {1, 2});
  BOOST_TEST(error("a\n1\n", {.separator = 'x'}) ==
             "[csv] the separator is 'x'; expected ',', ';', '|' or a tab (2)");
}

BOOST_AUTO_TEST_CASE(a_file_without_names_gets_them_by_number) {
  const Table table = load("1,2\n3,4\n", headless);
  check(table, {"c1", "c2"}, {1, 2, 3, 4});
  BOOST_TEST(table.line(0) == 1);
  check(load("0,1,2\n5,6,7\n"), {"0", "1", "2"}, {5, 6, 7});
}

BOOST_AUTO_TEST_CASE(every_f64_is_read_exactly_as_written) {
  std::vector<double> wanted{0.1, -1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789012345678.0};
  std::string text = "x\n";
  for (double x : wanted) text += fmt::format("{}\n", x);
  check(load(text), {"x"}, wanted);
}

BOOST_AUTO_TEST_CASE(numbers_do_not_depend_on_the_locale) {
  // Where the machine has none of these the test has nothing to show, and still holds.
  for (const char* locale : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"})
    std::setlocale(LC_ALL, locale);
  check(load("x\n1.5\n"), {"x"}, {1.5});
  BOOST_TEST(error("x;y\n1,5;2\n", {.separator = ';'}) ==
             "[csv] d.csv:2: column 'x': expected a number, found '1,5'; decimals take a point, "
             "thousands no mark (4)");
  std::setlocale(LC_ALL, "C");
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_refused_with_line_and_column) {
  const auto cell = [&](std::string_view text) {
    return error(fmt::format("name,age\n1,2\n3,{}\n", text));
  };
  const std::string start = "[csv] d.csv:3: column 'age': ";
  BOOST_TEST(cell("abc") == start + "expected a number, found 'abc' (4)");
  BOOST_TEST(cell("1.5x") == start + "expected a number, found '1.5x' (4)");
  BOOST_TEST(cell("0x1F") == start + "expected a number, found '0x1F' (4)");
  BOOST_TEST(cell("1e") == start + "expected a number, found '1e' (4)");
  BOOST_TEST(cell("--1") == start + "expected a number, found '--1' (4)");
  BOOST_TEST(cell("+-1") == start + "expected a number, found '+-1' (4)");
  BOOST_TEST(cell("true") == start + "expected a number, found 'true' (4)");
  const std::string marks = "; decimals take a point, thousands no mark (4)";
  BOOST_TEST(cell("\"1,5\"") == start + "expected a number, found '1,5'" + marks);
  BOOST_TEST(cell("\"1,234,567\"") == start + "expected a number, found '1,234,567'" + marks);
  BOOST_TEST(cell("1'000") == start + "expected a number, found '1'000'" + marks);
  BOOST_TEST(cell("1 000") == start + "expected a number, found '1 000'" + marks);
  BOOST_TEST(cell("1e999") == start + "'1e999' is beyond the range of f64 (4)");
  BOOST_TEST(cell("-1e999") == start + "'-1e999' is beyond the range of f64 (4)");
  BOOST_TEST(cell("1e-999") == start + "'1e-999' is beyond the range of f64 (4)");
  BOOST_TEST(cell("\x1b[2J\xff") == start + "expected a number, found '\\x1b[2J\\xff' (4)");
  BOOST_TEST(cell(std::string(100, 'z')) ==
             start + "expected a number, found '" + std::string(40, 'z') + "'... (4)");
}

BOOST_AUTO_TEST_CASE(missing_values_are_refused) {
  const auto cell = [&](std::string_view text) { return error(fmt::format("a,b\n{},2\n", text)); };
  const auto wanted = [](std::string_view found) {
    return fmt::format(
        "[csv] d.csv:2: column 'a': expected a number, found {}; rows with missing values can be "
        "dropped (4)",
        found);
  };
  for (std::string_view text : {"", " ", "\"\""}) BOOST_TEST(cell(text) == wanted("an empty cell"));
  for (std::string_view text : {"NA", "NaN", "nan", "-nan", "inf", "-Inf", "Infinity"})
    BOOST_TEST(cell(text) == wanted(fmt::format("'{}'", text)));
  BOOST_TEST(error("a\n\"\"\n") == wanted("an empty cell"));
}

BOOST_AUTO_TEST_CASE(rows_with_missing_values_are_dropped_on_request_and_counted) {
  const Table table = load("a,b\n1,2\nNA,3\n,\n4,5\n6,inf\n7,8\n", dropping);
  check(table, {"a", "b"}, {1, 2, 4, 5, 7, 8});
  BOOST_TEST(table.dropped == (std::vector<std::int64_t>{3, 4, 6}));
  BOOST_TEST(table.line(0) == 2);
  BOOST_TEST(table.line(1) == 5);
  BOOST_TEST(table.line(2) == 7);
  check(load("a\tb\n\t\n1\t2\n", {.separator = '\t', .missing = Missing::drop_row}), {"a", "b"},
        {1, 2});
  // Only missing values: a mistake in such a row is one all the same.
  BOOST_TEST(error("a,b\n,x\n", dropping) ==
             "[csv] d.csv:2: column 'b': expected a number, found 'x' (4)");
  BOOST_TEST(error("a,b\n,1\nNA,2\n", dropping) ==
             "[csv] d.csv: every row has a missing value, 2 in all (4)");
}

BOOST_AUTO_TEST_CASE(rows_of_another_length_than_the_names_are_refused) {
  BOOST_TEST(error("a,b,c\n1,2,3\n1,2\n") ==
             "[csv] d.csv:3: expected 3 cells, found 2; column 'c' is missing (4)");
  BOOST_TEST(error("a,b\n1,2\n1,2,3,4\n") ==
             "[csv] d.csv:3: expected 2 cells, found 4; the last column is 'b' (4)");
  BOOST_TEST(error("a,b\n1,2,\n") ==
             "[csv] d.csv:2: expected 2 cells, found 3; the last column is 'b' (4)");
  BOOST_TEST(error("a\n1,5\n") ==
             "[csv] d.csv:2: expected 1 cell, found 2; the last column is 'a' (4)");
  BOOST_TEST(error("a,b\n1,2\n\n3,4\n") ==
             "[csv] d.csv:3: the line is empty; expected 2 cells (4)");
  BOOST_TEST(error("a\n1\n\n") == "[csv] d.csv:3: the line is empty; expected 1 cell (4)");
}

BOOST_AUTO_TEST_CASE(a_file_without_rows_is_refused) {
  BOOST_TEST(error("") == "[csv] d.csv: the file is empty (4)");
  BOOST_TEST(error("a,b\n") == "[csv] d.csv: there are no rows after the column names (4)");
  BOOST_TEST(error("a,b") == "[csv] d.csv: there are no rows after the column names (4)");
  BOOST_TEST(error("\n1,2\n") == "[csv] d.csv:1: the line is empty; expected column names (4)");
  BOOST_TEST(error("\xef\xbb\xbf") == "[csv] d.csv: there is no line of column names (4)");
}

BOOST_AUTO_TEST_CASE(names_that_are_none_are_refused) {
  BOOST_TEST(error(",a\n0,1\n") ==
             "[csv] d.csv:1: column 1: it has no name; a column of row numbers is best left out of "
             "the file (4)");
  BOOST_TEST(error("a,b,a\n1,2,3\n") ==
             "[csv] d.csv:1: column 3: the name 'a' is also that of column 1 (4)");
  BOOST_TEST(error("gr\xf6\xdf"
                   "e\n1\n") ==
             "[csv] d.csv:1: column 1: the name 'gr\\xf6\\xdfe' is not UTF-8 text (4)");
  BOOST_TEST(error("1.5,2\n3,4\n") ==
             "[csv] d.csv:1: expected column names, found numbers; put a line of names at the "
             "top of the file (4)");
  BOOST_TEST(error("a;b\n1;2\n") ==
             "[csv] d.csv:1: there is one column, 'a;b'; is the separator ';'? (4)");
  BOOST_TEST(error("a\tb\n1\t2\n") ==
             "[csv] d.csv:1: there is one column, 'a\\x09b'; is the separator a tab? (4)");
}

BOOST_AUTO_TEST_CASE(quotes_that_do_not_match_are_refused) {
  BOOST_TEST(error("a,b\n1,\"2\n3,4\n") ==
             "[csv] d.csv:2: column 'b': the quote is not closed on its line (4)");
  BOOST_TEST(error("a,\"b\n1,2\n") ==
             "[csv] d.csv:1: column 2: the quote is not closed on its line (4)");
  BOOST_TEST(error("a,b\n\"1\"2,3\n") ==
             "[csv] d.csv:2: column 'a': found '2' after the closing quote (4)");
}

BOOST_AUTO_TEST_CASE(texts_that_are_not_ours_are_refused) {
  BOOST_TEST(error(std::string("\xff\xfe"
                               "a\0\n\0",
                               6)) == "[csv] d.csv: UTF-16 text; save it as UTF-8 (4)");
  BOOST_TEST(error(std::string("\xfe\xff\0a\0\n", 6)) ==
             "[csv] d.csv: UTF-16 text; save it as UTF-8 (4)");
  BOOST_TEST(error(std::string("a\0,\0b\0\n\0", 8)) ==
             "[csv] d.csv:1: the line has a zero byte: the file is binary or UTF-16, not text (4)");
  BOOST_TEST(error(std::string("a,b\n1,2\n3,\0\n", 12)) ==
             "[csv] d.csv:3: the line has a zero byte: the file is binary or UTF-16, not text (4)");
  BOOST_TEST(error("a,b\r1,2\r3,4\r") ==
             "[csv] d.csv:1: the line has a carriage return inside; save the file with line ends "
             "\\n or \\r\\n (4)");
  BOOST_TEST(error("\x1f\x8b\x08 and more") == "[csv] d.csv: a gzip archive; unpack it first (4)");
  BOOST_TEST(error("PK\x03\x04 and more") ==
             "[csv] d.csv: a ZIP archive or a spreadsheet; save it as text (4)");
  BOOST_TEST(error("\x93NUMPY") == "[csv] d.csv: an NPY file, not text (4)");
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_read_are_refused_in_the_words_of_the_system) {
  BOOST_TEST(error_of([&] { load_csv(scratch / "none.csv"); }) ==
             "[csv] none.csv: cannot open: No such file or directory (6)");
  BOOST_TEST(error_of([&] { load_csv("/dev/null"); }) ==
             "[csv] /dev/null: cannot read: not a regular file (6)");
}

BOOST_AUTO_TEST_CASE(a_line_beyond_the_limit_is_refused) {
  const std::string longest(static_cast<std::size_t>(line_limit) - 1, ' ');
  check(load("a\n1" + longest + "\n2\n"), {"a"}, {1, 2});
  const std::string wanted = "[csv] d.csv:2: the line has more than the limit of 16 MiB (4)";
  BOOST_TEST(error("a\n1" + longest + " \n2\n") == wanted);
  BOOST_TEST(error("a\n1" + longest + longest + longest) == wanted);
}

BOOST_AUTO_TEST_CASE(too_many_columns_are_refused) {
  std::string line = "c0";
  for (std::int64_t i = 1; i <= csv_column_limit; ++i) line += fmt::format(",c{}", i);
  BOOST_TEST(error(line + "\n") ==
             "[csv] d.csv:1: there are more columns than the limit of 1000000 (4)");
}

BOOST_AUTO_TEST_CASE(lines_are_whole_wherever_the_blocks_of_reading_end) {
  // Longer than two blocks, with lines of all lengths.
  std::string text = "a,b\n";
  std::vector<double> wanted;
  for (int row = 0; text.size() < 2500000; ++row) {
    const double x = row * 0.37, y = std::ldexp(1.0, row % 90);
    text += fmt::format("{},{}{}", x, y, row % 3 == 0 ? "\r\n" : "\n");
    wanted.insert(wanted.end(), {x, y});
  }
  const Table table = load(text);
  BOOST_TEST((table.values == wanted));
}

BOOST_AUTO_TEST_CASE(a_file_cut_anywhere_is_read_or_refused) {
  const std::string whole = "\xef\xbb\xbf\"a,\"\"\",b\r\n1.5,-2e3\n\"7\", NA\n+1, .5\n";
  for (std::size_t n = 0; n <= whole.size(); ++n)
    for (const CsvOptions& options : {CsvOptions{}, dropping, headless}) {
      try {
        const Table table = load(std::string_view(whole).substr(0, n), options);
        BOOST_TEST(table.rows() >= 1);
        BOOST_TEST(static_cast<std::int64_t>(table.values.size()) <= 6);
      } catch (const Error& error) {
        BOOST_TEST(exit_code(error.kind()) == 4);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_file_with_any_byte_changed_is_read_or_refused) {
  const std::string whole = "\"a\",b\r\n1.5,-2e3\n\"7\",NA\n";
  const std::string path = scratch.write("d.csv", whole);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](std::size_t i, int byte) {
    file.seekp(static_cast<std::streamoff>(i)).put(static_cast<char>(byte)).flush();
  };
  int read = 0, refused = 0;
  for (std::size_t i = 0; i < whole.size(); put(i, whole[i]), ++i)
    for (int byte = 0; byte < 256; ++byte) {
      put(i, byte);
      try {
        const Table table = load_csv(path, dropping);
        for (double value : table.values) BOOST_REQUIRE(std::isfinite(value));
        BOOST_REQUIRE(table.values.size() ==
                      static_cast<std::size_t>(table.rows()) * table.names.size());
        ++read;
      } catch (const Error& error) {
        BOOST_REQUIRE(exit_code(error.kind()) == 4);
        for (unsigned char c : std::string_view(error.what())) BOOST_REQUIRE(c >= 0x20);
        ++refused;
      }
    }
  BOOST_TEST(read > 256);  // most changes of a name
  BOOST_TEST(refused > read);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace whorl
