// SPDX-License-Identifier: Apache-2.0
#include "strata/training/recorded_casts.hpp"

#include <algorithm>
#include <numeric>

namespace strata {

RecordedCasts::RecordedCasts(const RecordedOperations& recording) : recording_(recording) {
  blocks_.resize(recording.storages.size());
  std::iota(blocks_.begin(), blocks_.end(), 0U);
  origins_ = blocks_;
  for (const RecordedStorage& storage : recording.storages) bytes_.push_back(storage.bytes);
  done_by_.assign(recording.operations.size(), needs_kernel);
  find_accesses();
  std::vector<Cast> others;
  for (const Cast& cast : casts_) {
    if (is_of_parameter(cast)) {
      keep_copy(cast);
    } else if (reads_narrow(cast)) {
      join(cast, bytes_[block(cast.from)]);
    } else if (is_written_as_cast(cast)) {
      join(cast, bytes_[cast.to]);
    } else {
      others.push_back(cast);
      continue;
    }
    set_done_by(cast);
  }
  for (const Cast& cast : others) give_to_neighbour(cast);
}

bool RecordedCasts::is_whole(std::uint32_t id) const {
  const RecordedTensor& tensor = recording_.tensors[id];
  return tensor.bytes() == recording_.storages[tensor.storage].bytes;
}

bool RecordedCasts::is_cast(const RecordedOperation& operation) const {
  const bool is_one = (operation.base() == "_to_copy" || operation.base() == "to") &&
                      operation.launches && operation.pass != RecordedPass::update &&
                      operation.mutates.empty() && operation.outputs.size() == 1 &&
                      operation.input(0) != RecordedOperation::no_tensor;
  if (!is_one) return false;
  const std::uint32_t from = operation.input(0), to = operation.outputs[0];
  return is_whole(from) && is_whole(to) &&
         recording_.tensors[from].dtype != recording_.tensors[to].dtype &&
         recording_.tensors[from].elements == recording_.tensors[to].elements &&
         recording_.storages[recording_.tensors[to].storage].bytes > 0 &&
         accesses_[recording_.tensors[to].storage].reads.empty() &&
         accesses_[recording_.tensors[to].storage].writes.empty();
}

DType RecordedCasts::type_given(std::uint32_t cast) const {
  return recording_.tensors[recording_.operations[cast].outputs[0]].dtype;
}

void RecordedCasts::find_accesses() {
  accesses_.resize(recording_.storages.size());
  const auto storage = [&](std::uint32_t id) { return recording_.tensors[id].storage; };
  std::uint32_t steps = 0;
  for (std::uint32_t id = 0; id < recording_.operations.size(); ++id) {
    const RecordedOperation& operation = recording_.operations[id];
    has_update_ |= operation.pass == RecordedPass::update;
    for (const std::uint32_t freed : operation.frees) accesses_[freed].is_freed = true;
    is_cast_.push_back(is_cast(operation));
    steps_before_.push_back(steps);
    if (!operation.launches) continue;
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      if (!operation.reads(i)) continue;
      for (const std::uint32_t input : operation.inputs[i])
        accesses_[storage(input)].reads.push_back(id);
    }
    if (is_cast_.back()) {
      casts_.push_back({id, storage(operation.input(0)), storage(operation.outputs[0])});
      continue;
    }
    steps += 1;
    for (const std::uint32_t to : operation.outputs) accesses_[storage(to)].writes.push_back(id);
    for (const std::uint32_t to : operation.mutates) accesses_[storage(to)].writes.push_back(id);
  }
}

bool RecordedCasts::stays(std::uint32_t storage) const {
  if (accesses_[storage].is_freed) return false;
  return recording_.storages[storage].kind == RecordedStorage::Kind::gradient
             ? !has_update_
             : !recording_.is_training;
}

