// SPDX-License-Identifier: Apache-2.0
#include "strata/training/recorded_program.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/recording.hpp"
#include "strata/training/recorded_casts.hpp"
#include "strata/training/step_limit.hpp"
#include "strata/training/tensor_values.hpp"
#include "strata/training/writer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

namespace strata {
namespace {

constexpr std::uint32_t no_operation = RecordedCasts::no_operation;

/// A Life says what becomes of a block of memory in the step.
struct Life {
  std::uint32_t made = no_operation;  ///< operation that wrote it first, before anybody read it
  bool is_read_first = false;
  bool is_written = false;
  std::uint32_t largest = no_operation;  ///< tensor that says most of it
};

class RecordedProgram {
 public:
  explicit RecordedProgram(const BoundGraph& bound)
      : bound_(bound), recording_(*bound.graph->recording), casts_(recording_), writer_(bound) {}

  Program program() && {
    require_few_steps(static_cast<std::int64_t>(recording_.operations.size()));
    find_lives();
    values_.assign(recording_.storages.size(), no_value);
    made_.assign(recording_.storages.size(), false);
    steps_.assign(recording_.operations.size(), 0);
    for (std::uint32_t id = 0; id < recording_.operations.size(); ++id) {
      const RecordedOperation& operation = recording_.operations[id];
      steps_[id] = next_step();
      if (operation.pass == RecordedPass::update && list_length(operation) > 1) {
        updates_[list_length(operation)].push_back(id);
        continue;
      }
      write_updates();
      steps_[id] = next_step();
      if (operation.launches && casts_.needs_step(id)) write(id);
    }
    write_updates();
    for (std::uint32_t id = 0; id < steps_.size(); ++id) {
      if (!casts_.needs_step(id) && casts_.done_by(id) != no_operation)
        steps_[id] = steps_[casts_.done_by(id)];
    }
    Program program = writer_.finish(recording_.samples);
    for (StepId& step : steps_)
      step =
          std::min(step, static_cast<StepId>(std::max<std::size_t>(program.steps.size(), 1) - 1));
    program.operation_steps = std::move(steps_);
    program.roots.resize(bound_.graph->tensors.size());
    for (TensorId id = 0; id < program.roots.size(); ++id) program.roots[id] = id;
    program.gradients = std::move(gradients());
    return program;
  }

 private:
  StepId next_step() const { return static_cast<StepId>(writer_.step_count()); }

  const RecordedTensor& tensor(std::uint32_t id) const { return recording_.tensors[id]; }
  std::uint32_t block_of(std::uint32_t tensor) const {
    return casts_.block(recording_.tensors[tensor].storage);
  }

  static std::size_t list_length(const RecordedOperation& operation) {
    std::size_t length = 0;
    for (const auto& inputs : operation.inputs) length = std::max(length, inputs.size());
    return length;
  }

  void find_lives() {
    lives_.resize(recording_.storages.size());
    for (std::uint32_t i = 0; i < recording_.tensors.size(); ++i) {
      std::uint32_t& largest = lives_[block_of(i)].largest;
      if (largest == no_operation || tensor(i).elements > tensor(largest).elements) largest = i;
    }
    for (std::uint32_t id = 0; id < recording_.operations.size(); ++id) {
      const RecordedOperation& operation = recording_.operations[id];
      for (const auto& inputs : operation.inputs) {
        for (const std::uint32_t input : inputs) {
          Life& life = lives_[block_of(input)];
          if (life.made == no_operation) life.is_read_first = true;
        }
      }
      for (const std::uint32_t output : operation.outputs) {
        if (casts_.origin(block_of(output)) != block_of(output)) continue;
        Life& life = lives_[block_of(output)];
        if (life.made == no_operation && !life.is_read_first) life.made = id;
        life.is_written |= operation.launches && casts_.needs_step(id);
      }
      for (const std::uint32_t input : operation.mutates) lives_[block_of(input)].is_written = true;
    }
  }

  /// `storage` may be a parameter's copy.
  ValueKind kind_of(std::uint32_t storage) const {
    storage = casts_.origin(storage);
    using Kind = RecordedStorage::Kind;
    const Life& life = lives_[storage];
    switch (recording_.storages[storage].kind) {
      case Kind::parameter: return ValueKind::weight;
      case Kind::buffer: return life.is_written ? ValueKind::state : ValueKind::constant;
      case Kind::input: return ValueKind::input;
      case Kind::state: return ValueKind::state;
      case Kind::gradient: return ValueKind::weight_gradient;
      case Kind::made: break;
    }
    if (life.made == no_operation) return ValueKind::constant;
    return recording_.operations[life.made].pass == RecordedPass::forward ? ValueKind::feature
                                                                          : ValueKind::gradient;
  }

