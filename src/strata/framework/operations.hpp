// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/framework.hpp"
#include "strata/operations/operation_classes.hpp"
#include "strata/training/program.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A Program as the operations that a framework runs for it: casts, copies, biases and
/// the update of all weights at once are in no network graph.
namespace strata {

/// How attention is written: scaled_dot_product_attention, products and softmax one by one, or
/// nn.MultiheadAttention, which copies more. Automatic: as the library whose network it is.
enum class AttentionKernels : std::uint8_t { automatic, fused, eager, module };
inline constexpr std::array<std::string_view, 4> attention_names = {"auto", "sdpa", "eager",
                                                                    "module"};
std::string_view name_of(AttentionKernels kernels);

/// How experts of a layer compute: one after the other, as modules, or all in one grouped product.
enum class ExpertKernels : std::uint8_t { apart, grouped };

struct FrameworkOptions {
  std::optional<DType> autocast;  ///< bf16 or fp16; nothing: every tensor as it is stored
  bool channels_last = false;
  AttentionKernels attention = AttentionKernels::automatic;
  ExpertKernels experts = ExpertKernels::apart;
  std::int64_t expert_ranks = 1;  ///< over which they are spread: a rank groups its own
};

/// What one operation launches: a kernel of a class, or a few that belong together.
struct FrameworkOperation {
  OperationClass kernel_class = {};
  DType precision = DType::fp32;  ///< of its arithmetic: fp32, tf32, bf16, fp16
  StepId step = 0;
  KernelDims dims{};
  double share = 1;    ///< of its time that the step has: a stack of layers is one operation
  double kernels = 0;  ///< how many it launches, where that is known; 0: as the samples say
};

/// A call of the host: it dispatches the operations [first, next call's first).
struct HostCall {
  std::uint32_t first = 0;
  StepId step = 0;
  bool is_backward = false;
  const OperatorRule* rule = nullptr;
  std::int64_t tensors = 1;  ///< of an update
  bool is_update = false;
  double compiled_calls = 0;  ///< of compiled code, in calls of a point-wise operator; 0: it is not
  double share = 1;           ///< of its time that the step has: a call of several experts
  bool is_inference = false;  ///< of a recording that keeps nothing for backward
  std::string_view operation = {};  ///< "aten::mm", of a recording, which must outlive this
};

/// Regressions over whole networks tell these kinds of runs apart.
struct RunKind {
  bool is_inference = false;
  bool in_16_bits = false;  ///< any product
};
inline constexpr std::size_t run_kinds = 4;
constexpr std::size_t place_of(RunKind run) {
  return (run.is_inference ? 2U : 0U) + (run.in_16_bits ? 1U : 0U);
}

struct FrameworkOperations {
  RunKind run;
  std::vector<FrameworkOperation> operations;
  std::vector<HostCall> calls;
  std::vector<std::string> unknown;  ///< operators without a rule, each once
  std::vector<bool> never_stored;  ///< by value: lives inside a fused kernel; empty: all are stored
};

/// The rule for a node under the options; nothing: the framework has none, or it is a view.
const OperatorRule* rule_of(const Framework& framework, const FrameworkOptions& options,
                            const Graph& graph, const Node& node);

/// The kernels that update weights, and how many they are for so many tensors with so many numbers
/// in all; 0: as the samples say.
OperationClass update_class(const Framework& framework, Optimizer optimizer);
double update_kernels(const Framework& framework, Optimizer optimizer, std::int64_t tensors,
                      double elements);

/// The program must not be unrolled (TrainingOptions::unroll_recurrent) nor split. Errors
/// (unsupported): experts are grouped by frameworks without a compiler; the framework does not
/// compute attention as it is asked to.
FrameworkOperations operations_of(const Program& program, const Framework& framework,
                                  const FrameworkOptions& options, Optimizer optimizer);

}  // namespace strata
