// The op table. A new op adds its row here; everything else about it is in its own file.
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "engine/op.hpp"

namespace whorl {

extern const OpDef input_op, constant_op, fill_op, iota_op;
extern const OpDef neg_op, add_op, sub_op, mul_op, div_op;
extern const OpDef square_op, sqrt_op, rsqrt_op, pow_op;
extern const OpDef exp_op, expm1_op, log_op, log1p_op, tanh_op, sigmoid_op, softplus_op;
extern const OpDef sin_op, cos_op, erf_op;
extern const OpDef abs_op, sign_op, relu_op, step_op, clamp_op, maximum_op, minimum_op;
extern const OpDef equal_op, less_op, less_equal_op, greater_op, greater_equal_op;
extern const OpDef logical_and_op, logical_or_op, logical_not_op, select_op;
extern const OpDef stop_gradient_op, assert_finite_op, cast_op;
extern const OpDef sum_op, mean_op, max_op, min_op, log_sum_exp_op, median_op;
extern const OpDef softmax_op, log_softmax_op, bernoulli_cross_entropy_op;
extern const OpDef softmax_cross_entropy_op, softmax_cross_entropy_gradient_op;
extern const OpDef broadcast_op, sum_to_op, reshape_op, transpose_op, slice_op, pad_op;
extern const OpDef concat_op, stack_op;
extern const OpDef gather_op, scatter_add_op, one_hot_op;
extern const OpDef random_normal_op, random_uniform_op;
extern const OpDef matmul_op, cholesky_op, triangular_solve_op, symmetric_solve_op;
extern const OpDef log_determinant_op;
extern const OpDef coordinate_net_op, coordinate_net_weights_gradient_op;
extern const OpDef gru_op, gru_trace_op, gru_adjoint_op;

namespace {

constexpr const OpDef* own_ops[] = {
    // sources
    &input_op,
    &constant_op,
    &fill_op,
    &iota_op,
    // element by element
    &neg_op,
    &add_op,
    &sub_op,
    &mul_op,
    &div_op,
    &square_op,
    &sqrt_op,
    &rsqrt_op,
    &pow_op,
    &exp_op,
    &expm1_op,
    &log_op,
    &log1p_op,
    &tanh_op,
    &sigmoid_op,
    &softplus_op,
    &sin_op,
    &cos_op,
    &erf_op,
    &abs_op,
    &sign_op,
    &relu_op,
    &step_op,
    &clamp_op,
    &maximum_op,
    &minimum_op,
    &equal_op,
    &less_op,
    &less_equal_op,
    &greater_op,
    &greater_equal_op,
    &logical_and_op,
    &logical_or_op,
    &logical_not_op,
    &select_op,
    &stop_gradient_op,
    &assert_finite_op,
    &cast_op,
    // products
    &matmul_op,
    // reductions
    &sum_op,
    &mean_op,
    &max_op,
    &min_op,
    &log_sum_exp_op,
    &median_op,
    &softmax_op,
    &log_softmax_op,
    &softmax_cross_entropy_op,
    &softmax_cross_entropy_gradient_op,
    &bernoulli_cross_entropy_op,
    // shapes
    &broadcast_op,
    &sum_to_op,
    &reshape_op,
    &transpose_op,
    &slice_op,
    &pad_op,
    &concat_op,
    &stack_op,
    // by index
    &gather_op,
    &scatter_add_op,
    &one_hot_op,
    // random numbers
    &random_normal_op,
    &random_uniform_op,
    // linear algebra
    &cholesky_op,
    &triangular_solve_op,
    &symmetric_solve_op,
    &log_determinant_op,
    // networks
    &coordinate_net_op,
    &coordinate_net_weights_gradient_op,
    &gru_op,
    &gru_trace_op,
    &gru_adjoint_op,
};

// The table of one process. Rows are only ever added.
struct Table {
  std::shared_mutex mutex;
  std::vector<const OpDef*> rows{std::begin(own_ops), std::end(own_ops)};
  std::unordered_map<std::string_view, const OpDef*> by_name;
  Table() {
    for (const OpDef* op : rows) by_name.emplace(op->name, op);
  }
};
Table& table() {
  static Table instance;
  return instance;
}

}  // namespace

std::vector<const OpDef*> all_ops() {
  std::shared_lock lock(table().mutex);
  return table().rows;
}

const OpDef* find_op(std::string_view name) {
  std::shared_lock lock(table().mutex);
  const auto found = table().by_name.find(name);
  return found == table().by_name.end() ? nullptr : found->second;
}

void register_op(const OpDef& op) {
  std::unique_lock lock(table().mutex);
  const auto [found, fresh] = table().by_name.emplace(op.name, &op);
  if (!fresh && found->second != &op)
    fail(ErrorKind::usage, "register_op", "an op named '{}' exists already", op.name);
  if (fresh) table().rows.push_back(&op);
}

}  // namespace whorl
