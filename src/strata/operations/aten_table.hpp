// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/recording.hpp"
#include "strata/operations/operation_classes.hpp"

#include <string>
#include <string_view>
#include <vector>

/// What PyTorch's operations compute, launch and ask of the host, by their names: one table
/// (data/operations/aten.json), so that another operation is another line.
namespace strata {

/// AtenWhere says what of an operation counts.
enum class AtenWhere : std::uint8_t {
  output,    ///< its largest
  input,     ///< its first
  rows,      ///< rows that share statistics: of a norm, a softmax, a loss
  channels,  ///< the second axis of its first input
  all,       ///< every tensor of its first list
  one,       ///< a single number
  nothing,   ///< what it is follows from the operation
};

/// low: in 16 bits; alpha: a list of tensors is scaled while it is added; strided: its first
/// (second) input lies in memory in another order than its axes, and is copied first; few, many:
/// rows to add up, of which PyTorch sorts the numbers where they are many.
enum class AtenWhen : std::uint8_t {
  always,
  training,
  inference,
  inference_low,
  alpha,
  no_alpha,
  strided,
  second_strided,
  few,
  many,
  whole,   ///< both operands are as large as the result
  spread,  ///< a smaller one is spread over it
  number,  ///< one is a single number
};

/// Kernels whose class follows from shapes and layout.
enum class AtenForm : std::uint8_t {
  of_class,
  product,
  convolution,
  convolution_backward,
  attention,
  attention_backward,
  recurrent,
  recurrent_backward,
  sum,
  copy,
  resize,
  list,
  encoder,
  grouped,
};

/// "8 of input when training", "window of output", "product"
struct AtenFlop {
  AtenForm form = AtenForm::of_class;
  double count = 0;
  bool is_window = false;  ///< times the elements of its window
  AtenWhere of = AtenWhere::one;
  AtenWhen when = AtenWhen::always;
};

/// "stream.add of output when training times 0.5", "convolution"
struct AtenLaunch {
  AtenForm form = AtenForm::of_class;
  OperationClass kernel_class = {};
  AtenWhere of = AtenWhere::output;
  AtenWhen when = AtenWhen::always;
  double share = 1;
};

struct AtenRule {
  std::vector<AtenFlop> flop;
  std::vector<AtenLaunch> launches;
  RecordedOperation::Kind kind = RecordedOperation::Kind::other;
  std::uint32_t unread = 0;    ///< bit i: reads of its i-th input the shape, or what it gives
  bool is_view = false;        ///< launches nothing, moves nothing
  bool is_allocation = false;  ///< launches nothing, takes memory
};

/// The rule of an operation: by its name with its overload, without it, and without the underscore
/// of those that work in place. Null: the table has none.
const AtenRule* aten_rule(std::string_view name);

/// Errors (input) name the place in the table.
void check_aten_table(std::string_view json_text);

}  // namespace strata
