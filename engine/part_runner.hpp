// PartRunner: runs parts of a plan's steps on given memory.
//
// It borrows the plan, the addresses of its slots and the worker's own temporaries. The steps' work
// is all here: loops over tiles with their sums, single ops, copies. Nothing allocates.
// Thread safety: one per worker; different parts of a stage may run at the same time.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/kernels/reduce.hpp"
#include "engine/plan.hpp"

namespace whorl {

class PartRunner {
 public:
  PartRunner(const Plan& plan, char* const* slots, char* temporaries, const void** wide_inputs)
      : plan_(plan), slots_(slots), temporaries_(temporaries), wide_inputs_(wide_inputs) {}

  // Before the parts of a step, once.
  void prepare(const PlanStep& step) {
    if (step.kind != PlanStep::Kind::single) return;
    const Single& single = plan_.singles[step.index];
    if (single.prepare == nullptr) return;
    std::array<const void*, stack_inputs> local;
    try {
      single.prepare(call_of(single, step, local));
    } catch (const Error& error) {
      throw run_error(plan_.graph, single.node, error);
    }
  }

  void run(const PlanStep& step, std::uint32_t part) {
    try {
      switch (step.kind) {
        case PlanStep::Kind::loop:
          return run_loop(plan_.loops[step.index], step, part);
        case PlanStep::Kind::single:
          return run_single(plan_.singles[step.index], step, part);
        case PlanStep::Kind::copy:
          return run_copy(plan_.copies[step.index]);
      }
    } catch (const Error& error) {
      throw run_error(plan_.graph, node_, error);
    }
  }

  // After them, once.
  void finish(const PlanStep& step) {
    try {
      if (step.kind == PlanStep::Kind::loop) finish_loop(plan_.loops[step.index], step);
      if (step.kind == PlanStep::Kind::single) finish_single(plan_.singles[step.index], step);
    } catch (const Error& error) {
      throw run_error(plan_.graph, node_, error);
    }
  }

 private:
  // Small enough for the stack; ops with more inputs (concat) use memory made beforehand.
  static constexpr std::size_t stack_inputs = 8;

  char* address(const Operand& operand, std::int64_t element = 0) const {
    char* base = operand.slot == Operand::temporary ? temporaries_ : slots_[operand.slot];
    return base + operand.offset + element * operand.stride;
  }

  void run_copy(const Copy& copy) {
    std::memcpy(address(copy.output), address(copy.input), static_cast<std::size_t>(copy.bytes));
  }

  Call call_of(const Single& single, const PlanStep& step,
               std::array<const void*, stack_inputs>& local) {
    const void** inputs = single.inputs.size() <= stack_inputs ? local.data() : wide_inputs_;
    for (std::size_t i = 0; i < single.inputs.size(); ++i) inputs[i] = address(single.inputs[i]);
    void* scratch = step.scratch == Operand::temporary ? nullptr : slots_[step.scratch];
    return {&single.site, inputs, address(single.output), scratch};
  }

  void finish_single(const Single& single, const PlanStep& step) {
    if (single.finish == nullptr) return;
    node_ = single.node;
    std::array<const void*, stack_inputs> local;
    single.finish(call_of(single, step, local));
  }

  void run_single(const Single& single, const PlanStep& step, std::uint32_t part) {
    node_ = single.node;
    std::array<const void*, stack_inputs> local;
    const Call call = call_of(single, step, local);
    const std::int64_t begin = part * single.units_per_part;
    single.kernel(call, begin, std::min(begin + single.units_per_part, single.units));
  }

  void execute(const Instruction& instruction, std::int64_t begin, std::int64_t n) {
    std::array<const void*, stack_inputs> local;
    const std::size_t count = instruction.inputs.size();
    const void** inputs = count <= stack_inputs ? local.data() : wide_inputs_;
    for (std::size_t i = 0; i < count; ++i) inputs[i] = address(instruction.inputs[i], begin);
    node_ = instruction.node;
    instruction.kernel({&instruction.site, inputs, address(instruction.output, begin), begin, n,
                        instruction.plane});
  }

