// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What each node costs, as facts about the network: exact counts of arithmetic and of bytes if
/// each tensor crosses memory once. No machine is ever seen here; time is a claim about hardware
/// and belongs to predict/.
///
/// Counting rules. A multiply-add is 2 FLOP. Every other addition, multiplication, division,
/// comparison, maximum and every call of exp, log, tanh, erf, sqrt, pow, sin, cos, floor is 1 FLOP;
/// sums start from zero, so adding n numbers is n FLOP. A change of sign, an absolute value and a
/// choice between two values that are there are free; where a definition branches, both branches
/// are counted. Padding takes part in the arithmetic, as in published counts. Each pass stands
/// alone: what two passes both need, both compute (a recurrent node's weight gradient alone takes
/// what its input gradient left). Each operator's definition stands, as plain
/// loops, in the test beside its formula, and the test counts what the loops really do.
/// docs/costs.md has all of it as one table.
namespace strata {

/// What an access touches, seen from the node. The last two are in no cost sheet, only in the steps
/// of a Program.
enum class Operand : std::uint8_t {
  input,            ///< its index-th input (data or own)
  output,           ///< its index-th output
  saved,            ///< NodeCost::saved[index]: a mask, statistics
  output_gradient,  ///< gradient of its index-th output
  input_gradient,   ///< gradient of its index-th input
  state,            ///< the index-th number that the optimizer keeps per weight
  none,             ///< not said
};

enum class AccessMode : std::uint8_t {
  read,
  write,
  alias,  ///< nothing moves: the output is input 0, or the input gradient is output gradient 0,
          ///< under another name
};

struct Access {
  Operand operand = Operand::input;
  AccessMode mode = AccessMode::read;
  std::uint32_t index = 0;
  std::int64_t bytes =
      0;  ///< less than the whole tensor when only a part is touched (slices, look-ups)
  friend bool operator==(const Access&, const Access&) = default;
};

/// One pass of one node. A pass that does not exist (no weights, gradient not wanted) has no
/// accesses.
struct PassCost {
  std::int64_t mac =
      0;  ///< multiply-adds of convolutions, matrix products and recurrent gates only
  std::int64_t flop = 0;  ///< all arithmetic, the multiply-adds included twice
  std::vector<Access> accesses;

  bool exists() const { return !accesses.empty(); }
  /// Nothing is computed or moved: memory gets another name at most (a reshape).
  bool only_renames() const;
  std::int64_t read_bytes() const;
  std::int64_t write_bytes() const;
};

/// Something a pass leaves for a later one that is neither an input nor an output. Forward writes
/// nearly all of them; a recurrent node's input gradient also leaves some for its weight gradient.
struct Saved {
  std::string_view name;  ///< "mask", "indices", "statistics", …
  std::int64_t bytes = 0;
};

struct NodeCost {
  PassCost forward;
  PassCost backward_input;   ///< gradients of the inputs that are not learnt and want one
  PassCost backward_weight;  ///< gradients of parameters, be they the operator's own or an operand
                             ///< (a position table)
  std::vector<Saved> saved;
  bool is_counted = true;  ///< false: an operator Strata does not know
};

/// What must stay from forward for backward: derived from what the backward passes read. Weights
/// are not listed; they stay anyway.
struct Kept {
  bool input = false;
  bool output = false;
  std::int64_t bytes = 0;  ///< inputs and outputs kept, and saved things
  std::string text;        ///< "input", "output", "input + statistics", "nothing"
};

enum class Mode : std::uint8_t { training, inference };

/// Cost of one node, and of all nodes in graph order.
NodeCost cost_of(const BoundGraph& bound, NodeId node, Mode mode = Mode::training);
std::vector<NodeCost> costs_of(const BoundGraph& bound, Mode mode = Mode::training);

Kept kept_for_backward(const BoundGraph& bound, NodeId node, const NodeCost& cost);

}  // namespace strata