/// It makes a smaller one of a parameter that only an update changes.
bool RecordedCasts::is_of_parameter(const Cast& cast) const {
  const auto& writes = accesses_[cast.from].writes;
  return recording_.storages[cast.from].kind == RecordedStorage::Kind::parameter &&
         bytes_[cast.to] < bytes_[cast.from] && accesses_[cast.to].writes.empty() &&
         std::all_of(writes.begin(), writes.end(), [&](std::uint32_t write) {
           return recording_.operations[write].pass == RecordedPass::update;
         });
}

/// A parameter has one copy in each type.
void RecordedCasts::keep_copy(const Cast& cast) {
  const auto [copy, is_new] = copies_.try_emplace({cast.from, type_given(cast.operation)}, cast.to);
  if (is_new) {
    origins_[cast.to] = cast.from;
  } else {
    unite(copy->second, cast.to);
  }
}

/// What the cast makes is as wide as what it reads or wider, and both are the same numbers until
/// the last reader.
bool RecordedCasts::reads_narrow(const Cast& cast) const {
  const std::uint32_t from = block(cast.from);
  const Accesses& made = accesses_[cast.to];
  if (bytes_[cast.to] < bytes_[from] || stays(cast.to) || !made.writes.empty()) return false;
  const std::uint32_t last = made.reads.empty() ? 0 : made.reads.back();
  return std::none_of(accesses_[from].writes.begin(), accesses_[from].writes.end(),
                      [&](std::uint32_t write) { return write > cast.operation && write <= last; });
}

/// Nothing but casts to one type reads what the cast reads.
bool RecordedCasts::is_written_as_cast(const Cast& cast) const {
  const std::uint32_t from = block(cast.from);
  const Accesses& source = accesses_[from];
  const std::uint32_t made_by = maker(from, cast.operation);
  if (made_by == no_operation || source.writes.back() > cast.operation || stays(from) ||
      recording_.storages[from].kind != RecordedStorage::Kind::made)
    return false;
  const bool is_only_cast =
      std::all_of(source.reads.begin(), source.reads.end(), [&](std::uint32_t reader) {
        return is_cast_[reader] && type_given(reader) == type_given(cast.operation);
      });
  // The other casts read what the first gives.
  if (!is_only_cast || (source.reads.size() > 1 && !accesses_[cast.to].writes.empty()))
    return false;
  return bytes_[cast.to] <= bytes_[from] || are_adjacent(made_by, cast.operation);
}

/// Both are one block from here on, named after the one with a name.
void RecordedCasts::join(const Cast& cast, std::int64_t bytes) {
  const std::uint32_t from = block(cast.from);
  const bool is_made = recording_.storages[from].kind == RecordedStorage::Kind::made;
  const bool has_name = recording_.storages[cast.to].kind != RecordedStorage::Kind::made;
  const bool is_target = is_made && has_name;
  const std::uint32_t one = is_target ? cast.to : from;
  unite(one, is_target ? from : cast.to);
  bytes_[one] = bytes;
}

void RecordedCasts::unite(std::uint32_t one, std::uint32_t other) {
  blocks_[other] = one;
  const auto move = [](std::vector<std::uint32_t>& source, std::vector<std::uint32_t>& target) {
    target.insert(target.end(), source.begin(), source.end());
    std::sort(target.begin(), target.end());
    source.clear();
  };
  move(accesses_[other].reads, accesses_[one].reads);
  move(accesses_[other].writes, accesses_[one].writes);
  accesses_[one].is_freed = accesses_[one].is_freed && accesses_[other].is_freed;
}

/// A cast for which nobody reads what it reads.
bool RecordedCasts::is_gone(std::uint32_t operation) const {
  if (!is_cast_[operation]) return false;
  const RecordedOperation& cast = recording_.operations[operation];
  const std::uint32_t from = block(recording_.tensors[cast.input(0)].storage);
  const std::uint32_t to = block(recording_.tensors[cast.outputs[0]].storage);
  return from == to || from == origins_[to];
}

