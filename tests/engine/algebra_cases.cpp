#include "tests/engine/algebra_cases.hpp"

#include <cmath>

namespace whorl::algebra_test {

// clang-format off
std::vector<RuleCase> rule_cases() {
  return {
      {"stop_gradient", [](Build& b) { return stop_gradient(b.x); }, R"(
output out = %0
)"},
      {"cast_same", [](Build& b) { return b.op("cast", {b.x}, {{"dtype", DType::f32}}); }, R"(
output out = %0
)"},
      {"cast_same", [](Build& b) { return cast(b.x, DType::f64); }, stays},
      {"add_zero", [](Build& b) { return b.i + b.f(0, {2, 3}, DType::i32); }, R"(
output out = %4
)"},
      {"add_zero", [](Build& b) { return b.f(0) + exp(b.x); }, R"(
%10 = exp(%0) : f32[2,3]
output out = %10
)"},
      {"add_zero", [](Build& b) { return b.x + b.f(-0.0); }, R"(
output out = %0
)"},
      {"add_zero", [](Build& b) { return b.x + b.f(0); }, stays},
      {"sub_zero", [](Build& b) { return b.x - b.f(0); }, R"(
output out = %0
)"},
      {"sub_zero", [](Build& b) { return b.x - b.f(-0.0); }, stays},
      {"mul_one", [](Build& b) { return b.f(1) * b.x; }, R"(
output out = %0
)"},
      {"mul_one", [](Build& b) { return b.x * b.f(0); }, stays},
      {"mul_minus_one", [](Build& b) { return b.x * b.f(-1); }, R"(
%10 = neg(%0) : f32[2,3]
output out = %10
)"},
      {"div_one", [](Build& b) { return b.x / b.f(1); }, R"(
output out = %0
)"},
      {"div_power_of_two", [](Build& b) { return b.x / b.f(-8); }, R"(
%10 = fill() {dtype=f32, shape=[2,3], value=-0.125} : f32[2,3]
%11 = mul(%0, %10) : f32[2,3]
output out = %11
)"},
      {"div_power_of_two", [](Build& b) { return b.x / b.f(3); }, stays},
      {"div_power_of_two", [](Build& b) { return b.x / b.f(std::ldexp(1.0, 127)); }, stays},
      {"div_power_of_two", [](Build& b) { return b.x / b.f(std::ldexp(1.0, -127)); }, stays},
      {"scale_chain", [](Build& b) { return b.f(0.5) * (b.f(3) * b.x); }, R"(
%10 = fill() {dtype=f32, shape=[2,3], value=1.5} : f32[2,3]
%11 = mul(%0, %10) : f32[2,3]
output out = %11
)", Same::nearly},
      {"scale_chain", [](Build& b) { return (b.x * b.f(2)) * b.f(0.7); }, R"(
%10 = fill() {dtype=f32, shape=[2,3], value=1.399999976158142} : f32[2,3]
%11 = mul(%0, %10) : f32[2,3]
output out = %11
)", Same::nearly},
      {"scale_chain", [](Build& b) { return (b.x * b.f(3)) * b.f(0.7); }, stays},
      {"scale_chain",
       [](Build& b) { return (b.x * b.f(1e30)) * b.f(std::ldexp(1.0, 100)); }, stays},
      {"double_neg", [](Build& b) { return -(-b.x); }, R"(
output out = %0
)"},
      {"add_neg", [](Build& b) { return -b.x + b.y; }, R"(
%10 = sub(%1, %0) : f32[2,3]
output out = %10
)"},
      {"sub_neg", [](Build& b) { return b.x - (-b.y); }, R"(
%10 = add(%0, %1) : f32[2,3]
output out = %10
)"},
      {"neg_by_neg", [](Build& b) { return -b.x / -b.y; }, R"(
%10 = div(%0, %1) : f32[2,3]
output out = %10
)"},
      {"neg_scale", [](Build& b) { return b.f(3) * -b.x; }, R"(
%10 = fill() {dtype=f32, shape=[2,3], value=-3} : f32[2,3]
%11 = mul(%0, %10) : f32[2,3]
output out = %11
)"},
      {"neg_scale", [](Build& b) { return -(b.x * b.f(3)); }, R"(
%10 = fill() {dtype=f32, shape=[2,3], value=-3} : f32[2,3]
%11 = mul(%0, %10) : f32[2,3]
output out = %11
)"},
      {"neg_scale", [](Build& b) { return -b.i * b.f(3, {2, 3}, DType::i32); }, stays},
      {"even_of_neg", [](Build& b) { return square(-b.x); }, R"(
%10 = square(%0) : f32[2,3]
output out = %10
)"},
      {"mul_self", [](Build& b) { return b.x * b.x; }, R"(
%10 = square(%0) : f32[2,3]
output out = %10
)"},
      {"mul_self", [](Build& b) { return b.i * b.i; }, stays},
      {"pow", [](Build& b) { return pow(b.x, b.f(0)); }, R"(
%10 = fill() {dtype=f32, shape=[2,3], value=1} : f32[2,3]
output out = %10
)"},
      {"pow", [](Build& b) { return pow(b.x, b.f(1)); }, R"(
output out = %0
)"},
      {"pow", [](Build& b) { return pow(b.x, b.f(2)); }, R"(
%10 = square(%0) : f32[2,3]
output out = %10
)", Same::nearly},
      {"pow", [](Build& b) { return pow(b.x, b.f(-1)); }, R"(
%10 = fill() {dtype=f32, shape=[2,3], value=1} : f32[2,3]
%11 = div(%10, %0) : f32[2,3]
output out = %11
)", Same::nearly},
      {"pow", [](Build& b) { return pow(b.x, b.f(0.5)); }, stays},
      {"idempotent", [](Build& b) { return maximum(b.x, b.x); }, R"(
output out = %0
)"},
      {"idempotent", [](Build& b) { return b.x - b.x; }, stays},
      {"select", [](Build& b) { return select(b.f(0, {2, 3}, DType::boolean), b.x, b.y); }, R"(
output out = %1
)"},
      {"select", [](Build& b) { return select(b.c, b.x, b.x); }, R"(
output out = %0
)"},
      {"broadcast_last", [](Build& b) { return exp(broadcast(b.v, {2, 3})); }, R"(
%10 = exp(%2) : f32[3]
%11 = broadcast(%10) {shape=[2,3], axes=[1]} : f32[2,3]
output out = %11
)"},
      {"broadcast_last",
       [](Build& b) { return broadcast(b.v, {2, 3}) * broadcast(b.s, {2, 3}); }, R"(
%10 = broadcast(%3) {shape=[3], axes=[]} : f32[3]
%11 = mul(%2, %10) : f32[3]
%12 = broadcast(%11) {shape=[2,3], axes=[1]} : f32[2,3]
output out = %12
)"},
      {"broadcast_last", [](Build& b) { return broadcast(b.s, {2, 3}) + b.f(2); }, R"(
%10 = fill() {dtype=f32, shape=[], value=2} : f32[]
%11 = add(%3, %10) : f32[]
%12 = broadcast(%11) {shape=[2,3], axes=[]} : f32[2,3]
output out = %12
)"},
      {"broadcast_last",
       [](Build& b) { return broadcast(b.row, {2, 3}) + broadcast(b.v, {2, 3}); }, R"(
%10 = reshape(%6) {shape=[3]} : f32[3]
%11 = add(%10, %2) : f32[3]
%12 = broadcast(%11) {shape=[2,3], axes=[1]} : f32[2,3]
output out = %12
)"},
      {"broadcast_last", [](Build& b) { return broadcast(b.v, {2, 3}) + b.x; }, stays},
      {"reshape", [](Build& b) { return reshape(reshape(b.x, L{6}), L{3, -1}); }, R"(
%10 = reshape(%0) {shape=[3,2]} : f32[3,2]
output out = %10
)"},
      {"reshape", [](Build& b) { return b.op("reshape", {b.x}, {{"shape", L{2, -1}}}); }, R"(
output out = %0
)"},
      {"move_fill", [](Build& b) { return broadcast(b.f(2, {3}), {2, 3}); }, R"(
%10 = fill() {dtype=f32, shape=[2,3], value=2} : f32[2,3]
output out = %10
)"},
      {"move_fill", [](Build& b) { return reshape(b.f(2), L{6}); }, R"(
%10 = fill() {dtype=f32, shape=[6], value=2} : f32[6]
output out = %10
)"},
      {"broadcast_same", [](Build& b) { return broadcast(b.v, {1, 3}); }, R"(
%10 = reshape(%2) {shape=[1,3]} : f32[1,3]
output out = %10
)"},
      {"broadcast_same", [](Build& b) { return b.raw_broadcast(b.x, {2, 3}, {0, 1}); }, R"(
output out = %0
)"},
      {"broadcast_chain", [](Build& b) { return broadcast(broadcast(b.v, {2, 3}), {4, 2, 3}); }, R"(
%10 = broadcast(%2) {shape=[4,2,3], axes=[2]} : f32[4,2,3]
output out = %10
)"},
      {"broadcast_chain",
       [](Build& b) { return broadcast(broadcast(b.v, {3, 2}, {0}), {3, 4, 2}, {0, 2}); }, R"(
%10 = broadcast(%2) {shape=[3,4,2], axes=[0]} : f32[3,4,2]
output out = %10
)"},
      {"broadcast_reshape", [](Build& b) { return broadcast(reshape(b.v, L{3, 1}), {3, 2}); }, R"(
%10 = broadcast(%2) {shape=[3,2], axes=[0]} : f32[3,2]
output out = %10
)"},
      {"broadcast_reshape", [](Build& b) { return broadcast(reshape(b.x, L{6}), {2, 6}); }, stays},
      {"transpose_same", [](Build& b) { return b.transpose(b.x, {0, 1}); }, R"(
output out = %0
)"},
      {"transpose_same",
       [](Build& b) { return b.transpose(reshape(b.x, L{2, 1, 3}), {1, 0, 2}); }, R"(
%10 = reshape(%0) {shape=[2,1,3]} : f32[2,1,3]
%11 = reshape(%10) {shape=[1,2,3]} : f32[1,2,3]
output out = %11
)"},
      {"transpose_chain",
       [](Build& b) { return b.transpose(b.transpose(b.batch, {1, 2, 0}), {0, 2, 1}); }, R"(
%10 = transpose(%8) {permutation=[1,0,2]} : f32[2,4,3]
output out = %10
)"},
      {"slice_whole", [](Build& b) { return b.slice(b.x, 1, 0, 3); }, R"(
output out = %0
)"},
      {"slice_chain",
       [](Build& b) { return b.slice(b.slice(b.line, 0, 2, 19, 3), 0, 1, 6, 2); }, R"(
%10 = slice(%7) {axis=0, begin=5, end=18, step=6} : f32[3]
output out = %10
)"},
      {"slice_concat", [](Build& b) { return b.slice(b.concat({b.x, b.y}, 1), 1, 4, 6); }, R"(
%10 = slice(%1) {axis=1, begin=1, end=3, step=1} : f32[2,2]
output out = %10
)"},
      {"slice_concat", [](Build& b) { return b.slice(b.concat({b.x, b.y}, 1), 1, 2, 4); }, stays},
      {"concat_one", [](Build& b) { return b.concat({b.x}, 0); }, R"(
output out = %0
)"},
      {"concat_fill", [](Build& b) { return b.concat({b.f(2), b.f(2, {1, 3})}, 0); }, R"(
%10 = fill() {dtype=f32, shape=[3,3], value=2} : f32[3,3]
output out = %10
)"},
      {"concat_fill", [](Build& b) { return b.concat({b.f(0), b.f(-0.0)}, 0); }, stays},
      {"concat_chain", [](Build& b) { return b.concat({b.concat({b.x, b.y}, -1), b.x}, 1); }, R"(
%10 = concat(%0, %1, %0) {axis=1} : f32[2,9]
output out = %10
)"},
      {"pad_nothing", [](Build& b) { return b.pad(b.x, 1, 0, 0); }, R"(
output out = %0
)"},
      {"add_pads", [](Build& b) { return b.pad(b.y, 1, 4, 0) + b.pad(b.x, 1, 1, 3); }, R"(
%10 = concat(%0, %1) {axis=1} : f32[2,6]
%11 = pad(%10) {axis=1, before=1, after=0, between=0, value=0} : f32[2,7]
output out = %11
)", Same::nearly},
      {"add_pads",
       [](Build& b) { return b.pad(b.x, 1, 0, 3) + b.pad(b.y, 1, 2, 1); }, stays, Same::nearly},
      {"reduce_unit", [](Build& b) { return sum(reshape(b.x, L{2, 1, 3}), {1}); }, R"(
%10 = reshape(%0) {shape=[2,1,3]} : f32[2,1,3]
%11 = reshape(%10) {shape=[2,3]} : f32[2,3]
output out = %11
)", Same::nearly},
      {"reduce_unit", [](Build& b) { return sum(b.x, {1}); }, stays, Same::nearly},
      {"sum_fill", [](Build& b) { return sum(b.f(0.1), {0}); }, R"(
%10 = fill() {dtype=f32, shape=[3], value=0.20000000298023224} : f32[3]
output out = %10
)", Same::nearly},
      {"sum_fill", [](Build& b) { return sum(b.f(0.1, {0, 3}), {0}); }, R"(
%10 = fill() {dtype=f32, shape=[3], value=0} : f32[3]
output out = %10
)", Same::nearly},
      {"sum_broadcast", [](Build& b) { return sum(broadcast(b.v, {2, 3}), {0}); }, R"(
%10 = fill() {dtype=f32, shape=[3], value=2} : f32[3]
%11 = mul(%2, %10) : f32[3]
output out = %11
)", Same::nearly},
      {"sum_broadcast", [](Build& b) { return sum(broadcast(b.s, {2, 3}), {1}, true); }, R"(
%10 = broadcast(%3) {shape=[2], axes=[]} : f32[2]
%11 = fill() {dtype=f32, shape=[2], value=3} : f32[2]
%12 = mul(%10, %11) : f32[2]
%13 = reshape(%12) {shape=[2,1]} : f32[2,1]
output out = %13
)", Same::nearly},
      {"sum_broadcast",
       [](Build& b) { return sum(broadcast(b.v, {2, 3}), {1}); }, stays, Same::nearly},
      {"matmul_transpose", [](Build& b) { return matmul(b.transpose(b.x, {1, 0}), b.y); }, R"(
%10 = matmul(%0, %1) {transpose_a=true, transpose_b=false} : f32[3,3]
output out = %10
)", Same::nearly},
      {"matmul_transpose", [](Build& b) { return matmul(b.x, b.transpose(b.x, {1, 0})); }, R"(
%10 = matmul(%0, %0) {transpose_a=false, transpose_b=true} : f32[2,2]
output out = %10
)", Same::nearly},
      {"matmul_broadcast", [](Build& b) { return matmul(b.batch, broadcast(b.w, {4, 3, 2})); }, R"(
%10 = matmul(%8, %9) {transpose_a=false, transpose_b=false} : f32[4,2,2]
output out = %10
)", Same::nearly},
      {"matmul_broadcast",
       [](Build& b) { return matmul(broadcast(b.x, {4, 2, 3}), broadcast(b.w, {4, 3, 2})); }, R"(
%10 = matmul(%0, %9) {transpose_a=false, transpose_b=false} : f32[2,2]
%11 = broadcast(%10) {shape=[4,2,2], axes=[1,2]} : f32[4,2,2]
output out = %11
)", Same::nearly},
      {"matmul_broadcast", [](Build& b) { return matmul(broadcast(b.x, {4, 2, 3}), b.w); }, R"(
%10 = matmul(%0, %9) {transpose_a=false, transpose_b=false} : f32[2,2]
%11 = broadcast(%10) {shape=[4,2,2], axes=[1,2]} : f32[4,2,2]
output out = %11
)", Same::nearly},
      {"matmul_broadcast",
       [](Build& b) { return matmul(b.batch, broadcast(reshape(b.w, L{1, 3, 2}), {4, 3, 2})); }, R"(
%10 = reshape(%9) {shape=[1,3,2]} : f32[1,3,2]
%11 = reshape(%10) {shape=[3,2]} : f32[3,2]
%12 = matmul(%8, %11) {transpose_a=false, transpose_b=false} : f32[4,2,2]
output out = %12
)", Same::nearly},
      {"net_inputs",
       [](Build& b) {
         return coordinate_net({broadcast(b.row, {2, 3}), b.y}, b.line, {{3, 2}, "tanh", {0}});
       }, R"(
%10 = reshape(%6) {shape=[3]} : f32[3]
%11 = reshape(%10) {shape=[1,3]} : f32[1,3]
%12 = coordinate_net(%7, %11, %1) {hidden=[3,2], activation="tanh", wrt=[0], axis=0} : f32[2,2,3]
output out = %12
)", Same::nearly},
      {"net_inputs",
       [](Build& b) { return coordinate_net({b.x, b.f(0.5)}, b.line, {{3, 2}, "tanh", {}}); }, R"(
%10 = fill() {dtype=f32, shape=[], value=0.5} : f32[]
%11 = reshape(%10) {shape=[1,1]} : f32[1,1]
%12 = coordinate_net(%7, %0, %11) {hidden=[3,2], activation="tanh", wrt=[], axis=0} : f32[1,2,3]
output out = %12
)", Same::nearly},
      // On each axis one input keeps its size.
      {"net_inputs",
       [](Build& b) {
         return coordinate_net({broadcast(b.s, {2, 3}), broadcast(b.v, {2, 3})}, b.line,
                               {{3, 2}, "relu", {}});
       }, R"(
%10 = broadcast(%2) {shape=[2,3], axes=[1]} : f32[2,3]
%11 = reshape(%3) {shape=[1,1]} : f32[1,1]
%12 = coordinate_net(%7, %11, %10) {hidden=[3,2], activation="relu", wrt=[], axis=0} : f32[1,2,3]
output out = %12
)", Same::nearly},
      {"net_inputs",
       [](Build& b) {
         return b.op("coordinate_net_weights_gradient",
                     {b.line, broadcast(b.s, {2, 3}), b.x, broadcast(b.v, {2, 3})},
                     {{"hidden", L{3, 2}}, {"activation", std::string("tanh")}});
       }, R"(
%10 = broadcast(%2) {shape=[2,3], axes=[1]} : f32[2,3]
%11 = reshape(%3) {shape=[1,1]} : f32[1,1]
%12 = coordinate_net_weights_gradient(%7, %11, %0, %10) {hidden=[3,2], activation="tanh", wrt=[]} : f32[20]
output out = %12
)", Same::nearly},
      {"net_inputs", [](Build& b) { return coordinate_net({b.row, b.x}, b.line, {{3, 2}, "relu", {}}); },
       stays},
  };
}
// clang-format on

}  // namespace whorl::algebra_test
