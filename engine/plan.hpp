// Plan: how a graph runs, decided once.
//
// A plan is a list of stages; a stage is a list of steps that do not depend on each other; a step
// is one loop over elements (a fused group) or one op, cut into parts. The parts of a stage may run
// in any order and at the same time; stages run one after the other. How steps are cut depends on
// shapes alone, so results do not depend on threads.
//
// Every value that leaves a step has a slot: a place in the arena, an input, a constant or an
// output.
//
// Invariants: two values share bytes of the arena only if every step that reads or writes the first
// is in an earlier stage than the writer of the second, or the second is written in place of the
// first by the last step that reads it, element by element.
// Thread safety: immutable after compile(); may be shared by many executors.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/graph.hpp"

namespace whorl {

// Where the bytes of a slot are.
struct Slot {
  enum class Kind { arena, input, constant, output };
  Kind kind = Kind::arena;
  std::int64_t at = 0;  // offset in the arena, or index of the input, constant or output
  std::int64_t bytes = 0;
};

// A step's access to memory: bytes from `offset` on in a slot, or in the worker's own temporaries.
struct Operand {
  static constexpr std::uint32_t temporary = ~std::uint32_t{0};
  std::uint32_t slot = 0;
  std::int32_t stride = 0;  // bytes from one element to the next; 0: all of it, at once
  std::int64_t offset = 0;
};

// One kernel of a loop. What every run reads stands together, in the order of the instructions: a
// graph of many small loops has more instructions than fit in the cache.
struct alignas(64) Instruction {
  TileKernel kernel = nullptr;
  NodeId node = 0;
  Operand output;
  boost::container::small_vector<Operand, 3> inputs;
  std::int64_t plane = 0;  // elements from one plane of the output to the next
  Site site;
};

// A row sum on a loop's way: pieces go to scratch and are added at the end, or rows are finished
// inside a part.
struct Sink {
  Operand input;
  Operand output;
  DType dtype = DType::f32;
  std::int64_t scratch = 0;  // offset in the step's scratch: one double per piece
  NodeId node = 0;
};

inline constexpr std::size_t max_sinks = 32;  // of one loop

// A fused group. `prologue` runs once per part: it makes the uniform temporaries.
struct Loop {
  std::vector<Instruction> prologue;
  std::vector<Instruction> body;
  std::vector<Sink> sinks;
  std::int64_t elements = 0;
  std::int64_t row = 0;
  std::int64_t tile = 0;               // elements of a tile; whole rows when rows are shorter
  std::int64_t elements_per_part = 0;  // inside one row when rows are long, else whole rows
};

// One op that is no loop.
struct Single {
  Kernel kernel = nullptr;
  CallKernel prepare = nullptr, finish = nullptr;
  Site site;
  std::vector<Operand> inputs;
  Operand output;
  std::int64_t units = 0;
  std::int64_t units_per_part = 0;
  NodeId node = 0;
};

// A copy of bytes: an output that is an input, a constant, or a part of another value.
struct Copy {
  Operand input;
  Operand output;
  std::int64_t bytes = 0;
};

struct PlanStep {
  enum class Kind { loop, single, copy };
  Kind kind = Kind::loop;
  std::uint32_t index = 0;  // into the plan's loops, singles or copies
  std::uint32_t parts = 1;
  std::uint32_t scratch = Operand::temporary;  // a slot, where the step needs one
  double nanoseconds = 0;                      // an estimate by shape
  double bytes = 0, flops = 0;
};

struct Stage {
  std::uint32_t first = 0, last = 0;  // steps [first, last)
  std::uint32_t parts = 0;            // of all of them
  bool parallel = false;              // worth sharing among threads
};

class Plan {
 public:
  struct Port {
    std::string name;
    Type type;
    std::uint32_t slot = 0;
    bool needed = true;  // false for an input that no output depends on
  };

  Graph graph;                           // as it runs: after the passes
  std::vector<std::vector<Type>> types;  // what the Sites borrow
  std::vector<Loop> loops;
  std::vector<Single> singles;
  std::vector<Copy> copies;
  std::vector<PlanStep> steps;
  std::vector<Stage> stages;
  std::vector<Slot> slots;
  std::vector<Port> inputs;
  std::vector<Tensor> constants;
  std::vector<Port> outputs;
  std::unordered_map<std::string, std::size_t> input_index, output_index;  // by name
  std::int64_t arena_bytes = 0;
  std::int64_t temporary_bytes = 0;  // per worker
  std::int64_t output_bytes = 0;
  std::size_t max_inputs = 0;

  // What an executor with this many workers allocates.
  std::int64_t memory_bytes(int workers) const {
    return arena_bytes + output_bytes + workers * temporary_bytes;
  }
  // "sum" or "exp+mul+add", or the node's name.
  std::string step_name(const PlanStep& step) const;
};

// One line a step, for people and for tests.
std::string to_text(const Plan& plan);

}  // namespace whorl
