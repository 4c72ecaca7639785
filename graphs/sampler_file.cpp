#include "graphs/sampler_file.hpp"

#include "engine/file.hpp"
#include "graphs/file/container.hpp"
#include "graphs/file/decode.hpp"
#include "graphs/file/dynamics.hpp"
#include "graphs/file/learned.hpp"
#include "graphs/file/print.hpp"
#include "graphs/file/sizes.hpp"
#include "graphs/sampler.pb.h"

namespace whorl {

namespace graphs {

// The field lists stand outside of the unnamed namespace, where FieldReader and FieldWriter cannot
// find them.
template <class Io>
void describe(const Io& io, Variable& variable) {
  io.required("name");
  io.value("name", variable.name);
  io.value("per_chain", variable.per_chain);
  io.part("start", variable.start);
}

template <class Io>
void describe(const Io& io, std::pair<std::string, std::string>& entry) {
  io.required("key");
  io.value("key", entry.first);
  io.value("value", entry.second);
}

// All but the hash, the version and the function.
template <class Io>
void describe(const Io& io, SamplerFile& sampler) {
  io.value("sampler", sampler.name);
  io.part("learned", sampler.learned, Weights::present);
  io.part("variables", sampler.variables);
  io.part("record", sampler.record);
}

namespace {

void check_variables(const FieldReader& io, const SamplerFile& sampler, const Source& source) {
  if (sampler.learned && !sampler.variables.empty())
    io.refuse("variables", "belong to dynamics; a learned sampler has the momentum alone");
  for (std::size_t i = 0; i < sampler.variables.size(); ++i) {
    const FieldReader variable = io.entry("variables", static_cast<int>(i));
    const std::string& name = sampler.variables[i].name;
    located(
        variable.place("name"), [] { return "variables.name"; },
        [&] { check_file_name(name, source.limits); });
    for (const char* taken : {"position", "energy", "gradient", "size"})
      if (name == taken) variable.refuse("name", "is '{}', which is always there", name);
    // A dot separates the variables in the outputs D.VARIABLE and Q.ROW.COLUMN.
    if (name.find('.') != name.npos) variable.refuse("name", "is '{}', expected no '.'", name);
    for (std::size_t j = 0; j < i; ++j)
      if (sampler.variables[j].name == name) variable.refuse("name", "'{}' is given twice", name);
    if (name == "momentum" && (i > 0 || sampler.variables[i].per_chain))
      variable.refuse("name", "is 'momentum', which {}",
                      i > 0 ? "must be the first variable" : "a chain has for each coordinate");
  }
}

SamplerFile load(Source source) {
  source.what = "a sampler";
  file::Sampler message;
  Places places;
  read_text(source, message, places);
  const FieldReader io(source, message, &places);
  check_version(message, sampler_format_version, io.place("format_version"));
  io.exactly_one({"learned", "dynamics"});
  SamplerFile sampler;
  describe(io, sampler);
  check_variables(io, sampler, source);
  if (message.has_dynamics()) {
    sampler.dynamics_text = many_lines(message.dynamics());
    sampler.dynamics = make_dynamics(io, message.dynamics(), sampler.variables, source);
  }
  if (message.has_hash() && message.hash() != canonical_hash(sampler))
    io.refuse("hash",
              "is {}, but that of this sampler is {}: the file was changed after it was written; "
              "remove the line if that is meant",
              shown(message.hash()), canonical_hash(sampler));
  return sampler;
}

// Without hash.
void encode(SamplerFile sampler, file::Sampler& message) {
  message.set_format_version(sampler_format_version);
  describe(FieldWriter(message), sampler);
  if (sampler.learned) return;
  Source source{"dynamics_text", {}, sampler.dynamics_text, {}};
  Places places;
  read_text(source, *message.mutable_dynamics(), places);
}

constexpr std::string_view learned_header = R"(# A sampler that was learned, to be used with
#   whorl sample ENERGY --sampler FILE
# Numbers are exact. The hash guards them: remove its line before you change anything.
)";
constexpr std::string_view dynamics_header = R"(# A sampler given by its D and Q, to be used with
#   whorl sample ENERGY --sampler FILE
# The hash guards it: remove its line before you change anything.
)";

}  // namespace

}  // namespace graphs

SamplerFile load_sampler(const std::filesystem::path& path) {
  const LoadLimits limits;
  return graphs::load({path.string(), {}, graphs::read_file(path, limits), limits});
}

SamplerFile parse_sampler(std::string text, std::string_view origin) {
  return graphs::load({std::string(origin), {}, std::move(text), {}});
}

std::string canonical_hash(const SamplerFile& sampler) {
  file::Sampler message;
  graphs::encode(sampler, message);
  message.clear_sampler();
  message.clear_record();
  return graphs::hash_of(message);
}

std::string to_pbtxt(const SamplerFile& sampler) {
  file::Sampler message;
  graphs::encode(sampler, message);
  message.set_hash(canonical_hash(sampler));
  std::string text(sampler.learned ? graphs::learned_header : graphs::dynamics_header);
  text += graphs::many_lines(message);
  parse_sampler(text, "save");  // what would be refused when it is loaded is refused here
  return text;
}

void save_sampler(const SamplerFile& sampler, const std::filesystem::path& path) {
  if (path.extension() != ".pbtxt")
    fail(ErrorKind::usage, "save", "{}: the name of a sampler file ends in .pbtxt", path.string());
  write_file("save", path.string(), to_pbtxt(sampler));
}

}  // namespace whorl
