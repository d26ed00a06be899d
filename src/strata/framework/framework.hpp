// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/operations/operation_classes.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a framework runs for each operator: a rules file (data/frameworks/), so that another
/// version or another framework is another file. It sees no machine.
namespace strata {

/// The tensor of a node whose dimensions count.
/// scores: of attention, [samples, heads, queries, keys]. packed: its queries, keys and values.
/// one: a single number, such as a counter. weight: the first tensor that the node owns.
enum class RuleTensor : std::uint8_t { output, input, scores, packed, one, weight };
enum class RuleCondition : std::uint8_t {
  always,
  bias,
  no_bias,
  broadcast,
  no_broadcast,
  broadcast_rows,
  broadcast_other,
  whole,       ///< all inputs are as large as the output
  spread,      ///< a smaller one is spread over it
  number,      ///< one is a single number
  in_16_bits,  ///< what the operator computes in
  in_32_bits,
  relayout  ///< weights of a window lie in another order than kernels with channels last want
};

/// One launch or a few that belong together: "channels.add_bias of output when bias",
/// "max_pool.forward times 0.4" where another kernel takes less time than those of the class.
struct LaunchRule {
  OperationClass kernel_class = {};
  RuleTensor of = RuleTensor::output;  ///< whose dimensions they are
  RuleCondition when = RuleCondition::always;
  double share = 1;  ///< of the time, and of the launches, of the class

  bool operator==(const LaunchRule&) const = default;
};

/// "2 of scores": so many numbers of the node's type per element; "8 bytes of output".
struct SavedTensor {
  double numbers = 0, bytes = 0;
  RuleTensor of = RuleTensor::output;

  bool operator==(const SavedTensor&) const = default;
};

/// What one operator becomes in each pass.
struct OperatorRule {
  std::vector<LaunchRule> forward, backward, backward_input, backward_weight;
  std::string host;        ///< whose host time an operation has; empty: that of any other
  std::int64_t calls = 0;  ///< of the framework, with those that launch nothing; 0: one per launch
  bool stacks = false;     ///< layers of one size that feed one another are one operation
  std::int64_t views = 0;  ///< that the operator makes besides, each with the host time of a view
  /// Forward in inference, where it is another list: batch norm by stored statistics, no dropout.
  std::optional<std::vector<LaunchRule>> inference;
  std::vector<SavedTensor> saves;  ///< for backward, beyond what the operator itself needs

  bool operator==(const OperatorRule&) const = default;
};

/// In which type an operator computes under autocast.
struct AutocastRules {
  std::vector<std::string> lower;  ///< operators in 16 bits
  std::vector<std::string> fp32;  ///< operators in fp32; the others take the widest of their inputs
};

/// What a compiler does with the launches of a class.
enum class FusionKind : std::uint8_t {
  stays,      ///< a kernel of a library: nothing is fused into it
  pointwise,  ///< fused with its neighbours
  reduction,  ///< takes what is point-wise before it; what comes after needs another kernel
  copy,       ///< a change of layout or type: free beside point-wise work
};

/// How a compiler joins the launches of neighbouring operators (fusion.hpp).
struct FusionRules {
  std::vector<FusionKind> kinds;         ///< by OperationClass
  OperationClass pointwise_kernel = {};  ///< whose time a fused kernel takes for its bytes
  OperationClass reduction_kernel = {};  ///< the same with a reduction in it
  std::vector<OperationClass> random;    ///< classes that draw a random number per element
  double random_bytes = 0;               ///< that are moved in the time that one takes
  double kernel_calls = 1;          ///< host time to launch one, in calls of a point-wise operator
  bool lays_channels_last = false;  ///< of convolutional networks, where prefers_channels_last
  bool pads_products = false;       ///< in 16 bits, whose rows have an odd number of elements

  FusionKind kind_of(OperationClass kernel_class) const {
    return kinds[static_cast<std::size_t>(kernel_class)];
  }
};

struct Framework {
  std::string name;         ///< "pytorch-eager"
  std::string title;        ///< "PyTorch 2.11 eager"
  std::string calibration;  ///< the framework whose calibrations it uses: its own, or another
  double sigma = 0;         ///< of log(time), beyond that of the calibration
  std::optional<FusionRules> fusion;  ///< nothing: every launch is a kernel
  std::string notes;
  std::map<std::string, OperatorRule, std::less<>>
      operators;  ///< by operator_name; "loss", "gradient_sum", too
  AutocastRules autocast;
  std::int64_t iteration_calls = 0;  ///< of the host per iteration, whatever the network
  double host_factor = 1;            ///< how much longer its host takes than the calibration's
  bool waits_at_steps = false;       ///< the host waits for the device around forward and backward
  bool foreach_updates = false;      ///< SGD updates lists of tensors, operation by operation
  OperationClass adam = {};          ///< whose kernels update weights with Adam
  std::vector<OperationClass> fp16_as_fp32;  ///< whose kernels in fp16 are those of fp32, not bf16

  const OperatorRule* find(std::string_view op) const;
};

/// Errors (input) name the place in the file. One that is based on another begins with the rules of
/// that one, which ships.
Framework read_framework(std::string_view json_text);
/// Those that ship, by name.
const std::vector<Framework>& shipped_frameworks();
/// Errors (usage) suggest the nearest name.
const Framework& framework_named(std::string_view name);

}  // namespace strata
