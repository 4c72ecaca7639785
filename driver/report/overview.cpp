// The verdict on each run in words, and the table of all of them with what others published.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "driver/report/html.hpp"
#include "driver/report/line_chart.hpp"
#include "driver/report/numbers.hpp"
#include "driver/report/sections.hpp"
#include "driver/report/seeds.hpp"
#include "driver/report/verdict.hpp"
#include "driver/run_groups.hpp"
#include "driver/verdicts.hpp"

namespace whorl::driver::report {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

const char* mood_class(Verdict::Mood mood) {
  switch (mood) {
    case Verdict::Mood::good:
      return "verdict good";
    case Verdict::Mood::caution:
      return "verdict caution";
    case Verdict::Mood::bad:
      return "verdict bad";
    case Verdict::Mood::open:
      break;
  }
  return "verdict";
}

// Not by colour alone.
const char* mood_sign(Verdict::Mood mood) {
  switch (mood) {
    case Verdict::Mood::good:
      return "\u2713";
    case Verdict::Mood::caution:
      return "!";
    case Verdict::Mood::bad:
      return "\u2717";
    case Verdict::Mood::open:
      break;
  }
  return "\u2026";
}

// Takes out what holds for every run that has draws, and returns it: it is said once.
std::vector<std::string> common_remarks(const std::vector<RunView>& runs,
                                        std::vector<Verdict>& verdicts) {
  std::vector<Verdict*> with_draws;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (runs[i].quality) with_draws.push_back(&verdicts[i]);
  std::vector<std::string> common;
  if (with_draws.size() < 2) return common;
  for (const std::string& remark : std::vector(with_draws.front()->remarks)) {
    const auto has = [&](const Verdict* verdict) {
      return std::find(verdict->remarks.begin(), verdict->remarks.end(), remark) !=
             verdict->remarks.end();
    };
    if (!std::all_of(with_draws.begin(), with_draws.end(), has)) continue;
    common.push_back(remark);
    for (Verdict* verdict : with_draws) std::erase(verdict->remarks, remark);
  }
  return common;
}

std::string verdict_markup(const RunView& run, const Verdict& verdict) {
  std::string markup = fmt::format("<p><span class=\"head\">{} {} \u2014 {}:</span> {}</p>\n",
                                   mood_sign(verdict.mood), escaped(run.name),
                                   escaped(verdict.head), escaped(verdict.sentence));
  for (const std::string& remark : verdict.remarks) markup += paragraph(remark, "soft");
  return division(mood_class(verdict.mood), markup);
}

// A column of numbers: what it is called, what a run has in it, and which of two is better.
struct Column {
  std::string name, tooltip;
  std::function<double(const RunView&)> value;
  std::function<std::string(double)> text;
  enum class Better { none, lower, higher } better = Better::none;
  std::string quantity = {};  // as published values call it
  std::function<bool(double)> alarming = {};
};

std::string short_number(double x) { return number_text(x, 4); }
std::string three_digits(double x) { return number_text(x, 3); }
std::string whole_number(double x) {
  return std::isfinite(x) ? grouped(std::llround(x)) : number_text(x);
}

std::string rhat_or_dash(double rhat) {
  return std::isfinite(rhat) ? rhat_text(rhat) : number_text(rhat);
}

std::vector<Column> effort_columns(const std::string& unit) {
  const auto quality = [](auto field) {
    return [field](const RunView& run) {
      return run.quality ? static_cast<double>((*run.quality).*field) : not_a_number;
    };
  };
  return {
      {"chains", "", quality(&DrawsQuality::chains), whole_number},
      {unit + "s", "made by each chain",
       [](const RunView& run) { return static_cast<double>(run.record->steps()); }, whole_number},
      {"draws", "kept of each chain", quality(&DrawsQuality::draws), whole_number},
      {"time", "", [](const RunView& run) { return run.record->seconds(); },
       [](double s) { return s > 0 ? time_text(s) : "\u2013"; }},
      {unit + "s/s", "", [](const RunView& run) { return run.steps_per_second(); }, three_digits,
       Column::Better::higher}};
}

template <class Number>
auto of_worst(Number (DrawsQuality::*which)() const, double ParameterSummary::*field) {
  return [which, field](const RunView& run) {
    return run.quality && !run.quality->judged.empty() ? ((*run.quality).*which)()->summary.*field
                                                       : not_a_number;
  };
}

std::vector<Column> quality_columns() {
  const auto too_few = [](double ess) { return ess < ess_limit; };
  const auto bulk = of_worst(&DrawsQuality::least_bulk, &ParameterSummary::ess_bulk);
  const auto tail = of_worst(&DrawsQuality::least_tail, &ParameterSummary::ess_tail);
  return {{"worst R\u2011hat", "1 when all chains agree; more than 1.01 is too much",
           of_worst(&DrawsQuality::worst_rhat, &ParameterSummary::rhat), rhat_or_dash,
           Column::Better::lower, "rhat", [](double rhat) { return rhat > rhat_limit; }},
          {"least bulk ESS", "effective draws for means, of the worst number", bulk, three_digits,
           Column::Better::higher, "ess_bulk", too_few},
          {"least tail ESS", "effective draws for 5% and 95% quantiles, of the worst number", tail,
           three_digits, Column::Better::higher, "ess_tail", too_few},
          {"ESS/s", "least bulk ESS for each second",
           [bulk](const RunView& run) { return bulk(run) / run.record->seconds(); }, three_digits,
           Column::Better::higher},
          {"vector ESS", "of the path of a whole chain, mean over chains",
           [](const RunView& run) {
             return run.quality ? run.quality->vector_ess.value_or(not_a_number) : not_a_number;
           },
           three_digits, Column::Better::higher, "vector_ess"}};
}

// Only of a divergence, a loss and the like is less known to be better.
Column quantity_column(const std::string& quantity) {
  const bool lower = quantity == "kl" || is_score(quantity);
  const bool mean = quantity == "energy" || quantity.ends_with("temperature");
  return {quantity_heading(quantity),
          fmt::format("{}: {}", quantity_name(quantity),
                      mean ? "mean after burn-in; of a training, the last" : "the last"),
          [quantity](const RunView& run) { return run.final_value(quantity); },
          short_number,
          lower ? Column::Better::lower : Column::Better::none,
          quantity};
}

std::vector<Column> all_columns(const std::vector<RunView>& runs) {
  std::vector<Column> columns = effort_columns(runs.front().unit());
  std::vector<std::string> quantities;
  for (const RunView& run : runs)
    for (const std::string& quantity : run.quantities())
      if (std::find(quantities.begin(), quantities.end(), quantity) == quantities.end())
        quantities.push_back(quantity);
  // What a run is judged by stands before what is only good to know.
  const auto kl = std::find(quantities.begin(), quantities.end(), "kl");
  if (kl != quantities.end()) {
    columns.push_back(quantity_column(*kl));
    quantities.erase(kl);
  }
  for (Column& column : quality_columns()) columns.push_back(std::move(column));
  for (const std::string& quantity : quantities) columns.push_back(quantity_column(quantity));
  // Columns without a number are left out.
  std::erase_if(columns, [&](const Column& column) {
    return std::none_of(runs.begin(), runs.end(), [&](const RunView& run) {
      return std::isfinite(column.value(run)) || column.value(run) > 0;
    });
  });
  return columns;
}

std::size_t best_of(const Column& column, const std::vector<RunView>& runs) {
  std::size_t best = runs.size();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double value = column.value(runs[i]);
    if (std::isnan(value) || column.better == Column::Better::none) continue;
    const bool better = best == runs.size() ||
                        (column.better == Column::Better::lower ? value < column.value(runs[best])
                                                                : value > column.value(runs[best]));
    if (better) best = i;
  }
  return best;
}

