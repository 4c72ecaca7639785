#include "graphs/file/text.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cctype>

#include "engine/attributes.hpp"

namespace whorl::graphs {

namespace pb = google::protobuf;

namespace {

// The text between the n-th pair of double quotes.
std::string_view quoted(std::string_view message, int n) {
  std::size_t at = 0;
  for (int i = 0; i < 2 * n + 1; ++i) {
    at = message.find('"', at);
    if (at == std::string_view::npos) return {};
    ++at;
  }
  return message.substr(at, message.find('"', at) - at);
}

// The parser's complaint in our words, where we have better ones.
std::string reworded(const std::string& message) {
  if (message.find(" has no field named ") != std::string::npos) {
    const std::string type(quoted(message, 0));
    const std::string_view field = quoted(message, 1);
    std::vector<std::string_view> known;
    const pb::Descriptor* descriptor =
        pb::DescriptorPool::generated_pool()->FindMessageTypeByName(type);
    for (int i = 0; descriptor != nullptr && i < descriptor->field_count(); ++i)
      known.push_back(descriptor->field(i)->name());
    return fmt::format("unknown field '{}' of {}{}", field, type.substr(type.rfind('.') + 1),
                       did_you_mean(field, known));
  }
  if (message.find(" is specified multiple times") != std::string::npos)
    return fmt::format("field '{}' is given twice", quoted(message, 0));
  std::string text = message;
  while (!text.empty() && text.back() == '.') text.pop_back();
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return "syntax error: " + text;
}

// Keeps the first complaint: what follows is mostly its consequence.
class FirstError final : public pb::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!text.empty()) return;
    text = reworded(message);
    at_line = line + 1;
    at_column = column + 1;
  }

  std::string text;
  int at_line = 0, at_column = 0;
};

}  // namespace

void parse_text(const Source& source, pb::Message& message, Places* places) {
  pb::io::ArrayInputStream stream(source.bytes.data(), static_cast<int>(source.bytes.size()));
  FirstError error;
  pb::TextFormat::Parser parser;
  parser.SetRecursionLimit(static_cast<int>(source.limits.nesting));
  parser.RecordErrorsTo(&error);
  parser.WriteLocationsTo(places);
  if (!parser.Parse(&stream, &message))
    load_error(source.place(error.at_line, error.at_column), "{}",
               error.text.empty() ? "syntax error" : error.text);
}

void read_text(Source& source, pb::Message& message, Places& places) {
  Lines lines;
  if (check_form(source, lines) == Form::binary)
    load_error(source.place(), "this is a binary graph, not {}", source.what);
  parse_text(source, message, &places);
}

}  // namespace whorl::graphs
