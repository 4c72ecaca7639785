// Attributes: the fixed settings of a node, such as the axes of a sum.
//
// An op declares a plain struct and one field list. Equality, hash, printing, reading and writing
// are derived from that list and from nothing else, so they cannot disagree with each other:
//
//   struct Attrs {
//     double low = 0, high = 1;
//     static constexpr auto fields() {
//       return std::tuple{field("low", &Attrs::low), field("high", &Attrs::high)};
//     }
//   };
//
// Invariants: Attributes are immutable; all their values passed the field rules.
// Thread safety: immutable, may be shared.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "engine/tensor.hpp"

namespace whorl {

using AttrValue =
    std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>, DType, Tensor>;
enum class AttrKind { integer, number, boolean, text, integers, dtype, tensor };
std::string_view name(AttrKind kind);
inline AttrKind kind_of(const AttrValue& value) { return static_cast<AttrKind>(value.index()); }
std::string to_string(const AttrValue& value);
bool equal(const AttrValue& a, const AttrValue& b);

using AttrList = std::vector<std::pair<std::string, AttrValue>>;

// What a field accepts. Numbers must be finite and in [low, high]; a text must be a choice.
struct AttrRule {
  bool required = true;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool finite = true;
  std::vector<std::string_view> (*choices)() = nullptr;
};

template <class S, class T>
struct Field {
  std::string_view name;
  T S::*member;
  AttrRule rule;

  // Left out, the field keeps the value of a default-made struct.
  constexpr Field optional() const {
    Field copy = *this;
    copy.rule.required = false;
    return copy;
  }
  constexpr Field within(double low, double high) const {
    Field copy = *this;
    copy.rule.low = low;
    copy.rule.high = high;
    return copy;
  }
  constexpr Field allow_nonfinite() const {
    Field copy = *this;
    copy.rule.finite = false;
    return copy;
  }
  constexpr Field one_of(std::vector<std::string_view> (*choices)()) const {
    Field copy = *this;
    copy.rule.choices = choices;
    return copy;
  }
};

template <class S, class T>
constexpr Field<S, T> field(std::string_view name, T S::*member) {
  return {name, member, {}};
}

// One field of one op, as readers, writers and documentation see it.
struct AttrSpec {
  std::string_view name;
  AttrKind kind;
  AttrRule rule;
};

// The erased form of a field list.
struct AttrTable {
  std::vector<AttrSpec> specs;
  AttrValue (*value)(const void* object, int field);
  // Takes one value per field (nullptr: left out); kinds and rules were checked.
  std::shared_ptr<const void> (*make)(const std::vector<const AttrValue*>& values);
};

class Attributes {
 public:
  Attributes() = default;  // of an op without fields
  Attributes(const AttrTable* table, std::shared_ptr<const void> object)
      : table_(table), object_(std::move(object)) {}

  // The op's own struct; A must be the struct they were made from.
  template <class A>
  const A& as() const {
    return *static_cast<const A*>(object_.get());
  }
  int size() const { return table_ ? static_cast<int>(table_->specs.size()) : 0; }
  const AttrSpec& spec(int i) const { return table_->specs[static_cast<std::size_t>(i)]; }
  AttrValue value(int i) const { return table_->value(object_.get(), i); }
  AttrList list() const;
  std::size_t hash() const;
  const void* object() const { return object_.get(); }

  friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  const AttrTable* table_ = nullptr;
  std::shared_ptr<const void> object_;
};

// Checks names, kinds and rules; `where` begins the error text. Throws a graph Error.
Attributes make_attributes(std::string_view where, const AttrTable* table, const AttrList& list);

// The candidate nearest to `name` in edit distance, or "" when none is near.
std::string nearest(std::string_view name, const std::vector<std::string_view>& candidates);
// ", did you mean 'x'?" or "".
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& candidates);

namespace detail {

inline AttrValue to_value(std::int64_t v) { return v; }
inline AttrValue to_value(double v) { return v; }
inline AttrValue to_value(bool v) { return v; }
inline AttrValue to_value(const std::string& v) { return v; }
inline AttrValue to_value(const std::vector<std::int64_t>& v) { return v; }
inline AttrValue to_value(const Shape& v) { return std::vector<std::int64_t>(v.begin(), v.end()); }
inline AttrValue to_value(DType v) { return v; }
inline AttrValue to_value(const Tensor& v) { return v; }

template <class T>
T from_value(const AttrValue& value) {
  if constexpr (std::is_same_v<T, Shape>) {
    return Shape(std::span<const std::int64_t>(std::get<std::vector<std::int64_t>>(value)));
  } else {
    return std::get<T>(value);
  }
}

template <class A>
const AttrTable* attr_table() {
  static const AttrTable table = [] {
    AttrTable made;
    std::apply(
        [&](const auto&... f) {
          (made.specs.push_back({f.name, kind_of(to_value(A{}.*f.member)), f.rule}), ...);
        },
        A::fields());
    made.value = [](const void* object, int wanted) {
      AttrValue result;
      int i = 0;
      std::apply(
          [&](const auto&... f) {
            ((i++ == wanted ? void(result = to_value(static_cast<const A*>(object)->*f.member))
                            : void()),
             ...);
          },
          A::fields());
      return result;
    };
    made.make = [](const std::vector<const AttrValue*>& values) -> std::shared_ptr<const void> {
      auto object = std::make_shared<A>();
      std::size_t i = 0;
      const auto take = [&](const auto& f) {
        if (const AttrValue* value = values[i++])
          (*object).*f.member =
              from_value<std::remove_cvref_t<decltype((*object).*f.member)>>(*value);
      };
      std::apply([&](const auto&... f) { (take(f), ...); }, A::fields());
      return object;
    };
    return made;
  }();
  return &table;
}

}  // namespace detail

// Attributes from an op's own struct, for builders; the struct's values are trusted to obey the
// rules that `infer` does not check again.
template <class A>
Attributes attributes(A object) {
  return Attributes(detail::attr_table<A>(), std::make_shared<const A>(std::move(object)));
}

}  // namespace whorl
