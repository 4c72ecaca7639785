#include "autodiff/products.hpp"

#include "engine/ops.hpp"

namespace whorl {

namespace {

void check_directions(std::string_view where, std::span<const Value> xs,
                      std::span<const Value> vs) {
  if (xs.size() != vs.size())
    graph_error(where, "has {} directions for {} variables", vs.size(), xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (vs[i].type() != xs[i].type())
      graph_error(where, "the direction of {} is {}; expected {}", xs[i].graph->label(xs[i].id),
                  to_string(vs[i].type()), to_string(xs[i].type()));
}

}  // namespace

Value jacobian_vector_product(Value y, std::span<const Value> xs, std::span<const Value> vs) {
  check_directions("jacobian_vector_product", xs, vs);
  // Only its identity matters: nothing that is linear in w keeps w in its derivative.
  const Value w = fill_like(y, 0);
  const auto rows = gradient(y, xs, {.seed = w});
  return vector_jacobian_product(rows, vs, {&w, 1}, true).front();
}

Value jacobian_vector_product(Value y, Value x, Value v) {
  return jacobian_vector_product(y, {&x, 1}, {&v, 1});
}

std::vector<Value> hessian_vector_product(Value y, std::span<const Value> xs,
                                          std::span<const Value> vs) {
  check_directions("hessian_vector_product", xs, vs);
  return vector_jacobian_product(gradient(y, xs), vs, xs, true);
}

Value hessian_vector_product(Value y, Value x, Value v) {
  return hessian_vector_product(y, {&x, 1}, {&v, 1}).front();
}

}  // namespace whorl
