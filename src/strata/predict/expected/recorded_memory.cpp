// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/recorded_memory.hpp"

#include "strata/base/checked.hpp"
#include "strata/operations/aten_work.hpp"

#include <algorithm>

namespace strata {
namespace {

/// Allocators hand out whole blocks.
std::int64_t whole_blocks(std::int64_t bytes) { return (bytes + 511) / 512 * 512; }

/// cuBLAS takes this much for each thread that multiplies: on Hopper, and PyTorch's default there.
constexpr std::int64_t workspace_bytes = std::int64_t{32} << 20;

bool multiplies(const RecordedOperation& operation) {
  const std::string_view base = operation.base();
  return operation.mac > 0 && (base.ends_with("mm") || base.ends_with("mm_") || base == "linear");
}

/// Which blocks the allocator holds.
class Blocks {
 public:
  explicit Blocks(const RecordedOperations& recording)
      : recording_(recording), is_held_(recording.storages.size(), false) {}

  void take(std::uint32_t storage) {
    if (is_held_[storage]) return;
    is_held_[storage] = true;
    bytes_ += whole_blocks(recording_.storages[storage].bytes);
  }
  void give_back(std::uint32_t storage) {
    if (!is_held_[storage]) return;
    is_held_[storage] = false;
    bytes_ = bytes_ - whole_blocks(recording_.storages[storage].bytes);
  }
  std::int64_t bytes() const { return bytes_.value(); }

 private:
  const RecordedOperations& recording_;
  std::vector<bool> is_held_;
  Count bytes_;
};

/// Blocks that are there before the first operation.
void take_given(const RecordedOperations& recording, Blocks& blocks) {
  using Kind = RecordedStorage::Kind;
  std::vector<bool> is_made(recording.storages.size(), false);
  for (const RecordedOperation& operation : recording.operations) {
    for (const auto& inputs : operation.inputs) {
      for (const std::uint32_t input : inputs) {
        const std::uint32_t storage = recording.tensors[input].storage;
        if (!is_made[storage]) blocks.take(storage);
        is_made[storage] = true;
      }
    }
    for (const std::uint32_t output : operation.outputs)
      is_made[recording.tensors[output].storage] = true;
  }
  for (std::uint32_t id = 0; id < recording.storages.size(); ++id) {
    const Kind kind = recording.storages[id].kind;
    if (!is_made[id] && (kind == Kind::parameter || kind == Kind::buffer || kind == Kind::state))
      blocks.take(id);
  }
}

}  // namespace

std::vector<std::int64_t> recorded_memory_bytes(const RecordedOperations& recording) {
  Blocks blocks(recording);
  take_given(recording, blocks);
  // Workspaces are kept from one step to the next.
  bool forward = false, backward = false;
  for (const RecordedOperation& operation : recording.operations) {
    if (multiplies(operation))
      (operation.pass == RecordedPass::backward ? backward : forward) = true;
  }
  const std::int64_t workspaces =
      (forward ? workspace_bytes : 0) + (backward ? workspace_bytes : 0);
  std::vector<std::int64_t> held;
  held.reserve(recording.operations.size());
  for (const RecordedOperation& operation : recording.operations) {
    for (const std::uint32_t storage : operation.frees) blocks.give_back(storage);
    for (const std::uint32_t output : operation.outputs)
      blocks.take(recording.tensors[output].storage);
    held.push_back(
        (Count(blocks.bytes()) + workspaces + scratch_bytes(recording, operation)).value());
  }
  return held;
}

}  // namespace strata
