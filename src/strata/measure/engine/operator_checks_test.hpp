// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace strata {

/// Which test shows that an operator's kernels compute what they should.
struct OperatorCheck {
  std::string_view name;  ///< as operator_names() has it
  /// The test ("suite.name") that compares the CPU's results with plain loops, and its gradients
  /// with finite differences in fp64, and fp32 with fp64.
  std::string_view cpu_test;
  bool has_gradient = true;  ///< false: the function is flat or jumps; there is no backward pass
};

namespace operator_tests {

inline constexpr std::string_view products = "CpuProducts.equal_loops_and_differences";
inline constexpr std::string_view recurrent = "CpuRecurrent.equal_loops_and_differences";
inline constexpr std::string_view pooling = "CpuPooling.equal_loops_and_differences";
inline constexpr std::string_view normalization = "CpuNormalization.equal_loops_and_differences";
inline constexpr std::string_view pointwise = "CpuPointwise.equal_loops_and_differences";
inline constexpr std::string_view elementwise = "CpuElementwise.equal_loops_and_differences";
inline constexpr std::string_view reductions = "CpuReductions.equal_loops_and_differences";
inline constexpr std::string_view movement = "CpuMovement.equal_loops_and_differences";
inline constexpr std::string_view lookup = "CpuLookup.equal_loops_and_differences";

inline constexpr auto rows = std::to_array<OperatorCheck>({
    {"convolution", products},
    {"transposed_convolution", products},
    {"linear", products},
    {"matmul", products},
    {"attention", products},
    {"rnn", recurrent},
    {"rnn_relu", recurrent},
    {"lstm", recurrent},
    {"gru", recurrent},
    {"max_pool", pooling},
    {"average_pool", pooling},
    {"adaptive_max_pool", pooling},
    {"adaptive_average_pool", pooling},
    {"batch_norm", normalization},
    {"layer_norm", normalization},
    {"rms_norm", normalization},
    {"group_norm", normalization},
    {"instance_norm", normalization},
    {"local_response_norm", normalization},
    {"relu", pointwise},
    {"relu6", pointwise},
    {"leaky_relu", pointwise},
    {"prelu", pointwise},
    {"elu", pointwise},
    {"selu", pointwise},
    {"gelu", pointwise},
    {"gelu_tanh", pointwise},
    {"silu", pointwise},
    {"hard_swish", pointwise},
    {"hard_sigmoid", pointwise},
    {"sigmoid", pointwise},
    {"tanh", pointwise},
    {"mish", pointwise},
    {"softplus", pointwise},
    {"softsign", pointwise},
    {"clip", pointwise},
    {"identity", pointwise},
    {"negate", pointwise},
    {"absolute", pointwise},
    {"square", pointwise},
    {"square_root", pointwise},
    {"reciprocal", pointwise},
    {"exponential", pointwise},
    {"logarithm", pointwise},
    {"error_function", pointwise},
    {"sine", pointwise},
    {"cosine", pointwise},
    {"floor", pointwise, false},
    {"ceiling", pointwise, false},
    {"round", pointwise, false},
    {"sign", pointwise, false},
    {"logical_not", pointwise, false},
    {"add", elementwise},
    {"subtract", elementwise},
    {"multiply", elementwise},
    {"divide", elementwise},
    {"power", elementwise},
    {"maximum", elementwise},
    {"minimum", elementwise},
    {"mean", elementwise},
    {"modulo", elementwise},
    {"equal", elementwise, false},
    {"greater", elementwise, false},
    {"less", elementwise, false},
    {"logical_and", elementwise, false},
    {"logical_or", elementwise, false},
    {"select", elementwise},
    {"softmax", pointwise},
    {"log_softmax", pointwise},
    {"dropout", pointwise},
    {"rotary_embedding", pointwise},
    {"cast", pointwise},
    {"reduce_sum", reductions},
    {"reduce_mean", reductions},
    {"reduce_max", reductions},
    {"reduce_min", reductions},
    {"reduce_product", reductions},
    {"reduce_l2", reductions},
    {"softmax_cross_entropy", reductions},
    {"squared_error", reductions},
    {"concat", movement},
    {"split", movement},
    {"slice", movement},
    {"reshape", movement},
    {"flatten", movement},
    {"transpose", movement},
    {"expand", movement},
    {"resize_nearest", lookup},
    {"resize_linear", lookup},
    {"resize_cubic", lookup},
    {"pad", movement},
    {"embedding", lookup},
    {"gather", lookup},
    {"channel_shuffle", movement},
    {"space_to_depth", movement},
    {"depth_to_space", movement},
    {"yolo", pointwise},
});

}  // namespace operator_tests

/// Every operator that can run; a test fails when one is missing, or the test that it names.
inline std::span<const OperatorCheck> operator_checks() { return operator_tests::rows; }

}  // namespace strata
