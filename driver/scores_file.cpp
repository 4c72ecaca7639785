#include "driver/scores_file.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "driver/json.hpp"
#include "engine/error.hpp"
#include "engine/file.hpp"

namespace whorl::driver {

namespace {

using Value = nlohmann::json;

constexpr std::array<std::pair<const char*, double ClassificationScores::*>, 8> numbers{
    {{"error", &ClassificationScores::error},
     {"nll", &ClassificationScores::nll},
     {"nll_sum", &ClassificationScores::nll_sum},
     {"brier", &ClassificationScores::brier},
     {"ece", &ClassificationScores::ece},
     {"entropy", &ClassificationScores::entropy},
     {"aleatoric", &ClassificationScores::aleatoric},
     {"epistemic", &ClassificationScores::epistemic}}};

void add(Json& json, const EnsembleScores& ensemble) {
  const ClassificationScores& scores = ensemble.scores;
  json.object().field("data", ensemble.data).field("ensemble", ensemble.ensemble);
  json.field("rows", scores.rows).field("draws", scores.draws);
  for (const auto& [name, member] : numbers) json.field(name, scores.*member);
  json.field("floored", scores.floored).key("bins").array();
  for (std::size_t b = 0; b < scores.calibration.size(); ++b) {
    const CalibrationBin& bin = scores.calibration[b];
    constexpr double bins = ClassificationScores::bins;
    json.object().field("low", static_cast<double>(b) / bins);
    json.field("high", static_cast<double>(b + 1) / bins).field("count", bin.count);
    json.field("confidence", bin.confidence).field("accuracy", bin.accuracy).end();
  }
  json.end().end();
}

// Fields of a file, with errors that name it.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  const Value& field(const Value& object, const char* name) const {
    if (!object.is_object() || !object.contains(name)) wrong("there is no", name);
    return object[name];
  }
  double number(const Value& object, const char* name) const {
    const Value& value = field(object, name);
    if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (!value.is_number()) wrong("no number is", name);
    return value.get<double>();
  }
  std::int64_t count(const Value& object, const char* name) const {
    const Value& value = field(object, name);
    if (!value.is_number_integer() || value.get<double>() < 0 || value.get<double>() > 0x1p62)
      wrong("no count is", name);
    return value.get<std::int64_t>();
  }
  std::string text(const Value& object, const char* name) const {
    const Value& value = field(object, name);
    if (!value.is_string()) wrong("no text is", name);
    return value.get<std::string>();
  }
  const Value& list(const Value& object, const char* name) const {
    const Value& value = field(object, name);
    if (!value.is_array()) wrong("no list is", name);
    return value;
  }
  [[noreturn]] void wrong(std::string_view what, std::string_view name) const {
    fail(ErrorKind::data, "load", "{}: {} '{}'", path_, what, name);
  }

 private:
  std::string path_;
};

EnsembleScores ensemble_of(const Reader& reader, const Value& object) {
  EnsembleScores ensemble{reader.text(object, "data"), reader.text(object, "ensemble"), {}};
  ClassificationScores& scores = ensemble.scores;
  scores.rows = reader.count(object, "rows");
  scores.draws = reader.count(object, "draws");
  scores.floored = reader.count(object, "floored");
  for (const auto& [name, member] : numbers) scores.*member = reader.number(object, name);
  const Value& bins = reader.list(object, "bins");
  if (bins.size() != scores.calibration.size()) reader.wrong("15 of them are not in", "bins");
  for (std::size_t b = 0; b < bins.size(); ++b)
    scores.calibration[b] = {reader.count(bins[b], "count"), reader.number(bins[b], "confidence"),
                             reader.number(bins[b], "accuracy")};
  return ensemble;
}

}  // namespace

std::string to_json(const RunScores& scores) {
  Json json;
  json.object().field("step", scores.step).key("ensembles").array();
  for (const EnsembleScores& ensemble : scores.ensembles) add(json, ensemble);
  return json.end().end().text();
}

RunScores load_scores(const std::filesystem::path& path) {
  const Value whole = Value::parse(whole_file("load", path.string()), nullptr, false);
  if (whole.is_discarded()) fail(ErrorKind::data, "load", "{}: the file is no JSON", path.string());
  const Reader reader(path.string());
  RunScores scores;
  scores.step = reader.count(whole, "step");
  for (const Value& object : reader.list(whole, "ensembles"))
    scores.ensembles.push_back(ensemble_of(reader, object));
  return scores;
}

}  // namespace whorl::driver
