#include <algorithm>
#include <unordered_map>

#include "data/dataset.hpp"
#include "data/name_list.hpp"
#include "engine/attributes.hpp"
#include "engine/error.hpp"
#include "engine/text.hpp"

namespace whorl {

namespace {

std::string count_of(std::int64_t columns) {
  return fmt::format("{} column{}", columns, columns == 1 ? "" : "s");
}

class Mapping {
 public:
  Mapping(const Table& table, const std::vector<WantedInput>& wanted)
      : table_(table), wanted_(wanted), columns_(wanted.size()), used_(table.names.size()) {
    for (std::size_t i = 0; i < table.names.size(); ++i)
      index_.emplace(table.names[i], static_cast<std::int64_t>(i));
  }

  void take_given(const ColumnNames& given) {
    for (const auto& [input, names] : given) {
      const std::size_t i = input_named(input);
      for (const std::string& column : names) {
        const std::int64_t found = column_named(input, column);
        if (std::find(columns_[i].begin(), columns_[i].end(), found) != columns_[i].end())
          refuse("input '{}' takes column '{}' twice", input, column);
        take(i, found);
      }
      if (static_cast<std::int64_t>(names.size()) != wanted_[i].columns())
        refuse("input '{}' is {} and takes {}, but is given {}", input, to_string(wanted_[i]),
               count_of(wanted_[i].columns()), names.size());
    }
  }

  void take_own_names() {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (!columns_[i].empty() || wanted_[i].columns() != 1) continue;
      if (const auto found = index_.find(wanted_[i].name); found != index_.end())
        take(i, found->second);
    }
  }

  void take_rest() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      if (columns_[i].empty() && wanted_[i].columns() > 0) open.push_back(i);
    for (std::size_t i : open)
      if (wanted_[i].row.rank() == 0)
        refuse("there is no column '{}' for the input of that name{}; the columns are {}",
               wanted_[i].name, did_you_mean(wanted_[i].name, column_names()),
               list_of(table_.names));
    if (open.size() > 1)
      refuse("inputs '{}' and '{}' both need columns; say which; the columns are {}",
             wanted_[open[0]].name, wanted_[open[1]].name, list_of(table_.names));
    if (open.empty()) return;
    std::vector<std::string> left;
    const WantedInput& input = wanted_[open[0]];
    for (std::size_t column = 0; column < used_.size(); ++column)
      if (!used_[column]) {
        left.push_back(table_.names[column]);
        columns_[open[0]].push_back(static_cast<std::int64_t>(column));
      }
    if (static_cast<std::int64_t>(left.size()) != input.columns())
      refuse("input '{}' is {} and takes {}, but {} {} left{}{}", input.name, to_string(input),
             count_of(input.columns()), left.size(), left.size() == 1 ? "is" : "are",
             left.empty() ? "" : ": ", list_of(left));
  }

  std::vector<std::vector<std::int64_t>> result() { return std::move(columns_); }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::data, "data", "{}: {}", table_.path,
         fmt::format(format, std::forward<Args>(args)...));
  }

  std::vector<std::string_view> column_names() const {
    return {table_.names.begin(), table_.names.end()};
  }

  std::size_t input_named(const std::string& name) const {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (wanted_[i].name == name) return i;
      names.push_back(wanted_[i].name);
    }
    fail(ErrorKind::usage, "data", "columns are given for '{}', which is no data input{}", name,
         did_you_mean(name, names));
  }

  std::int64_t column_named(const std::string& input, const std::string& name) const {
    const auto found = index_.find(name);
    if (found != index_.end()) return found->second;
    refuse("input '{}' is to take column '{}', which is not there{}; the columns are {}", input,
           printable(name), did_you_mean(name, column_names()), list_of(table_.names));
  }

  void take(std::size_t input, std::int64_t column) {
    columns_[input].push_back(column);
    used_[static_cast<std::size_t>(column)] = true;
  }

  const Table& table_;
  const std::vector<WantedInput>& wanted_;
  std::unordered_map<std::string_view, std::int64_t> index_;
  std::vector<std::vector<std::int64_t>> columns_;
  std::vector<bool> used_;
};

}  // namespace

std::vector<std::vector<std::int64_t>> map_columns(const Table& table,
                                                   const std::vector<WantedInput>& wanted,
                                                   const ColumnNames& given) {
  Mapping mapping(table, wanted);
  mapping.take_given(given);
  mapping.take_own_names();
  mapping.take_rest();
  return mapping.result();
}

}  // namespace whorl