  void run_loop(const Loop& loop, const PlanStep& step, std::uint32_t part) {
    for (const Instruction& instruction : loop.prologue) execute(instruction, 0, loop.tile);
    std::int64_t begin = part * loop.elements_per_part;
    std::int64_t end = std::min(begin + loop.elements_per_part, loop.elements);
    if (loop.row > sum_piece) {
      const std::int64_t parts_per_row =
          (loop.row + loop.elements_per_part - 1) / loop.elements_per_part;
      const std::int64_t row = part / parts_per_row;
      begin = row * loop.row + part % parts_per_row * loop.elements_per_part;
      end = std::min(begin + loop.elements_per_part, (row + 1) * loop.row);
    }
    if (loop.row <= loop.tile) {
      for (std::int64_t at = begin; at < end; at += loop.tile)
        run_whole_rows(loop, at, std::min(loop.tile, end - at));
      return;
    }
    // Long rows: sums restart at every row, and at every piece of one.
    while (begin < end) {
      const std::int64_t row_end = (begin / loop.row + 1) * loop.row;
      const std::int64_t in_row = begin % loop.row;
      const std::int64_t piece_end = begin - in_row + (in_row / sum_piece + 1) * sum_piece;
      const std::int64_t stop = std::min({end, row_end, piece_end});
      run_piece(loop, step, begin, stop);
      begin = stop;
    }
  }

  void run_whole_rows(const Loop& loop, std::int64_t begin, std::int64_t n) {
    for (const Instruction& instruction : loop.body) execute(instruction, begin, n);
    for (const Sink& sink : loop.sinks) {
      const void* from = address(sink.input, begin);
      void* to = address(sink.output, begin / loop.row);
      if (sink.dtype == DType::f32) {
        sum_rows(static_cast<const float*>(from), n, loop.row, static_cast<float*>(to));
      } else {
        sum_rows(static_cast<const double*>(from), n, loop.row, static_cast<double*>(to));
      }
    }
  }
  template <class T>
  static void sum_rows(const T* x, std::int64_t n, std::int64_t row, T* y) {
    for (std::int64_t at = 0; at < n; at += row) *y++ = static_cast<T>(piece_sum(x + at, row));
  }

  // One piece of one row, or all of a row of one piece.
  void run_piece(const Loop& loop, const PlanStep& step, std::int64_t begin, std::int64_t end) {
    std::array<double, max_sinks> total{};
    for (std::int64_t at = begin; at < end; at += loop.tile) {
      const std::int64_t n = std::min(loop.tile, end - at);
      for (const Instruction& instruction : loop.body) execute(instruction, at, n);
      for (std::size_t k = 0; k < loop.sinks.size(); ++k)
        add_segments(loop.sinks[k], at, n, total[k]);
    }
    const std::int64_t row = begin / loop.row;
    for (std::size_t k = 0; k < loop.sinks.size(); ++k) {
      const Sink& sink = loop.sinks[k];
      if (loop.row <= sum_piece) {
        store(sink, row, total[k]);
      } else {
        const std::int64_t pieces = (loop.row + sum_piece - 1) / sum_piece;
        const std::int64_t piece = begin % loop.row / sum_piece;
        piece_totals(sink, step)[row * pieces + piece] = total[k];
      }
    }
  }
  void add_segments(const Sink& sink, std::int64_t at, std::int64_t n, double& total) {
    const void* from = address(sink.input, at);
    for (std::int64_t i = 0; i < n; i += sum_segment) {
      const std::int64_t count = std::min(sum_segment, n - i);
      total += sink.dtype == DType::f32
                   ? static_cast<double>(segment_sum(static_cast<const float*>(from) + i, count))
                   : segment_sum(static_cast<const double*>(from) + i, count);
    }
  }
  void store(const Sink& sink, std::int64_t row, double total) {
    void* to = address(sink.output, row);
    if (sink.dtype == DType::f32) {
      *static_cast<float*>(to) = static_cast<float>(total);
    } else {
      *static_cast<double*>(to) = total;
    }
  }
  double* piece_totals(const Sink& sink, const PlanStep& step) const {
    return reinterpret_cast<double*>(slots_[step.scratch] + sink.scratch);
  }

  void finish_loop(const Loop& loop, const PlanStep& step) {
    if (loop.row <= sum_piece) return;
    const std::int64_t rows = loop.elements / loop.row;
    const std::int64_t pieces = (loop.row + sum_piece - 1) / sum_piece;
    for (const Sink& sink : loop.sinks) {
      const double* totals = piece_totals(sink, step);
      for (std::int64_t row = 0; row < rows; ++row) {
        double total = 0;
        for (std::int64_t piece = 0; piece < pieces; ++piece) total += *totals++;
        store(sink, row, total);
      }
    }
  }

  const Plan& plan_;
  char* const* slots_;
  char* temporaries_;
  const void** wide_inputs_;
  NodeId node_ = 0;
};

}  // namespace whorl
