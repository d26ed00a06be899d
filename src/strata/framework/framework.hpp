// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/operation_classes.hpp"

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
/// one: a single number, such as a counter.
enum class RuleTensor : std::uint8_t { output, input, scores, packed, one };
enum class RuleCondition : std::uint8_t {
  always,
  bias,
  no_bias,
  broadcast,
  no_broadcast,
  broadcast_rows,
  broadcast_other
};

/// One launch or a few that belong together: "channels.add_bias of output when bias".
struct LaunchRule {
  OperationClass kernel_class = {};
  RuleTensor of = RuleTensor::output;  ///< whose dimensions they are
  RuleCondition when = RuleCondition::always;

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

struct Framework {
  std::string name;   ///< "pytorch-eager"
  std::string title;  ///< "PyTorch 2.11 eager"
  std::string notes;
  std::map<std::string, OperatorRule> operators;  ///< by operator_name; "loss", "gradient_sum", too
  AutocastRules autocast;
  std::int64_t iteration_calls = 0;  ///< of the host per iteration, whatever the network

  const OperatorRule* find(std::string_view op) const;
};

/// Errors (input) name the place in the file.
Framework read_framework(std::string_view json_text);
/// Those that ship, by name.
const std::vector<Framework>& shipped_frameworks();
/// Errors (usage) suggest the nearest name.
const Framework& framework_named(std::string_view name);

}  // namespace strata