bool RecordedCasts::can_cast(std::uint32_t operation) const {
  return operation != no_operation && !is_cast_[operation] &&
         recording_.operations[operation].pass != RecordedPass::update &&
         recording_.operations[operation].reads(0);
}

/// A copy for one reader needs no memory if that reader comes next. Else the step before the cast
/// writes the copy if it made the tensor, or the step behind it if it reads the copy.
void RecordedCasts::give_to_neighbour(const Cast& cast) {
  const std::uint32_t to = block(cast.to);
  const std::uint32_t made_by = maker(block(cast.from), cast.operation);
  const std::vector<std::uint32_t> reads = readers(to, cast.operation);
  const std::uint32_t first = reads.empty() ? no_operation : reads.front();
  const bool is_for_first = reads.size() == 1 && accesses_[to].writes.empty() && !stays(to);
  const bool follows = can_cast(made_by) && are_adjacent(made_by, cast.operation);
  const bool leads = can_cast(first) && are_adjacent(cast.operation, first);
  if (!follows && !leads) return;
  if (leads && (is_for_first || !follows)) {
    reads_instead_[{first, to}] = cast.from;
    if (!is_for_first) written_beside_[first].push_back(to);
  } else {
    written_beside_[made_by].push_back(to);
  }
  set_done_by(cast);
}

/// The time of the cast counts for its own layer, if the maker or the first reader is of it.
void RecordedCasts::set_done_by(const Cast& cast) {
  const std::uint32_t made_by = maker(block(cast.from), cast.operation);
  const std::vector<std::uint32_t> reads = readers(block(cast.to), cast.operation);
  const std::uint32_t first = reads.empty() ? no_operation : reads.front();
  const auto is_near = [&](std::uint32_t id) {
    return id != no_operation &&
           recording_.operations[id].layer == recording_.operations[cast.operation].layer &&
           recording_.operations[id].pass == recording_.operations[cast.operation].pass;
  };
  done_by_[cast.operation] =
      made_by == no_operation || (is_near(first) && !is_near(made_by)) ? first : made_by;
}

/// The last operation that wrote the block before another; no_operation: none, or a cast.
std::uint32_t RecordedCasts::maker(std::uint32_t block, std::uint32_t before) const {
  const auto& writes = accesses_[block].writes;
  const auto next = std::lower_bound(writes.begin(), writes.end(), before);
  return next == writes.begin() ? no_operation : *(next - 1);
}

std::vector<std::uint32_t> RecordedCasts::readers(std::uint32_t block, std::uint32_t after) const {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t read : accesses_[block].reads) {
    if (read > after && !is_gone(read) && (found.empty() || found.back() != read))
      found.push_back(read);
  }
  return found;
}

/// No step is between them. Casts do not count.
bool RecordedCasts::are_adjacent(std::uint32_t operation, std::uint32_t later) const {
  return steps_before_[later] - steps_before_[operation] == (is_cast_[operation] ? 0U : 1U);
}

std::uint32_t RecordedCasts::block(std::uint32_t storage) const {
  while (blocks_[storage] != storage) storage = blocks_[storage];
  return storage;
}

std::uint32_t RecordedCasts::block_read(std::uint32_t operation, std::uint32_t storage) const {
  const auto found = reads_instead_.find({operation, block(storage)});
  return block(found == reads_instead_.end() ? storage : found->second);
}

std::vector<std::uint32_t> RecordedCasts::copies(std::uint32_t block) const {
  std::vector<std::uint32_t> found;
  for (auto copy = copies_.lower_bound({block, DType{}});
       copy != copies_.end() && copy->first.first == block; ++copy)
    found.push_back(copy->second);
  return found;
}

std::vector<std::uint32_t> RecordedCasts::written_beside(std::uint32_t operation) const {
  const auto found = written_beside_.find(operation);
  return found == written_beside_.end() ? std::vector<std::uint32_t>{} : found->second;
}

}  // namespace strata
