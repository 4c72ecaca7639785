// Variants of an op's sample: other shapes, element types and attributes, mostly wrong ones.
#pragma once

#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "op_cases.hpp"

namespace whorl::testing {

struct Variant {
  std::string label;
  Sample sample;
  // Attributes as they would come from a file; they may break the schema.
  AttrList attributes;
};

// The sample with dimensions replaced by 0: one at a time, and all that have one size together,
// with and without the same change in lists of integers among the attributes; and with some or all
// inputs of rank 0.
std::vector<Variant> empty_variants(const OpCase& c);

// Wrong numbers of inputs, dtypes, ranks and sizes.
std::vector<Variant> input_variants(const OpCase& c);

// Every attribute with every value that could hurt: out of range, huge, not a number, of another
// kind, missing, twice, unknown.
std::vector<Variant> attribute_variants(const OpCase& c);

enum class Outcome { refused, failed_at_run, ran };
struct Trial {
  Outcome outcome;
  std::string text;  // of the Error
  ErrorKind kind = ErrorKind::internal;
};

// Appends the variant's node; where it is accepted and small enough, runs it, builds its gradient
// and runs that too. Only Errors are caught: anything else is a crash.
Trial attempt(const OpCase& c, const Variant& variant);

}  // namespace whorl::testing
