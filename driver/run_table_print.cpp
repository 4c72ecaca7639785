// A RunTable for people, for other documents and for programs.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "driver/json.hpp"
#include "driver/run_table.hpp"

namespace whorl::driver {

namespace {

constexpr const char* legend =
    "mean +- its standard error over runs: the sd, with divisor n - 1, over sqrt n; "
    "published +- the spread that the source gives";

struct TextRow {
  std::vector<std::string> cells;
  bool published;
};

std::string cell_text(const TableRow& row, const TableCell& cell, std::int64_t runs) {
  std::string text = with_error(cell.mean, row.published ? cell.sd : cell.error);
  // A mean over fewer runs than the row speaks of says so.
  if (!row.published && cell.runs > 0 && cell.runs < runs)
    text += fmt::format(" ({} runs)", cell.runs);
  return text;
}

std::string step_text(const TableRow& row) {
  switch (row.place.kind) {
    case TablePlace::Kind::epoch:
      return row.step > 0 ? fmt::format("{} (epoch {})", row.step, row.place.at)
                          : fmt::format("epoch {}", row.place.at);
    case TablePlace::Kind::step:
      return fmt::format("{}", row.step);
    case TablePlace::Kind::best:
      return "best";
    case TablePlace::Kind::end:
      break;
  }
  return row.step > 0 ? fmt::format("{}", row.step) : "end";
}

std::vector<TextRow> text_rows(const RunTable& table) {
  std::vector<TextRow> rows;
  TextRow head{{"sampler", "runs", "step"}, false};
  for (const std::string& quantity : table.quantities) head.cells.push_back(printable(quantity));
  rows.push_back(std::move(head));
  for (const TableRow& row : table.rows) {
    const std::int64_t runs = std::ssize(row.seeds);
    TextRow text{{printable(row.sampler), row.published ? "published" : fmt::format("{}", runs),
                  step_text(row)},
                 row.published};
    for (const TableCell& cell : row.cells) text.cells.push_back(cell_text(row, cell, runs));
    rows.push_back(std::move(text));
  }
  return rows;
}

void print_text(const std::vector<TextRow>& rows, Output& output) {
  std::vector<std::size_t> widths(rows.front().cells.size());
  for (const TextRow& row : rows)
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      widths[i] = std::max(widths[i], row.cells[i].size());
  for (const TextRow& row : rows) {
    std::string line = fmt::format("{:<{}}", row.cells[0], widths[0]);
    for (std::size_t i = 1; i < row.cells.size(); ++i)
      line += fmt::format("  {:>{}}", row.cells[i], widths[i]);
    output.print("{}\n", line);
  }
}

std::string for_markdown(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("|*_`<[", at)) != std::string::npos; at += 2)
    text.insert(at, 1, '\\');
  for (std::size_t at = 0; (at = text.find("+-", at)) != std::string::npos;)
    text.replace(at, 2, "\u00b1");
  return text;
}

void print_markdown(const std::vector<TextRow>& rows, Output& output) {
  for (const TextRow& row : rows) {
    std::string line = "|";
    for (const std::string& cell : row.cells)
      line += row.published ? fmt::format(" *{}* |", for_markdown(cell))
                            : fmt::format(" {} |", for_markdown(cell));
    output.print("{}\n", line);
    if (&row != &rows.front()) continue;
    output.print("|---|");
    for (std::size_t i = 1; i < row.cells.size(); ++i) output.print("---:|");
    output.print("\n");
  }
}

// Where published values are from: each source once, behind whose it is.
std::vector<std::string> sources(const RunTable& table) {
  std::vector<std::string> list;
  for (const TableRow& row : table.rows)
    for (const TableCell& cell : row.cells) {
      const std::string text =
          fmt::format("{}: {}", printable(row.sampler), printable(cell.source));
      if (!cell.source.empty() && std::find(list.begin(), list.end(), text) == list.end())
        list.push_back(text);
    }
  return list;
}

void add_place(Json& json, const TableRow& row) {
  if (row.place.kind == TablePlace::Kind::end || row.place.kind == TablePlace::Kind::best) {
    json.field("at", row.place.kind == TablePlace::Kind::end ? "end" : "best");
  } else if (row.place.kind == TablePlace::Kind::epoch) {
    json.field("epoch", row.place.at);
  }
  if (row.step > 0) json.field("step", row.step);
}

void add_cell(Json& json, const TableRow& row, const TableCell& cell) {
  json.object();
  if (row.published) {
    json.field("value", cell.mean);
    if (!std::isnan(cell.sd)) json.field("spread", cell.sd);
    if (!cell.source.empty()) json.field("source", cell.source);
  } else {
    json.field("runs", cell.runs).field("mean", cell.mean).field("sd", cell.sd);
    json.field("standard_error", cell.error);
  }
  json.end();
}

void add_table(Json& json, const RunTable& table) {
  json.object().field("experiment", table.experiment).key("rows").array();
  for (const TableRow& row : table.rows) {
    json.object().field("sampler", row.sampler).field("published", row.published);
    add_place(json, row);
    if (!row.published) {
      json.field("runs", std::ssize(row.seeds)).key("seeds").array();
      for (std::uint64_t seed : row.seeds) json.value(seed);
      json.end();
    }
    json.key("quantities").object();
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (row.published && std::isnan(row.cells[i].mean)) continue;
      json.key(table.quantities[i]);
      add_cell(json, row, row.cells[i]);
    }
    json.end().end();
  }
  json.end().key("notes").array();
  for (const std::string& note : table.notes) json.value(note);
  json.end().end();
}

}  // namespace

std::string with_error(double mean, double error) {
  if (!std::isfinite(mean)) return "-";
  if (!(error > 0) || !std::isfinite(error)) {
    const std::string text = fmt::format("{:.5g}", mean);
    return error == 0 ? text + " +- 0" : text;
  }
  const int decimals = std::max(0, 1 - static_cast<int>(std::floor(std::log10(error))));
  if (decimals > 9 || std::abs(mean) >= 1e9) return fmt::format("{:.5g} +- {:.2g}", mean, error);
  return fmt::format("{:.{}f} +- {:.{}f}", mean, decimals, error, decimals);
}

void print_table(const RunTable& table, TableStyle style, Output& output) {
  const bool text = style == TableStyle::text;
  const std::string name = printable(table.experiment);
  if (!name.empty()) output.print("{}\n\n", text ? name : "### " + for_markdown(name));
  const std::vector<TextRow> rows = text_rows(table);
  if (text)
    print_text(rows, output);
  else
    print_markdown(rows, output);
  const std::string line = text ? legend : for_markdown(legend);
  output.print("\n{}\n", line);
  std::vector<std::string> remarks = sources(table);
  for (const std::string& note : table.notes) remarks.push_back("note: " + note);
  for (std::size_t i = 0; i < remarks.size(); ++i)
    output.print("{}{}\n",
                 text     ? ""
                 : i == 0 ? "\n- "
                          : "- ",
                 text ? remarks[i] : for_markdown(remarks[i]));
}

std::string tables_json(const std::vector<RunTable>& tables) {
  Json json;
  json.object().key("tables").array();
  for (const RunTable& table : tables) add_table(json, table);
  return json.end().end().text();
}

}  // namespace whorl::driver
