// whorl predict: what the draws of a run say of data, and how good that is.
#include <algorithm>

#include "data/npy.hpp"
#include "driver/commands.hpp"
#include "driver/data_sources.hpp"
#include "driver/draws_summary.hpp"
#include "driver/print.hpp"
#include "driver/progress.hpp"
#include "driver/run_record.hpp"
#include "driver/sequences.hpp"
#include "driver/verdicts.hpp"
#include "graphs/graph_file.hpp"

namespace whorl::driver {

namespace {

struct Prediction {
  PredictiveMean mean;
  std::optional<ClassificationScores> scores;  // where there are labels
};

void check_has_draws(const RunRecord& run) {
  if (!run.draws || run.experiment.targets.empty() || run.experiment.targets[0].graph.empty())
    fail(ErrorKind::usage, "predict", "{} has no draws of a graph's parameters",
         run.directory.string());
}

void check_kept(const RunRecord& run, const Energy& energy) {
  for (const Parameter& parameter : energy.parameters()) {
    const auto& all = run.draws->layout().parameters;
    const auto kept = std::find_if(all.begin(), all.end(), [&](const DrawsVariable& each) {
      return each.name == parameter.name;
    });
    if (kept == all.end())
      fail(ErrorKind::usage, "predict",
           "{} did not keep the draws of parameter '{}', which predictions need",
           run.directory.string(), parameter.name);
    if (kept->shape != parameter.shape)
      fail(ErrorKind::data, "predict",
           "{}: the draws of parameter '{}' are {}; the data given need {}", run.directory.string(),
           parameter.name, to_string(kept->shape), to_string(parameter.shape));
  }
}

// Calls `use` with the state of all chains, [K, n], for each stored draw, and with the chains that
// count.
template <class Use>
void for_each_draw(const RunRecord& run, const Energy& energy, std::int64_t memory, Output& output,
                   const Use& use) {
  const DrawsReader& draws = *run.draws;
  if (draws.draws() == 0)
    fail(ErrorKind::usage, "predict", "{} has no draws yet", run.directory.string());
  Tensor states({energy.dtype(), {draws.layout().chains, energy.size()}});
  std::vector<bool> counts(static_cast<std::size_t>(draws.layout().chains), false);
  for (std::int64_t chain : living_chains(draws)) counts[static_cast<std::size_t>(chain)] = true;
  Progress progress("predict", "draws", draws.draws(), output.quiet, false);
  progress.start(0, bytes_text(static_cast<double>(memory)) + " of memory");
  for (std::int64_t draw = 0; draw < draws.draws(); ++draw) {
    draws.read_draw(draw, states);
    use(states, counts);
    if (progress.due()) progress.update(draw + 1, "");
  }
}

Prediction predict(const RunRecord& run, const std::vector<std::string>& files, int threads,
                   Output& output) {
  // As it was sampled; its scale does not matter here.
  const Energy energy(load_graph(run.experiment.targets[0].graph));
  check_kept(run, energy);
  const std::vector<std::string> row_inputs = row_inputs_of(energy.graph());
  const std::string label = label_input(energy, row_inputs);
  const DrawsReader& draws = *run.draws;
  const HeldOut rows = load_more_rows(energy.graph(), run.experiment.data, files, label);

  Predictor predictor(energy, row_inputs, load_shared(energy.graph(), run.experiment.data),
                      draws.layout().chains, threads);
  Prediction result{PredictiveMean(rows.rows, predictor.columns()), {}};
  for_each_draw(run, energy, predictor.memory_bytes(), output,
                [&](const Tensor& states, const std::vector<bool>& counts) {
                  predictor.predict(states, rows, counts, result.mean);
                });
  if (const auto labels = rows.tensors.find(label); labels != rows.tensors.end())
    result.scores = result.mean.scores(labels_of(labels->second, label));
  return result;
}

void print_text(const Prediction& found, const std::string& saved, Output& output) {
  output.print("{} rows, {} draws\n", found.mean.rows(), found.mean.draws());
  if (found.scores) {
    const ClassificationScores& scores = *found.scores;
    output.print("  error        {:.4f}  (accuracy {:.2f}%)\n", scores.error,
                 100 * (1 - scores.error));
    output.print("  NLL          {:.5f} a row, {:.2f} in all, in nats\n", scores.nll,
                 scores.nll_sum);
    output.print("  Brier        {:.5f}\n", scores.brier);
    output.print("  ECE          {:.5f}  ({} bins of equal width)\n", scores.ece,
                 ClassificationScores::bins);
    output.print("  entropy      {:.5f} = {:.5f} aleatoric + {:.5f} epistemic, in nats\n",
                 scores.entropy, scores.aleatoric, scores.epistemic);
    if (scores.floored > 0)
      output.note(
          fmt::format("{} rows have a label that no draw deems possible: their NLL is at "
                      "least that of the smallest number",
                      scores.floored));
  }
  if (!saved.empty()) output.print("wrote {}\n", printable(saved));
}

void print_json(const Prediction& found, const std::string& saved, Output& output) {
  Json json;
  json.object().field("rows", found.mean.rows()).field("draws", found.mean.draws());
  if (found.scores) {
    const ClassificationScores& scores = *found.scores;
    json.field("error", scores.error).field("nll", scores.nll).field("nll_sum", scores.nll_sum);
    json.field("brier", scores.brier).field("ece", scores.ece);
    json.field("ece_bins", ClassificationScores::bins).field("entropy", scores.entropy);
    json.field("aleatoric", scores.aleatoric).field("epistemic", scores.epistemic);
    json.field("floored", scores.floored);
  }
  if (!saved.empty()) json.field("probabilities", saved);
  output.write(json.end().text());
}

// The sequences of `source`, frame by frame.
PredictiveDensity predict_sequences(const RunRecord& run, const std::string& source, int threads,
                                    Output& output) {
  // Predictions need no training data; these take their place.
  const SequenceTask task =
      load_sequence_task(run.experiment.targets[0], {.input = run.experiment.data.sequences->input,
                                                     .train = source,
                                                     .validation = {},
                                                     .test = {},
                                                     .window = {}});
  const Energy& energy = task.energies.back().energy;
  check_kept(run, energy);
  SequencePredictor predictor(task, task.train, run.draws->layout().chains, threads);
  PredictiveDensity density(task.train.starts());
  for_each_draw(run, energy, predictor.memory_bytes(), output,
                [&](const Tensor& states, const std::vector<bool>& counts) {
                  predictor.predict(states, counts, density);
                });
  return density;
}

void run_predict_sequences(const RunRecord& run, const Arguments& arguments, Output& output) {
  std::string source = run.experiment.data.sequences->test.value_or("");
  if (arguments.has("data")) {
    const std::vector<std::string> given = arguments.texts("data");
    if (given.size() > 1)
      fail(ErrorKind::usage, "predict", "--data is given {} times; sequences are in one place",
           given.size());
    source = given.front();
  }
  if (source.empty())
    fail(ErrorKind::usage, "predict", "the run has no test data; give some with --data");
  const PredictiveDensity density = predict_sequences(run, source, arguments.threads(), output);
  const SequenceScores scores = density.scores();
  const std::string saved = arguments.text("out");
  if (!saved.empty())
    save_npy(saved, Tensor::from({DType::f64, {density.frames()}}, density.losses()));
  if (arguments.has("json")) {
    Json json;
    json.object().field("sequences", scores.sequences).field("frames", scores.frames);
    json.field("draws", scores.draws).field("nll", scores.nll);
    json.field("nll_after_first", scores.nll_after_first);
    json.field("nll_by_sequence", scores.nll_by_sequence);
    if (!saved.empty()) json.field("losses", saved);
    return output.write(json.end().text());
  }
  output.print("{} sequences of {} frames in all, {} draws\n", scores.sequences, scores.frames,
               scores.draws);
  output.print("  NLL          {:.5f} a frame, in nats\n", scores.nll);
  output.print("               {} without the first frame of each sequence\n",
               or_dash(scores.nll_after_first, "{:.5f}"));
  output.print("               {:.5f} as the mean over sequences of their means\n",
               scores.nll_by_sequence);
  if (!saved.empty()) output.print("wrote {}\n", printable(saved));
}

void run_predict(const Arguments& arguments, Output& output) {
  override_environment(output);
  const RunRecord run = load_run(arguments.positional()[0]);
  check_has_draws(run);
  if (run.experiment.data.sequences) return run_predict_sequences(run, arguments, output);
  std::vector<std::string> files = run.experiment.data.test;
  if (arguments.has("data")) files = arguments.texts("data");
  if (files.empty())
    fail(ErrorKind::usage, "predict", "the run has no test data; give some with --data");
  const Prediction found = predict(run, files, arguments.threads(), output);
  const std::string saved = arguments.text("out");
  if (!saved.empty()) {
    const std::vector<double> mean = found.mean.probabilities();
    save_npy(saved, Tensor::from({DType::f64, {found.mean.rows(), found.mean.classes()}}, mean));
  }
  arguments.has("json") ? print_json(found, saved, output) : print_text(found, saved, output);
}

}  // namespace

Command predict_command() {
  return {
      "predict",
      {"DIR"},
      1,
      "predict by the draws of a run, and tell how well",
      "Averages what all draws in DIR predict: the posterior predictive of a classifier, whose\n"
      "energy has the output 'logits'. Where the rows have labels, it is judged by error, "
      "negative\n"
      "log-likelihood, Brier score, calibration (ECE), and its entropy is split into what every\n"
      "draw leaves open (aleatoric) and what the draws disagree about (epistemic). Rows are\n"
      "prepared as those of the run. Memory does not grow with the number of draws. Of sequences,\n"
      "whose energy has the output 'losses', it tells the negative log-likelihood of a frame.",
      "whorl predict runs/a --data x=images.npy --data y=labels.npy --out probabilities.npy",
      {{"data", "FILE", "as for sample (default: the run's test data); labels may be missing", '\0',
        true},
       {"out", "FILE",
        "the mean probabilities, f64[rows,classes], or -log p of frames, f64[frames], as NPY"},
       threads_option,
       quiet_option("no progress"),
       json_option},
      &run_predict};
}

}  // namespace whorl::driver