std::string run_row(const std::vector<RunView>& runs, std::size_t i,
                    const std::vector<Column>& columns, bool compare) {
  const RunView& run = runs[i];
  std::string row = fmt::format(
      "<tr><th scope=\"row\"><span class=\"key {}\"></span>{}</th><td class=\"text\">{}</td>"
      "<td>{}</td>",
      colour_class(run.colour), escaped(run.label), escaped(run.sampler), escaped(run.step_size()));
  for (const Column& column : columns) {
    const double value = column.value(run);
    const bool warn = column.alarming && column.alarming(value);
    const bool best = compare && !warn && best_of(column, runs) == i;
    row += fmt::format("<td{}>{}</td>",
                       warn   ? " class=\"warn\""
                       : best ? " class=\"best\""
                              : "",
                       escaped(column.text(value)));
  }
  return row + "</tr>\n";
}

std::vector<PublishedValue> all_published(const std::vector<RunView>& runs) {
  std::vector<PublishedValue> all;
  for (const RunView& run : runs) add_new(all, run.experiment().published);
  return all;
}

// Of the values for one cell, the last one.
const PublishedValue* final_published(const std::vector<PublishedValue>& all,
                                      const std::string& sampler, const std::string& quantity) {
  const PublishedValue* found = nullptr;
  constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  for (const PublishedValue& value : all)
    if (value.sampler == sampler && value.quantity == quantity &&
        (found == nullptr || value.step.value_or(end) > found->step.value_or(end)))
      found = &value;
  return found;
}