  /// Stays after the step: what the update wrote, what inference gave.
  bool is_result(std::uint32_t storage, ValueKind kind) const {
    if (kind == ValueKind::weight || kind == ValueKind::state)
      return lives_[casts_.origin(storage)].is_written;
    return (kind == ValueKind::weight_gradient || kind == ValueKind::feature) &&
           casts_.stays(storage);
  }

  /// The tensor of the graph that a block of memory is named after: itself, the parameter of a
  /// gradient or a state, or what the layer gives that made it.
  TensorId named_after(std::uint32_t storage) {
    storage = casts_.origin(storage);
    const RecordedStorage& block = recording_.storages[storage];
    if (block.tensor != RecordedStorage::no_graph_tensor) return block.tensor;
    if (parameters_.empty()) {
      for (const RecordedStorage& one : recording_.storages) {
        if (one.kind == RecordedStorage::Kind::parameter) parameters_.emplace(one.name, one.tensor);
      }
    }
    // "conv1.weight.momentum_buffer" is a state of conv1.weight.
    for (std::string_view name = block.name; !name.empty();) {
      if (const auto found = parameters_.find(name); found != parameters_.end())
        return found->second;
      const std::size_t dot = name.rfind('.');
      name = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
    }
    const Life& life = lives_[storage];
    const std::uint32_t layer =
        life.made == no_operation ? 0 : recording_.operations[life.made].layer;
    return bound_.graph->nodes[layer].outputs.front();
  }

  ValueId value_of(std::uint32_t storage) {
    ValueId& known = values_[storage];
    if (known != no_value) return known;
    const Life& life = lives_[storage];
    Value value{.kind = kind_of(storage)};
    value.tensor = named_after(storage);
    value.is_given = life.made == no_operation;
    value.is_result = is_result(storage, value.kind);
    value.bytes = casts_.bytes(storage);
    value.row_bytes = row_of(storage, value);
    value.part = parts_[{value.tensor, value.kind}]++;
    return known = writer_.add(value);
  }

  std::int64_t row_of(std::uint32_t storage, const Value& value) const {
    const Life& life = lives_[storage];
    if (life.largest == no_operation) return value.bytes;
    const RecordedTensor& main = tensor(life.largest);
    if (main.elements == 0 || main.axes() > most_axes) return value.bytes;
    BoundTensor shape;
    for (const std::int64_t extent : main.shape) shape.shape.push_back(extent);
    shape.elements = main.elements;
    shape.bytes = value.bytes;
    const bool is_stored =
        value.kind == ValueKind::weight || value.kind == ValueKind::weight_gradient;
    return std::min(value.bytes, row_bytes(shape, {}, is_stored, value.bytes));
  }

  void read(std::uint32_t block) {
    if (casts_.bytes(block) > 0) writer_.reads(value_of(block));
  }

  void write_to(std::uint32_t block) {
    if (casts_.bytes(block) > 0) writer_.writes(value_of(block));
    made_[block] = true;
    for (const std::uint32_t copy : casts_.copies(block)) write_to(copy);
  }

  static Step step_of(const RecordedOperation& operation) {
    return {.node = operation.layer,
            .pass = operation.pass == RecordedPass::forward    ? Pass::forward
                    : operation.pass == RecordedPass::backward ? Pass::backward
                                                               : Pass::update,
            .layer_class = operation.kind == RecordedOperation::Kind::dense ? LayerClass::dense
                           : operation.kind == RecordedOperation::Kind::pointwise
                               ? LayerClass::pointwise
                               : LayerClass::other,
            .is_recomputed = operation.is_recomputed};
  }

  void write(std::uint32_t id) {
    const RecordedOperation& operation = recording_.operations[id];
    writer_.begin(step_of(operation));
    // Rows that are looked up are as large as the result; the table beside them is not read.
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      if (!operation.reads(i)) continue;
      for (const std::uint32_t input : operation.inputs[i]) {
        const std::uint32_t block = casts_.block_read(id, tensor(input).storage);
        if (lives_[block].made == no_operation || made_[block]) read(block);
      }
    }
    for (const std::uint32_t output : operation.outputs) write_to(block_of(output));
    for (const std::uint32_t input : operation.mutates) write_to(block_of(input));
    for (const std::uint32_t block : casts_.written_beside(id)) write_to(block);
    writer_.add_work(operation.flop, operation.mac);
  }

