#include "data/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "data/lines.hpp"
#include "engine/error.hpp"
#include "engine/text.hpp"

namespace whorl {

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(' ') == std::string_view::npos;
}

// For a message: on one line, and not too long.
std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  return text.size() <= most ? fmt::format("'{}'", printable(text))
                             : fmt::format("'{}'...", printable(text.substr(0, most)));
}

enum class Parsed { number, not_a_number, out_of_range };

Parsed parse(std::string_view text, double& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end) return Parsed::not_a_number;
  return error == std::errc{} ? Parsed::number : Parsed::out_of_range;
}

// Whether a text would be a number with other marks than ours: 1,5 or 1'000 or 1 000.
bool has_foreign_marks(std::string_view text) {
  return text.find_first_not_of("0123456789+-.,' _") == std::string_view::npos &&
         text.find_first_of(",' _") != std::string_view::npos &&
         text.find_first_of("0123456789") != std::string_view::npos;
}

class CsvReader {
 public:
  CsvReader(const std::string& path, const CsvOptions& options)
      : options_(options), lines_("csv", path) {
    table_.path = path;
  }

  Table read() {
    std::string_view line;
    if (!lines_.next(line)) refuse_file("there is no line of column names");
    read_names(line);
    table_.first_line = options_.header ? 2 : 1;
    bool there = options_.header ? lines_.next(line) : true;
    if (there) reserve(line);
    for (; there; there = lines_.next(line)) read_row(line);
    if (!table_.values.empty()) return std::move(table_);
    if (table_.dropped.empty()) refuse_file("there are no rows after the column names");
    refuse_file("every row has a missing value, {} in all", table_.dropped.size());
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse_file(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::data, "csv", "{}: {}", table_.path,
         fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void refuse_line(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::data, "csv", "{}:{}: {}", table_.path, lines_.number(),
         fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void refuse_cell(std::size_t column, fmt::format_string<Args...> format,
                                Args&&... args) const {
    const bool named = column < table_.names.size();
    refuse_line(
        "column {}: {}",
        named ? fmt::format("'{}'", printable(table_.names[column])) : std::to_string(column + 1),
        fmt::format(format, std::forward<Args>(args)...));
  }

  // The text of the cell that begins at `at`; moves `at` to the separator or the end of the line.
  std::string_view cell(std::string_view line, std::size_t& at, std::size_t column) {
    const std::size_t end = std::min(line.find(options_.separator, at), line.size());
    const std::string_view plain = trimmed(line.substr(at, end - at));
    if (!plain.starts_with('"')) {
      at = end;
      return plain;
    }
    unquoted_.clear();
    at = line.find('"', at);
    while (true) {
      const std::size_t quote = line.find('"', at + 1);
      if (quote == std::string_view::npos)
        refuse_cell(column, "the quote is not closed on its line");
      unquoted_ += line.substr(at + 1, quote - at - 1);
      at = quote + 1;
      if (at == line.size() || line[at] != '"') break;
      unquoted_ += '"';
    }
    const std::size_t after = std::min(line.find(options_.separator, at), line.size());
    const std::string_view rest = trimmed(line.substr(at, after - at));
    if (!rest.empty()) refuse_cell(column, "found {} after the closing quote", shown(rest));
    at = after;
    return unquoted_;
  }

  void read_names(std::string_view line) {
    if (is_blank(line)) refuse_line("the line is empty; expected column names");
    bool numbers = true;  // every cell, other than 0, 1, 2, ... which some programs write as names
    bool counted = true;
    std::vector<std::string> names;
    for (std::size_t at = 0, column = 0; at <= line.size(); ++at, ++column) {
      if (column == csv_column_limit)
        refuse_line("there are more columns than the limit of {}", csv_column_limit);
      const std::string_view text = cell(line, at, column);
      double value = 0;
      numbers &= parse(text, value) == Parsed::number && std::isfinite(value);
      counted &= value == static_cast<double>(column);
      names.push_back(options_.header ? std::string(text) : fmt::format("c{}", column + 1));
    }
    if (options_.header) {
      if (numbers && !counted)
        refuse_line(
            "expected column names, found numbers; put a line of names at the top of the file");
      check_names(names);
    }
    table_.names = std::move(names);
    row_.resize(table_.names.size());
  }

  void check_names(const std::vector<std::string>& names) const {
    std::unordered_map<std::string_view, std::size_t> seen;
    for (std::size_t column = 0; column < names.size(); ++column) {
      const std::string& name = names[column];
      if (name.empty())
        refuse_cell(column, "it has no name; a column of row numbers is best left out of the file");
      if (!is_utf8(name)) refuse_cell(column, "the name {} is not UTF-8 text", shown(name));
      const auto [first, fresh] = seen.emplace(name, column);
      if (!fresh)
        refuse_cell(column, "the name {} is also that of column {}", shown(name),
                    first->second + 1);
    }
    if (names.size() > 1) return;
    for (char other : {';', ',', '\t', '|'})
      if (names[0].find(other) != std::string::npos)
        refuse_line("there is one column, {}; is the separator {}?", shown(names[0]),
                    other == '\t' ? "a tab" : fmt::format("'{}'", other));
  }

  // Room for all rows, if they are as long as the first; a cell has at least 2 bytes in the file.
  void reserve(std::string_view line) {
    const std::int64_t length =
        std::max<std::int64_t>(static_cast<std::int64_t>(line.size()) + 1, 2 * table_.columns());
    const std::int64_t rows = 1 + lines_.left() / length;
    table_.values.reserve(static_cast<std::size_t>((rows + rows / 16) * table_.columns()));
  }

  void read_row(std::string_view line) {
    const std::size_t columns = row_.size();
    if (is_blank(line)) refuse_line("the line is empty; expected {}", cells(columns));
    const char* const end = line.data() + line.size();
    bool whole = true;
    std::size_t column = 0;
    for (std::size_t at = 0; at <= line.size(); ++at, ++column) {
      if (column == columns) refuse_count(line);
      // The usual cell is a bare number up to the separator.
      const auto [stop, error] = std::from_chars(line.data() + at, end, row_[column]);
      if (error == std::errc{} && (stop == end || *stop == options_.separator) &&
          std::isfinite(row_[column])) {
        at = static_cast<std::size_t>(stop - line.data());
        continue;
      }
      row_[column] = number(cell(line, at, column), column);
      whole &= !std::isnan(row_[column]);
    }
    if (column < columns) refuse_count(line);
    if (whole) {
      table_.values.insert(table_.values.end(), row_.begin(), row_.end());
    } else {
      table_.dropped.push_back(lines_.number());
    }
  }

  double number(std::string_view text, std::size_t column) const {
    double value = missing;
    const Parsed parsed = text.empty() || text == "NA" ? Parsed::number : parse(text, value);
    if (parsed == Parsed::out_of_range)
      refuse_cell(column, "{} is beyond the range of f64", shown(text));
    if (parsed == Parsed::not_a_number)
      refuse_cell(column, "expected a number, found {}{}", shown(text),
                  has_foreign_marks(text) ? "; decimals take a point, thousands no mark" : "");
    if (std::isfinite(value)) return value;
    if (options_.missing == Missing::drop_row) return missing;
    refuse_cell(column, "expected a number, found {}; rows with missing values can be dropped",
                text.empty() ? "an empty cell" : shown(text));
  }

  static std::string cells(std::size_t n) { return fmt::format("{} cell{}", n, n == 1 ? "" : "s"); }

  [[noreturn]] void refuse_count(std::string_view line) {
    std::size_t found = 0;
    for (std::size_t at = 0; at <= line.size(); ++at, ++found) cell(line, at, found);
    if (found > table_.names.size())
      refuse_line("expected {}, found {}; the last column is '{}'", cells(table_.names.size()),
                  found, printable(table_.names.back()));
    refuse_line("expected {}, found {}; column '{}' is missing", cells(table_.names.size()), found,
                printable(table_.names[found]));
  }

  CsvOptions options_;
  LineReader lines_;
  Table table_;
  std::vector<double> row_;
  std::string unquoted_;
};

}  // namespace

std::int64_t Table::line(std::int64_t row) const {
  // The rows before `row` and the lines dropped among them lie between first_line and the answer.
  std::int64_t found = first_line + row;
  for (std::int64_t gone : dropped) {
    if (gone > found) break;
    ++found;
  }
  return found;
}

Table load_csv(const std::string& path, const CsvOptions& options) {
  constexpr std::string_view separators = ",;|\t";
  if (separators.find(options.separator) == std::string_view::npos)
    fail(ErrorKind::usage, "csv", "the separator is {}; expected ',', ';', '|' or a tab",
         shown({&options.separator, 1}));
  return CsvReader(path, options).read();
}

}  // namespace whorl
