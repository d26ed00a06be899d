// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/recorded_costs.hpp"

#include "strata/base/checked.hpp"
#include "strata/graph/recording.hpp"

#include <algorithm>

namespace strata {
namespace {

/// The sum over one pass of a layer.
struct PassSum {
  Count flop, mac, read, written;
  bool exists = false;

  PassCost cost() const {
    PassCost cost{.mac = mac.value(), .flop = flop.value(), .accesses = {}};
    if (!exists) return cost;
    cost.accesses.push_back({Operand::none, AccessMode::read, 0, read.value()});
    cost.accesses.push_back({Operand::none, AccessMode::write, 0, written.value()});
    return cost;
  }
};

class RecordedCosts {
 public:
  explicit RecordedCosts(const RecordedOperations& recording)
      : recording_(recording),
        forward_(recording.layers.size()),
        backward_(recording.layers.size()),
        kept_(recording.layers.size()),
        maker_(recording.storages.size(), nobody),
        is_kept_(recording.storages.size(), false) {}

  std::vector<NodeCost> costs() && {
    for (const RecordedOperation& operation : recording_.operations) add(operation);
    std::vector<NodeCost> costs(recording_.layers.size());
    for (std::size_t layer = 0; layer < costs.size(); ++layer) {
      NodeCost& cost = costs[layer];
      cost.forward = forward_[layer].cost();
      cost.backward_input = backward_[layer].cost();
      const std::int64_t kept = kept_[layer].value();
      if (kept == 0) continue;
      cost.saved.push_back({"what backward reads", kept});
      cost.forward.accesses.push_back({Operand::saved, AccessMode::write, 0, kept});
    }
    return costs;
  }

 private:
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  void add(const RecordedOperation& operation) {
    note_kept(operation);
    if (!operation.launches || operation.pass == RecordedPass::update) return;
    const bool is_forward = operation.pass == RecordedPass::forward && !operation.is_recomputed;
    PassSum& sum = (is_forward ? forward_ : backward_)[operation.layer];
    sum.exists = true;
    sum.flop += operation.flop;
    sum.mac += operation.mac;
    for (const auto& inputs : operation.inputs) {
      for (const std::uint32_t input : inputs) sum.read += recording_.tensors[input].bytes();
    }
    for (const std::uint32_t output : operation.outputs)
      sum.written += recording_.tensors[output].bytes();
  }

  /// Counts what forward made and backward reads; a block of memory once.
  void note_kept(const RecordedOperation& operation) {
    if (operation.pass == RecordedPass::forward && !operation.is_recomputed) {
      for (const std::uint32_t output : operation.outputs) {
        std::uint32_t& maker = maker_[recording_.tensors[output].storage];
        if (maker == nobody) maker = operation.layer;
      }
      return;
    }
    for (const auto& inputs : operation.inputs) {
      for (const std::uint32_t input : inputs) {
        const std::uint32_t storage = recording_.tensors[input].storage;
        if (maker_[storage] == nobody || is_kept_[storage]) continue;
        if (recording_.storages[storage].kind != RecordedStorage::Kind::made) continue;
        is_kept_[storage] = true;
        kept_[maker_[storage]] += recording_.storages[storage].bytes;
      }
    }
  }

  const RecordedOperations& recording_;
  std::vector<PassSum> forward_, backward_;
  std::vector<Count> kept_;
  std::vector<std::uint32_t> maker_;  // layer that made a block of memory in forward
  std::vector<bool> is_kept_;
};

}  // namespace

std::vector<NodeCost> recorded_costs(const BoundGraph& bound) {
  return RecordedCosts(*bound.graph->recording).costs();
}

}  // namespace strata
