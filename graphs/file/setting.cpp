#include "graphs/file/setting.hpp"

#include <google/protobuf/descriptor.h>

#include <charconv>
#include <string>
#include <vector>

#include "engine/attributes.hpp"
#include "engine/error.hpp"

namespace whorl::graphs {

namespace {

namespace pb = google::protobuf;

struct Setting {
  std::string_view whole, path, value;

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::usage, "setting", "'{}': {}", whole,
         fmt::format(format, std::forward<Args>(args)...));
  }
};

const pb::FieldDescriptor& field_of(const pb::Message& message, std::string_view name,
                                    std::string_view before, const Setting& setting) {
  const pb::Descriptor& type = *message.GetDescriptor();
  if (const auto* field = type.FindFieldByName(std::string(name))) return *field;
  std::vector<std::string_view> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  setting.refuse("there is no setting '{}'{}{}{}", name, before.empty() ? "" : " in ", before,
                 did_you_mean(name, names));
}

template <class T>
T number(const Setting& setting, std::string_view word, std::string_view kind) {
  T value = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, fault] = std::from_chars(word.data(), end, value);
  if (fault != std::errc{} || stop != end) setting.refuse("'{}' is not {}", word, kind);
  return value;
}

bool truth(const Setting& setting, std::string_view word) {
  if (word != "true" && word != "false") setting.refuse("'{}' is neither true nor false", word);
  return word == "true";
}

// Puts one value into a field, or adds it to a list.
void put(pb::Message& message, const pb::FieldDescriptor& field, std::string_view word,
         const Setting& setting) {
  const pb::Reflection& in = *message.GetReflection();
  const bool list = field.is_repeated();
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_DOUBLE: {
      const auto value = number<double>(setting, word, "a number");
      return list ? in.AddDouble(&message, &field, value) : in.SetDouble(&message, &field, value);
    }
    case pb::FieldDescriptor::CPPTYPE_INT32: {
      const auto value = number<std::int32_t>(setting, word, "a whole number");
      return list ? in.AddInt32(&message, &field, value) : in.SetInt32(&message, &field, value);
    }
    case pb::FieldDescriptor::CPPTYPE_INT64: {
      const auto value = number<std::int64_t>(setting, word, "a whole number");
      return list ? in.AddInt64(&message, &field, value) : in.SetInt64(&message, &field, value);
    }
    case pb::FieldDescriptor::CPPTYPE_UINT64: {
      const auto value = number<std::uint64_t>(setting, word, "a whole number from 0 on");
      return list ? in.AddUInt64(&message, &field, value) : in.SetUInt64(&message, &field, value);
    }
    case pb::FieldDescriptor::CPPTYPE_BOOL: {
      const bool value = truth(setting, word);
      return list ? in.AddBool(&message, &field, value) : in.SetBool(&message, &field, value);
    }
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return list ? in.AddString(&message, &field, std::string(word))
                  : in.SetString(&message, &field, std::string(word));
    default:
      setting.refuse("this is no single setting; as in {}.NAME=VALUE", setting.path);
  }
}

void put_all(pb::Message& message, const pb::FieldDescriptor& field, const Setting& setting) {
  if (!field.is_repeated()) return put(message, field, setting.value, setting);
  message.GetReflection()->ClearField(&message, &field);
  for (std::string_view rest = setting.value;;) {
    const std::size_t comma = rest.find(',');
    put(message, field, rest.substr(0, comma), setting);
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

// `at` is where in the path the field of this message begins.
void descend(pb::Message& message, std::size_t at, const Setting& setting) {
  const std::size_t dot = setting.path.find('.', at);
  const std::string_view name = setting.path.substr(at, dot - at);
  const std::string_view before = at == 0 ? "" : setting.path.substr(0, at - 1);
  const pb::FieldDescriptor& field = field_of(message, name, before, setting);
  if (dot == std::string_view::npos) return put_all(message, field, setting);
  if (field.cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE)
    setting.refuse("'{}' has no parts", setting.path.substr(0, dot));
  const pb::Reflection& in = *message.GetReflection();
  if (!field.is_repeated()) return descend(*in.MutableMessage(&message, &field), dot + 1, setting);
  const int count = in.FieldSize(message, &field);
  if (count == 0) setting.refuse("there is none of '{}'", setting.path.substr(0, dot));
  for (int i = 0; i < count; ++i)
    descend(*in.MutableRepeatedMessage(&message, &field, i), dot + 1, setting);
}

}  // namespace

void change_setting(pb::Message& message, std::string_view text) {
  const std::size_t equals = text.find('=');
  Setting setting{text, text.substr(0, equals), {}};
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
    setting.refuse("expected NAME=VALUE, as in run.chains=8");
  setting.value = text.substr(equals + 1);
  descend(message, 0, setting);
}

}  // namespace whorl::graphs
