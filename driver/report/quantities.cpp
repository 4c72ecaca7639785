#include "driver/report/quantities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace whorl::driver::report {

namespace {

// "validation_average_nll_sum" in its parts.
struct Score {
  bool validation = false, average = false;
  // "error", "nll", "nll_sum", "nll_after_first" or "nll_by_sequence"; "" for what is no score.
  std::string_view of;
};

Score score_of(std::string_view quantity) {
  Score score;
  const auto skip = [&](std::string_view prefix) {
    const bool there = quantity.starts_with(prefix);
    if (there) quantity.remove_prefix(prefix.size());
    return there;
  };
  score.validation = skip("validation_");
  score.average = skip("average_");
  for (std::string_view known : {"error", "nll", "nll_sum", "nll_after_first", "nll_by_sequence"})
    if (quantity == known) score.of = quantity;
  return score;
}

std::string score_name(const Score& score) {
  return fmt::format("{} {}{}{}", score.validation ? "validation" : "test",
                     score.of == "error" ? "error" : "negative log likelihood",
                     score.of == "nll_after_first"   ? " without first frames"
                     : score.of == "nll_by_sequence" ? " by sequence"
                                                     : "",
                     score.average ? ", posterior average" : "");
}

}  // namespace

bool is_score(std::string_view quantity) { return !score_of(quantity).of.empty(); }

bool counts_otherwise(std::string_view quantity) {
  const Score score = score_of(quantity);
  return score.of == "nll_after_first" || score.of == "nll_by_sequence";
}

std::string quantity_name(std::string_view quantity) {
  if (is_score(quantity)) return score_name(score_of(quantity));
  static const std::map<std::string_view, std::string_view> names{
      {"kl", "KL divergence"},
      {"temperature", "kinetic temperature"},
      {"curl", "mean curl Q"},
      {"diffusion", "mean diffusion D"},
      {"clamped", "share of clamped coordinates"},
      {"vector_ess", "vector ESS"}};
  if (const auto known = names.find(quantity); known != names.end())
    return std::string(known->second);
  std::string text(quantity);
  std::replace(text.begin(), text.end(), '_', ' ');
  if (const auto slash = text.find('/'); slash != std::string::npos) text.replace(slash, 1, ", ");
  return text;
}

std::string quantity_axis(std::string_view quantity) {
  if (quantity == "kl") return "KL divergence (nats)";
  if (const Score score = score_of(quantity); !score.of.empty())
    return score.of == "error"     ? "share that is wrong"
           : score.of == "nll_sum" ? "nats, all data together"
                                   : "nats for each datum";
  if (quantity == "energy") return "energy U (nats)";
  if (quantity == "clamped") return "share of coordinates";
  if (quantity.ends_with("temperature")) return "temperature";
  return quantity_name(quantity);
}

std::string quantity_heading(std::string_view quantity) {
  if (quantity == "kl") return "KL";
  if (const Score score = score_of(quantity); !score.of.empty())
    return fmt::format("{}{}{}", score.validation ? "validation " : "",
                       score.average ? "average " : "",
                       score.of == "error"             ? "error"
                       : score.of == "nll"             ? "NLL"
                       : score.of == "nll_sum"         ? "NLL sum"
                       : score.of == "nll_after_first" ? "NLL without first frames"
                                                       : "NLL by sequence");
  if (quantity == "temperature") return "kinetic T";
  if (quantity == "configurational_temperature") return "conf. T";
  if (quantity == "clamped" || quantity == "curl" || quantity == "diffusion")
    return quantity == "curl" ? "mean Q" : quantity == "diffusion" ? "mean D" : "clamped";
  return quantity_name(quantity);
}

}  // namespace whorl::driver::report
