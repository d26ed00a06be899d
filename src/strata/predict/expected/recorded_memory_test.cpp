// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/recorded_memory.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

constexpr std::int64_t block = 512;

/// Blocks of memory, each with one tensor of its size, and operations on them.
class Blocks {
 public:
  std::uint32_t storage(std::int64_t bytes,
                        RecordedStorage::Kind kind = RecordedStorage::Kind::made) {
    recording.storages.push_back({.bytes = bytes, .kind = kind});
    const auto id = static_cast<std::uint32_t>(recording.storages.size() - 1);
    recording.tensors.push_back({.shape = {bytes / 4}, .storage = id, .elements = bytes / 4});
    return id;
  }
  void operation(RecordedOperation::Tensors inputs, RecordedOperation::Tensors outputs,
                 std::vector<std::uint32_t> frees = {}) {
    RecordedOperation one{.name = "aten::add"};
    one.inputs = {std::move(inputs)};
    one.outputs = std::move(outputs);
    one.frees = std::move(frees);
    recording.operations.push_back(std::move(one));
  }
  RecordedOperations recording;
};

TEST(RecordedMemory, holds_blocks_from_when_they_are_made_until_they_are_given_back) {
  Blocks blocks;
  const auto weight = blocks.storage(2 * block, RecordedStorage::Kind::parameter);
  const auto first = blocks.storage(3 * block), second = blocks.storage(block),
             third = blocks.storage(block);
  blocks.operation({weight}, {first});
  blocks.operation({first}, {second});
  blocks.operation({second}, {third}, {first});
  EXPECT_EQ(recorded_memory_bytes(blocks.recording),
            (std::vector<std::int64_t>{5 * block, 6 * block, 4 * block}));
}

TEST(RecordedMemory, hands_out_whole_blocks) {
  Blocks blocks;
  const auto made = blocks.storage(block + 4);
  blocks.operation({}, {made});
  EXPECT_EQ(recorded_memory_bytes(blocks.recording).front(), 2 * block);
}

TEST(RecordedMemory, has_what_is_there_before_and_what_nothing_reads) {
  Blocks blocks;
  const auto given = blocks.storage(block), result = blocks.storage(block);
  blocks.storage(4 * block, RecordedStorage::Kind::state);
  blocks.operation({given}, {result});
  EXPECT_EQ(recorded_memory_bytes(blocks.recording).front(), 6 * block);
}

TEST(RecordedMemory, has_a_workspace_for_each_thread_that_multiplies) {
  Blocks blocks;
  const auto made = blocks.storage(block);
  blocks.operation({}, {made});
  blocks.recording.operations[0].name = "aten::mm";
  blocks.recording.operations[0].mac = 1;
  EXPECT_EQ(recorded_memory_bytes(blocks.recording).front(), block + (std::int64_t{32} << 20));
}

}  // namespace
}  // namespace strata
