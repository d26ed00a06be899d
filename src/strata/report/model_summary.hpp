// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/checked.hpp"
#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a network is made of and what it costs, as plain data: the one source of the table, the
/// JSON, the CSV and the Graphviz file of `strata show`. Facts about the model only; no machine is
/// involved.
namespace strata {

/// The arithmetic of one pass, and its bytes if each tensor crosses memory once.
struct PassCounts {
  std::int64_t mac = 0;
  std::int64_t flop = 0;
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;
};

/// What can be added up over layers.
struct LayerCounts {
  std::int64_t nodes = 0;
  std::int64_t parameters =
      0;  ///< learnt numbers; a tensor that several layers share belongs to the first of them
  std::int64_t buffers = 0;  ///< stored but not learnt: running statistics
  PassCounts forward;
  PassCounts backward_input;
  PassCounts backward_weight;
  std::int64_t activation_bytes =
      0;  ///< outputs; nothing for an output that is an input under another name
  std::int64_t uncounted =
      0;  ///< nodes whose operator Strata does not know, so that their FLOP are missing

  std::int64_t backward_flop() const {
    return checked_add(backward_input.flop, backward_weight.flop);
  }
  std::int64_t flop() const { return checked_add(forward.flop, backward_flop()); }
  LayerCounts& operator+=(const LayerCounts& other);
};

struct LayerSummary {
  std::string name;
  std::string block;  ///< the group it belongs to; empty: none
  std::string op;
  std::vector<std::string>
      inputs;  ///< layers and inputs of the network that it reads, weights apart
  std::vector<std::int64_t> output_shape;  ///< of its first output
  DType dtype = DType::fp32;               ///< of its first output
  LayerCounts counts;
  std::string kept;  ///< what stays from forward for backward: "input", "output + mask", "nothing"
  std::int64_t kept_bytes = 0;
};

/// Layers that have something in common, added up.
struct GroupSummary {
  std::string name;
  LayerCounts counts;
};

/// Operations of one kind, where a framework's step was recorded.
struct OperationCount {
  std::string name;  ///< "aten::mm"
  std::int64_t count = 0;
  std::int64_t flop = 0;
  bool launches = true;  ///< false: a view, or memory that is only allocated
  bool is_known = true;  ///< false: its arithmetic is not counted
};

struct Dimension {
  std::string name;
  std::int64_t value = 0;
};

struct ModelSummary {
  std::string name;
  std::string title;
  std::string source;
  std::vector<Dimension> dims;  ///< every size that could be chosen, with what was chosen
  std::string dtype;            ///< of its floating-point tensors: "bf16"; "mixed" when they differ
  Mode mode = Mode::training;
  std::vector<Warning> warnings;  ///< what to know before trusting the numbers

  std::vector<LayerSummary> layers;  ///< in the order in which they run
  std::vector<GroupSummary> types;   ///< by operator, most FLOP first
  std::vector<GroupSummary>
      blocks;  ///< in the order in which they run; a layer outside any block is one of its own

  std::vector<OperationCount> operations;  ///< of a recording, those that launch and the most first

  LayerCounts totals;
  std::int64_t parameter_bytes = 0;
  std::int64_t buffer_bytes = 0;
  std::int64_t input_bytes = 0;
  std::int64_t kept_bytes =
      0;  ///< what several layers keep counts once, so this is less than the sum over layers

  std::optional<std::int64_t> dim(std::string_view dim_name) const;
};

ModelSummary summarize(const BoundGraph& bound, Mode mode = Mode::training);

}  // namespace strata