// "" where the table has no column for any of the sampler's values.
std::string published_row(const std::vector<PublishedValue>& all, const std::string& sampler,
                          const std::vector<Column>& columns) {
  bool any = false;
  std::string row = fmt::format(
      "<tr class=\"published\"><th scope=\"row\">published</th><td class=\"text\">{}</td>"
      "<td>\u2013</td>",
      escaped(sampler));
  for (const Column& column : columns) {
    const PublishedValue* value =
        column.quantity.empty() ? nullptr : final_published(all, sampler, column.quantity);
    if (value == nullptr) {
      row += "<td></td>";
      continue;
    }
    any = true;
    row += fmt::format("<td title=\"{}\">{}</td>", escaped(value->source),
                       escaped(column.text(value->value)));
  }
  return any ? row + "</tr>\n" : "";
}

// "KL divergence 0.29 ± 0.077 after 1,000 steps, 0.03 ± 0.011 after 12,000": of one sampler, by one
// source.
std::string published_text(const PublishedValue& value) {
  return fmt::format("{}{}{}", number_text(value.value),
                     value.spread ? fmt::format(" \u00b1 {}", number_text(*value.spread, 2)) : "",
                     value.step ? fmt::format(" after {}", count_of(*value.step, "step")) : "");
}

std::string published_sources(const std::vector<PublishedValue>& all) {
  struct Entry {
    std::string term, values, source;
  };
  std::vector<Entry> entries;
  for (const PublishedValue& value : all) {
    const std::string term = fmt::format("{}, {}", value.sampler, quantity_name(value.quantity));
    const auto known = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
      return entry.term == term && entry.source == value.source;
    });
    if (known == entries.end()) {
      entries.push_back({term, published_text(value), value.source});
    } else {
      known->values += ", " + published_text(value);
    }
  }
  std::vector<std::pair<std::string, std::string>> list;
  for (const Entry& entry : entries)
    list.emplace_back(entry.term, fmt::format("{}. {}", entry.values, entry.source));
  return details("Where the published values are from", definitions(list), true);
}

std::string table(const std::vector<RunView>& runs, bool compare) {
  const std::vector<Column> columns = all_columns(runs);
  std::string head =
      "<tr><th class=\"text\">run</th><th class=\"text\">sampler</th><th>step size</th>";
  for (const Column& column : columns)
    head += fmt::format("<th title=\"{}\">{}</th>", escaped(column.tooltip), escaped(column.name));
  std::string body;
  for (std::size_t i = 0; i < runs.size(); ++i) body += run_row(runs, i, columns, compare);
  const std::vector<PublishedValue> published = all_published(runs);
  std::vector<std::string> samplers;
  for (const PublishedValue& value : published)
    if (std::find(samplers.begin(), samplers.end(), value.sampler) == samplers.end())
      samplers.push_back(value.sampler);
  std::string rows;
  for (const std::string& sampler : samplers) rows += published_row(published, sampler, columns);
  body += rows;
  std::string markup = division(
      "scroll",
      fmt::format("<table>\n<thead>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n", head, body));
  if (compare)
    markup += paragraph("Bold: the best of these runs. Red: beyond what can be relied on.", "soft");
  if (!rows.empty()) markup += division("small", published_sources(published));
  return markup;
}

}  // namespace

std::string overview(const std::vector<RunView>& runs) {
  std::string markup;
  std::vector<Verdict> verdicts;
  for (const RunView& run : runs) verdicts.push_back(judge(run));
  const std::vector<std::string> common = common_remarks(runs, verdicts);
  for (std::size_t i = 0; i < runs.size(); ++i) markup += verdict_markup(runs[i], verdicts[i]);
  if (!common.empty())
    markup += paragraph(fmt::format("All runs with draws: {}", fmt::join(common, " ")), "soft");
  std::vector<RunView> sampling, training;
  for (const RunView& run : runs) (run.record->is_training() ? training : sampling).push_back(run);
  const bool compare =
      sampling.size() > 1 && std::all_of(sampling.begin(), sampling.end(), [&](const RunView& run) {
        return same_target(run, sampling.front());
      });
  if (sampling.size() > 1 && !compare)
    markup += paragraph(
        "The runs are not on the same target: their energies and divergences cannot be compared.");
  markup += seeds_tables(sampling);
  if (!sampling.empty()) markup += table(sampling, compare);
  if (!training.empty()) markup += table(training, false);
  return markup;
}

}  // namespace whorl::driver::report
