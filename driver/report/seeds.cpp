#include "driver/report/seeds.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "driver/report/html.hpp"
#include "driver/report/line_chart.hpp"
#include "driver/report/numbers.hpp"
#include "driver/run_groups.hpp"
#include "driver/run_table.hpp"

namespace whorl::driver::report {

namespace {

// The run that a row begins with, for its colour and its name.
const RunView* view_of(const TableRow& row, const std::vector<const RunView*>& runs) {
  const auto found = std::find_if(
      runs.begin(), runs.end(), [&](const RunView* run) { return run->table_name == row.sampler; });
  return row.published || found == runs.end() ? nullptr : *found;
}

std::string row_markup(const TableRow& row, const std::vector<const RunView*>& runs) {
  const RunView* view = view_of(row, runs);
  std::string markup =
      row.published ? fmt::format("<tr class=\"published\"><th scope=\"row\">{}</th><td>{}</td>",
                                  escaped(row.sampler), "published")
                    : fmt::format(
                          "<tr><th scope=\"row\"><span class=\"key {}\"></span>{}</th>"
                          "<td>{}</td>",
                          view == nullptr ? "" : colour_class(view->colour),
                          escaped(view == nullptr ? row.sampler : view->group), row.seeds.size());
  markup += fmt::format("<td>{}</td>", row.step > 0 ? grouped(row.step) : "end");
  for (const TableCell& cell : row.cells)
    markup += fmt::format("<td title=\"{}\">{}</td>", escaped(cell.source),
                          escaped(error_text(cell.mean, row.published ? cell.sd : cell.error)));
  return markup + "</tr>\n";
}

std::string table_markup(const RunTable& table, const std::vector<const RunView*>& runs) {
  std::string head = "<tr><th class=\"text\">sampler</th><th>runs</th><th>step</th>";
  for (const std::string& quantity : table.quantities)
    head += fmt::format("<th title=\"{}\">{}</th>", escaped(quantity_name(quantity)),
                        escaped(quantity_heading(quantity)));
  std::string body;
  for (const TableRow& row : table.rows) body += row_markup(row, runs);
  std::string markup = division(
      "scroll",
      fmt::format("<table>\n<thead>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n", head, body));
  for (const std::string& note : table.notes) markup += paragraph(note + ".", "soft");
  return markup;
}

}  // namespace

std::string seeds_tables(const std::vector<RunView>& runs) {
  std::vector<const RunView*> views;
  std::vector<const RunRecord*> records;
  for (const RunView& run : runs) {
    views.push_back(&run);
    records.push_back(run.record);
  }
  if (by_colour(views).size() == views.size()) return "";
  std::string markup = heading(3, "Means over seeds");
  const std::vector<RunTable> tables = make_tables(records, {});
  for (const RunTable& table : tables) {
    std::vector<const RunView*> own;
    for (const RunView* view : views)
      if (experiment_of(*view->record) == table.experiment) own.push_back(view);
    if (tables.size() > 1) markup += paragraph(table.experiment);
    markup += table_markup(table, own);
  }
  return markup +
         paragraph(
             "Mean over runs \u00b1 its standard error: the standard deviation, with divisor "
             "n \u2212 1, over \u221an. Published \u00b1 the spread that the source gives.",
             "soft") +
         heading(3, "Every run");
}

std::string error_text(double mean, double error) {
  std::string text = with_error(mean, error);
  if (text == "-") return "\u2013";
  if (const auto at = text.find("+-"); at != std::string::npos) text.replace(at, 2, "\u00b1");
  return text;
}

}  // namespace whorl::driver::report