  /// Lists of one length belong together: the i-th of each is about the i-th weight.
  void write_updates() {
    for (const auto& [length, operations] : updates_) {
      const StepId first = next_step();
      for (const std::uint32_t id : operations) steps_[id] = first;
      for (std::size_t i = 0; i < length; ++i) write_update(operations, i);
    }
    updates_.clear();
  }

  void write_update(const std::vector<std::uint32_t>& operations, std::size_t i) {
    Step step = step_of(recording_.operations[operations.front()]);
    step.layer_class = LayerClass::pointwise;
    for (const std::uint32_t id : operations) {
      for (const auto& inputs : recording_.operations[id].inputs) {
        if (i < inputs.size()) step.node = layer_of_weight(block_of(inputs[i]), step.node);
      }
    }
    writer_.begin(step);
    for (const std::uint32_t id : operations) {
      const RecordedOperation& operation = recording_.operations[id];
      Count all, own;
      for (const auto& inputs : operation.inputs) {
        for (std::size_t k = 0; k < inputs.size() && inputs.size() > 1; ++k)
          (k == i ? own : all) += tensor(inputs[k]).elements;
        if (i < inputs.size() && inputs.size() > 1) use(inputs[i], false);
      }
      for (const std::uint32_t input : at(operation.mutates, i)) use(input, true);
      const double share = static_cast<double>(own.value()) /
                           std::max(1.0, static_cast<double>((all + own).value()));
      writer_.add_work(std::llround(share * static_cast<double>(operation.flop)), 0);
    }
  }

  static RecordedOperation::Tensors at(const RecordedOperation::Tensors& list, std::size_t i) {
    return i < list.size() ? RecordedOperation::Tensors{list[i]} : RecordedOperation::Tensors{};
  }

  /// Without what lives only within the update.
  void use(std::uint32_t id, bool writes) {
    const std::uint32_t block = block_of(id);
    const Life& life = lives_[block];
    const bool is_passing = life.made != no_operation &&
                            recording_.operations[life.made].pass == RecordedPass::update &&
                            recording_.storages[block].kind == RecordedStorage::Kind::made;
    if (is_passing) return;
    if (!writes && life.made != no_operation && !made_[block]) return;  // nobody wrote it
    writes ? write_to(block) : read(block);
  }

  /// The layer whose weight it is: "layer1.0.conv1" of "layer1.0.conv1.weight".
  NodeId layer_of_weight(std::uint32_t storage, NodeId otherwise) {
    const RecordedStorage& block = recording_.storages[storage];
    if (block.kind != RecordedStorage::Kind::parameter) return otherwise;
    if (layers_.empty()) {
      for (NodeId id = 0; id < recording_.layers.size(); ++id)
        layers_.emplace(recording_.layers[id].name, id);
    }
    const std::size_t dot = block.name.rfind('.');
    const auto found = layers_.find(std::string_view(block.name).substr(0, dot));
    return found == layers_.end() ? otherwise : found->second;
  }

  std::vector<ValueId> gradients() {
    std::vector<ValueId> found(bound_.graph->tensors.size(), no_value);
    for (std::uint32_t id = 0; id < recording_.storages.size(); ++id) {
      if (recording_.storages[id].kind != RecordedStorage::Kind::gradient) continue;
      const std::uint32_t block = casts_.block(id);
      if (values_[block] != no_value) found[named_after(id)] = values_[block];
    }
    return found;
  }

  const BoundGraph& bound_;
  const RecordedOperations& recording_;
  RecordedCasts casts_;
  ProgramWriter writer_;
  std::vector<Life> lives_;                                    // by block
  std::vector<ValueId> values_;                                // by block
  std::vector<bool> made_;                                     // so far, by block
  std::vector<StepId> steps_;                                  // by operation
  std::map<std::size_t, std::vector<std::uint32_t>> updates_;  // by the length of their lists
  std::map<std::string_view, TensorId> parameters_;
  std::map<std::string_view, NodeId> layers_;
  std::map<std::pair<TensorId, ValueKind>, std::uint32_t> parts_;
};

}  // namespace

Program recorded_program(const BoundGraph& bound) { return RecordedProgram(bound).program(); }

}  // namespace strata
