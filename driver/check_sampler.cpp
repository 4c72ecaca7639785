#include "driver/check_sampler.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "driver/json.hpp"
#include "driver/sampler_choice.hpp"
#include "samplers/builtin.hpp"
#include "samplers/dynamics.hpp"
#include "samplers/proof.hpp"

namespace whorl::driver {

namespace {

Dynamics builtin_dynamics(const std::string& name) {
  if (name == "sgld") return sgld_dynamics();
  if (name == "sghmc") return sghmc_dynamics(1);
  if (name == "sgnht") return sgnht_dynamics(1);
  // Throws where the name is unknown.
  settings_of(name);
  fail(ErrorKind::usage, "check",
       "{} is not given by D and Q, so there is no correction to prove; sgld, sghmc, sgnht and "
       "sampler files are",
       name);
}

struct Subject {
  std::string kind, hash;
  DynamicsOfSize dynamics;
};

Subject load_subject(const std::string& name) {
  if (!is_sampler_file(name))
    return {"built-in sampler", "",
            [dynamics = builtin_dynamics(name)](std::int64_t) { return dynamics; }};
  const SamplerFile file = load_sampler(name);
  if (!file.learned)
    return {"sampler of D and Q", canonical_hash(file), [file](std::int64_t size) {
              return graph_dynamics(file.variables, file.dynamics(size, DType::f64));
            }};
  // A step size for samplers whose alpha follows from it; the statistics of a task that has none.
  return {"learned sampler", canonical_hash(file),
          [dynamics = learned_dynamics(*file.learned, {.rows = 1}, 0.01)](std::int64_t) {
            return dynamics;
          }};
}

void print_proof(const std::string& name, const Subject& subject, const Proof& proof,
                 Output& output) {
  const bool skipped = std::any_of(proof.checks.begin(), proof.checks.end(),
                                   [](const Check& c) { return c.verdict == Verdict::skipped; });
  output.print("{}: {}, {}\n", printable(name), subject.kind,
               !proof.holds() ? "NOT proven"
               : skipped      ? "right by its equation; not tested by draws"
                              : "proven right");
  for (const Check& check : proof.checks) {
    const bool known = check.verdict != Verdict::skipped;
    output.print("  {:<13} {:<9} {:<24} {}\n", check.name, whorl::name(check.verdict),
                 known ? fmt::format("{:.2g} {} {:.2g}", check.value,
                                     check.at_least ? ">=" : "<=", check.limit)
                       : std::string(),
                 check.explanation);
  }
  if (proof.false_alarm > 0)
    output.print("  a right sampler fails with probability {:.1g} at most\n", proof.false_alarm);
  if (!subject.hash.empty()) output.print("  hash          {}\n", subject.hash);
}

void print_json(const std::string& name, const Subject& subject, const Proof& proof,
                Output& output) {
  Json json;
  json.object().field("sampler", name).field("kind", subject.kind).field("hash", subject.hash);
  json.field("proven", proof.holds()).field("false_alarm", proof.false_alarm);
  json.key("checks").array();
  for (const Check& check : proof.checks)
    json.object()
        .field("name", check.name)
        .field("verdict", whorl::name(check.verdict))
        .field("value", check.value)
        .field("limit", check.limit)
        .field("explanation", check.explanation)
        .end();
  output.write(json.end().end().text());
}

}  // namespace

void check_sampler(const std::string& name, const Arguments& arguments, Output& output) {
  const Subject subject = load_subject(name);
  const Proof proof = prove(subject.dynamics);
  if (arguments.has("json")) {
    print_json(name, subject, proof, output);
  } else if (!output.quiet) {
    print_proof(name, subject, proof, output);
  }
  if (proof.holds()) return;
  output.flush();
  std::vector<std::string> wrong;
  for (const Check& check : proof.checks)
    if (check.verdict == Verdict::failed || check.verdict == Verdict::undecided)
      wrong.push_back(fmt::format("{} {}", check.name, whorl::name(check.verdict)));
  graph_error("check", "{}: the sampler is not proven: {}", name, fmt::join(wrong, ", "));
}

}  // namespace whorl::driver
