// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/memory_plan.hpp"

#include "strata/base/checked.hpp"
#include "strata/measure/engine/arena.hpp"

#include <algorithm>
#include <map>

namespace strata {
namespace {

struct SlotLife {
  bool is_used = false;
  Lifetime time = {};
};

std::vector<SlotLife> lives_of(const LoweredProgram& program) {
  std::vector<SlotLife> lives(program.slots.size());
  for (std::size_t at = 0; at < program.steps.size(); ++at) {
    if (!program.steps[at].runs) continue;
    for (const SlotId slot : slots_of(program.steps[at])) {
      SlotLife& life = lives[slot];
      if (!life.is_used) life.time.first = at;
      life.is_used = true;
      life.time.last = at;
    }
  }
  for (SlotId slot = 0; slot < lives.size(); ++slot) {
    lives[slot].time.bytes = program.slots[slot].bytes;
    if (program.slots[slot].is_result) lives[slot].time.last = program.steps.size();
  }
  return lives;
}

/// For every slot the one whose memory it takes; mostly itself.
std::vector<SlotId> hosts_of(const LoweredProgram& program, const std::vector<SlotLife>& lives) {
  std::vector<SlotId> hosts(program.slots.size());
  for (SlotId slot = 0; slot < hosts.size(); ++slot) hosts[slot] = slot;
  for (std::size_t at = 0; at < program.steps.size(); ++at) {
    const LoweredStep& step = program.steps[at];
    if (!step.is_gradient_sum) continue;
    const SlotId sum = step.operands[2];
    if (program.slots[sum].is_permanent || lives[sum].time.first != at) continue;
    for (const SlotId addend : {step.operands[0], step.operands[1]}) {
      const bool ends_here = !program.slots[addend].is_permanent && lives[addend].time.last == at &&
                             program.slots[addend].bytes == program.slots[sum].bytes;
      if (!ends_here) continue;
      hosts[sum] = hosts[addend];
      break;
    }
  }
  return hosts;
}

class Planner {
 public:
  Planner(const LoweredProgram& program, bool keeps_everything)
      : program_(program), lives_(lives_of(program)), keeps_everything_(keeps_everything) {}

  MemoryPlan plan() && {
    plan_.places.resize(program_.slots.size());
    for (SlotId slot = 0; slot < program_.slots.size(); ++slot) {
      if (is_permanent(slot)) place_for_good(slot);
    }
    place_in_arena();
    return std::move(plan_);
  }

 private:
  bool is_permanent(SlotId slot) const {
    const Slot& it = program_.slots[slot];
    return it.is_permanent ||
           (keeps_everything_ && lives_[slot].is_used && it.kind != SlotKind::scratch);
  }

  void place_for_good(SlotId slot) {
    plan_.places[slot] = SlotLocation{true, plan_.permanent_bytes};
    const std::int64_t end = checked_add(plan_.permanent_bytes, program_.slots[slot].bytes);
    plan_.permanent_bytes =
        checked_mul(checked_add(end, device_alignment - 1) / device_alignment, device_alignment);
  }

  void place_in_arena() {
    const std::vector<SlotId> hosts = hosts_of(program_, lives_);
    std::vector<Lifetime> blocks;
    std::map<SlotId, std::size_t> block_of;  // by host
    for (SlotId slot = 0; slot < program_.slots.size(); ++slot) {
      if (!lives_[slot].is_used || is_permanent(slot)) continue;
      const auto [place, is_new] = block_of.try_emplace(hosts[slot], blocks.size());
      const Lifetime& time = lives_[slot].time;
      if (is_new) {
        blocks.push_back(time);
      } else {
        Lifetime& block = blocks[place->second];
        block.first = std::min(block.first, time.first);
        block.last = std::max(block.last, time.last);
      }
    }
    const Placement placement = placed(blocks, device_alignment);
    plan_.arena_bytes = placement.bytes;
    plan_.least_arena_bytes = most_live_bytes(blocks, device_alignment);
    for (SlotId slot = 0; slot < program_.slots.size(); ++slot) {
      if (!lives_[slot].is_used || is_permanent(slot)) continue;
      plan_.places[slot] = SlotLocation{false, placement.offsets[block_of.at(hosts[slot])]};
    }
  }

  const LoweredProgram& program_;
  std::vector<SlotLife> lives_;
  bool keeps_everything_;
  MemoryPlan plan_;
};

}  // namespace

std::int64_t MemoryPlan::total_bytes() const { return checked_add(permanent_bytes, arena_bytes); }

MemoryPlan plan_memory(const LoweredProgram& program, bool keeps_everything) {
  return Planner(program, keeps_everything).plan();
}

std::vector<LayerMemory> memory_by_layer(const LoweredProgram& program) {
  std::map<NodeId, std::int64_t> bytes;
  for (const Slot& slot : program.slots) {
    if (slot.node == no_node) continue;
    std::int64_t& sum = bytes[slot.node];
    sum = checked_add(sum, slot.bytes);
  }
  std::vector<LayerMemory> layers;
  layers.reserve(bytes.size());
  for (const auto& [node, sum] : bytes) layers.push_back({node, sum});
  std::stable_sort(layers.begin(), layers.end(),
                   [](const LayerMemory& a, const LayerMemory& b) { return a.bytes > b.bytes; });
  return layers;
}

}  // namespace strata
