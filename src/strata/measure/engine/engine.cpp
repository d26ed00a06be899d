// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/engine.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/measure/engine/memory_plan.hpp"
#include "strata/measure/engine/memory_shortage.hpp"
#include "strata/measure/engine/synthetic_data.hpp"
#include "strata/measure/engine/tensor_numbers.hpp"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

bool is_loss_node(const Node& node) {
  return std::holds_alternative<SoftmaxCrossEntropy>(node.op) ||
         std::holds_alternative<SquaredError>(node.op);
}

}  // namespace

struct Engine::State {
  /// A part with pointers instead of slots.
  struct ReadyPart {
    NodeKernels* kernels = nullptr;  // null: a sum or an update
    Pass pass = Pass::forward;
    NodeMemory memory = {};
    struct Addition {
      void* sum = nullptr;
      const void* a = nullptr;
      const void* b = nullptr;
      std::int64_t elements = 0;
      DType dtype = DType::fp32;
    };
    std::vector<Addition> additions = {};
    std::vector<UpdateMemory> updates = {};
  };

  const BoundGraph& bound;
  TrainingDevice& device;
  Options options;
  std::vector<std::unique_ptr<NodeKernels>> kernels;  // by node; null: none
  std::vector<std::string> reasons;                   // by node, why there are none
  std::vector<NodeAbility> abilities;
  Program program;
  LoweredProgram lowered;
  MemoryPlan plan;
  std::shared_ptr<void> permanent;
  std::shared_ptr<void> arena;
  std::vector<Part> parts;
  std::vector<std::size_t> running;
  std::vector<ReadyPart> ready;  // as running
  std::unique_ptr<RecordedWork> recorded;
  bool was_recorded = false;
  std::int64_t iteration = 0;

  State(const BoundGraph& bound_graph, TrainingDevice& on, const Options& chosen)
      : bound(bound_graph), device(on), options(chosen) {
    options.rule.optimizer = options.training.optimizer;
    abilities = abilities_by_cost(bound, !options.training.inference);
    program = runnable_program(bound, options.training);
    lowered = lower_program(program, abilities);
    make_sure_it_fits();  // before kernels are looked for, which takes memory and time
    make_kernels();
    lowered = lower_program(program, abilities);
    plan = plan_memory(lowered, options.keeps_everything);
    make_sure_it_fits();
    permanent = device.allocate(std::max<std::int64_t>(plan.permanent_bytes, 1));
    arena = device.allocate(std::max<std::int64_t>(plan.arena_bytes, 1));
    if (plan.arena_bytes > 0) device.fill_zero(arena.get(), plan.arena_bytes);
    fill_permanent();
    describe_parts();
    device.wait();
  }

  void make_sure_it_fits() {
    plan = plan_memory(lowered, options.keeps_everything);
    const std::int64_t free_bytes = device.free_bytes();
    // What kernels hold already is not among what is free.
    if (plan.total_bytes() <= free_bytes) return;
    throw Error(ErrorKind::environment, memory_shortage_text(bound, options.training, abilities,
                                                             plan.total_bytes(), free_bytes));
  }

  void make_kernels() {
    const std::size_t count = bound.graph->nodes.size();
    kernels.resize(count);
    reasons.resize(count);
    std::vector<NodeId> wanted;
    for (const LoweredStep& step : lowered.steps) {
      if (step.pass == Pass::forward) wanted.push_back(step.node);
    }
    const bool is_training = !options.training.inference;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const NodeId id = wanted[i];
      const bool goes_on = !options.is_interrupted || !options.is_interrupted();
      KernelsOrReason made = goes_on ? device.kernels(bound, id, is_training)
                                     : KernelsOrReason(NoKernels{"interrupted"});
      if (auto* found = std::get_if<std::unique_ptr<NodeKernels>>(&made)) {
        kernels[id] = std::move(*found);
        abilities[id] = {.runs = true, .needs = kernels[id]->needs()};
      } else {
        reasons[id] = std::get<NoKernels>(made).reason;
        abilities[id] = {.runs = false, .needs = {}};
      }
      if (options.on_node) options.on_node(i + 1, wanted.size());
    }
  }

  void* pointer(SlotId slot) const {
    if (slot == no_slot || !plan.places[slot]) return nullptr;
    const SlotLocation& place = *plan.places[slot];
    return static_cast<std::byte*>(place.is_permanent ? permanent.get() : arena.get()) +
           place.offset;
  }

  std::vector<void*> pointers(const std::vector<SlotId>& slots) const {
    std::vector<void*> all;
    all.reserve(slots.size());
    for (const SlotId slot : slots) all.push_back(pointer(slot));
    return all;
  }

  void fill_permanent() {
    for (SlotId id = 0; id < lowered.slots.size(); ++id) {
      const Slot& slot = lowered.slots[id];
      if (!slot.is_permanent) continue;
      const BoundTensor& tensor = bound.tensors[slot.tensor];
      constexpr std::uint64_t gradients = std::uint64_t{1} << 32;
      constexpr std::uint64_t stand_ins = std::uint64_t{1} << 33;
      switch (slot.kind) {
        case SlotKind::stored:
          fill_with(id, initializer_of(bound, slot.tensor), tensor, slot.tensor);
          break;
        case SlotKind::given_gradient:
          fill_with(id, given_gradient_initializer(tensor), tensor, gradients + slot.tensor);
          break;
        case SlotKind::feature:
          fill_with(id, stand_in_initializer(tensor), tensor, stand_ins + slot.tensor);
          break;
        default: device.fill_zero(pointer(id), slot.bytes);
      }
    }
  }

  void fill_with(SlotId slot, const Initializer& initializer, const BoundTensor& tensor,
                 std::uint64_t thing) {
    constexpr std::int64_t piece = 1 << 22;  // numbers on the host at a time
    auto* to = static_cast<std::byte*>(pointer(slot));
    const std::int64_t width = bytes_per_element(tensor.dtype);
    std::vector<double> numbers;
    for (std::int64_t begin = 0; begin < tensor.elements; begin += piece) {
      numbers.resize(static_cast<std::size_t>(std::min(piece, tensor.elements - begin)));
      fill(numbers, begin, initializer, tensor, fill_key(options.seed, thing));
      const std::vector<std::byte> bytes = tensor_bytes(numbers, tensor.dtype);
      device.upload(to + begin * width, bytes.data(), static_cast<std::int64_t>(bytes.size()));
    }
  }

  void describe_parts() {
    for (const LoweredStep& step : lowered.steps) {
      Part part{.node = step.node,
                .pass = step.pass,
                .is_gradient_sum = step.is_gradient_sum,
                .tensor = step.tensor,
                .flop = step.flop,
                .read_bytes = step.read_bytes,
                .write_bytes = step.write_bytes,
                .implementation = {},
                .not_run = step.runs ? "" : reasons[step.node],
                .is_with_another = joins_update_before(step)};
      if (part.is_with_another) {
        ready.back().updates.push_back(update_memory(step));
      } else if (step.runs) {
        running.push_back(parts.size());
        ready.push_back(made_ready(step));
        part.implementation = ready.back().kernels != nullptr
                                  ? ready.back().kernels->implementation(step.pass)
                                  : device.own_implementation();
      } else if (part.not_run.empty()) {
        part.not_run = "the device has no kernels for it";
      }
      parts.push_back(std::move(part));
    }
  }

  bool joins_update_before(const LoweredStep& step) const {
    if (!step.runs || step.pass != Pass::update || ready.empty()) return false;
    const std::size_t together = ready.back().updates.size();
    return together > 0 && together < device.most_updates_together() &&
           parts[running.back()].node == step.node;
  }

  ReadyPart made_ready(const LoweredStep& step) const {
    ReadyPart part;
    part.pass = step.pass;
    if (step.is_gradient_sum) {
      part.additions.push_back(addition(step.operands[2], step.operands[0], step.operands[1]));
    } else if (step.pass == Pass::update) {
      part.updates.push_back(update_memory(step));
    } else {
      part.kernels = kernels[step.node].get();
      part.memory = {.inputs = pointers(step.inputs),
                     .outputs = pointers(step.outputs),
                     .output_gradients = pointers(step.output_gradients),
                     .input_gradients = pointers(step.input_gradients),
                     .saved = pointer(step.saved),
                     .scratch = pointer(step.scratch)};
      for (const Accumulation& one : step.accumulations)
        part.additions.push_back(addition(one.sum, one.sum, one.addend));
    }
    return part;
  }

  ReadyPart::Addition addition(SlotId sum, SlotId a, SlotId b) const {
    const BoundTensor& tensor = bound.tensors[lowered.slots[sum].tensor];
    return {pointer(sum), pointer(a), pointer(b), tensor.elements, tensor.dtype};
  }

  UpdateMemory update_memory(const LoweredStep& step) const {
    const BoundTensor& tensor = bound.tensors[step.tensor];
    UpdateMemory memory;
    memory.parameter = pointer(step.operands[0]);
    memory.gradient = pointer(step.operands[1]);
    for (std::size_t i = 2; i < step.operands.size(); ++i)
      memory.states.push_back(static_cast<float*>(pointer(step.operands[i])));
    memory.elements = tensor.elements;
    memory.dtype = tensor.dtype;
    return memory;
  }

  void run(ReadyPart& part) {
    if (part.kernels != nullptr) part.kernels->run(part.pass, part.memory);
    for (const ReadyPart::Addition& one : part.additions)
      device.add(one.sum, one.a, one.b, one.elements, one.dtype);
    for (UpdateMemory& update : part.updates) update.iteration = iteration;
    if (part.updates.size() == 1) device.update(options.rule, part.updates.front());
    if (part.updates.size() > 1) device.update_together(options.rule, part.updates);
  }

  std::vector<double> numbers_in(SlotId slot, TensorId tensor) const {
    const BoundTensor& it = bound.tensors[tensor];
    device.wait();
    std::vector<std::byte> bytes(static_cast<std::size_t>(it.bytes));
    device.download(bytes.data(), pointer(slot), it.bytes);
    return tensor_numbers(bytes, it.dtype);
  }

  bool can_be_read(SlotId slot) const {
    if (slot == no_slot || !plan.places[slot]) return false;
    return plan.places[slot]->is_permanent || lowered.slots[slot].is_result;
  }
};

Engine::Engine(const BoundGraph& bound, TrainingDevice& device, const Options& options)
    : state_(std::make_unique<State>(bound, device, options)) {}
Engine::~Engine() = default;

std::span<const Engine::Part> Engine::parts() const { return state_->parts; }
std::span<const std::size_t> Engine::running() const { return state_->running; }
std::int64_t Engine::peak_bytes() const {
  std::int64_t bytes = checked_add(state_->plan.total_bytes(), state_->device.shared_bytes());
  for (const NodeAbility& ability : state_->abilities)
    bytes = checked_add(bytes, ability.needs.own_bytes);
  return bytes;
}
std::int64_t Engine::samples() const { return state_->lowered.samples; }

void Engine::iterate(Stopwatch* stopwatch) {
  State& state = *state_;
  ++state.iteration;
  for (std::size_t i = 0; i < state.ready.size(); ++i) {
    if (stopwatch != nullptr) stopwatch->mark(i);
    state.run(state.ready[i]);
  }
  if (stopwatch != nullptr) stopwatch->mark(state.ready.size());
}

bool Engine::iterate_recorded() {
  State& state = *state_;
  if (!state.was_recorded) {
    state.was_recorded = true;
    ++state.iteration;
    state.recorded = state.device.record([&] {
      for (State::ReadyPart& part : state.ready) state.run(part);
    });
  }
  if (!state.recorded) return false;
  state.recorded->launch();
  return true;
}

void Engine::iterate_in_pieces(const std::function<void(std::size_t part)>& begin,
                               const std::function<void()>& end) {
  State& state = *state_;
  ++state.iteration;
  for (std::size_t i = 0; i < state.ready.size(); ++i) {
    begin(state.running[i]);
    state.run(state.ready[i]);
    state.device.wait();
    end();
  }
}

std::vector<KernelRun> Engine::trace(std::size_t rounds) {
  State& state = *state_;
  return state.device.trace([&](const std::function<void(std::size_t)>& begin_part) {
    for (std::size_t round = 0; round < rounds; ++round) {
      ++state.iteration;
      for (std::size_t i = 0; i < state.ready.size(); ++i) {
        begin_part(round * state.parts.size() + state.running[i]);
        state.run(state.ready[i]);
      }
    }
  });
}

std::optional<double> Engine::loss() {
  const Graph& graph = *state_->bound.graph;
  std::optional<double> sum;
  for (const TensorId output : graph.outputs) {
    const NodeId producer = graph.tensors[output].producer;
    const SlotId slot = state_->lowered.tensors[output];
    if (producer == no_node || !is_loss_node(graph.nodes[producer]) || !state_->can_be_read(slot))
      continue;
    if (!state_->kernels[producer]) continue;  // made up
    sum = sum.value_or(0) + state_->numbers_in(slot, output).front();
  }
  return sum;
}

std::vector<double> Engine::read(TensorId tensor) const {
  const SlotId slot = state_->lowered.tensors.at(tensor);
  if (!state_->can_be_read(slot)) {
    fail(ErrorKind::usage,
         "the memory of '{}' was used again; an engine that keeps everything "
         "has it",
         state_->bound.graph->tensors[tensor].name);
  }
  return state_->numbers_in(slot, tensor);
}

std::vector<double> Engine::read_gradient(TensorId tensor) const {
  const SlotId slot = state_->lowered.gradients.at(tensor);
  if (slot == no_slot) {
    fail(ErrorKind::usage, "'{}' is no parameter with a gradient",
         state_->bound.graph->tensors[tensor].name);
  }
  return state_->numbers_in(slot, tensor);
}

void Engine::write(TensorId tensor, std::span<const double> values) {
  const Tensor& it = state_->bound.graph->tensors.at(tensor);
  const BoundTensor& shape = state_->bound.tensors[tensor];
  if (it.kind == TensorKind::activation)
    fail(ErrorKind::usage, "'{}' is computed; it cannot be set", it.name);
  if (static_cast<std::int64_t>(values.size()) != shape.elements) {
    fail(ErrorKind::usage, "'{}' has {} numbers, not {}", it.name, shape.elements, values.size());
  }
  const std::vector<std::byte> bytes = tensor_bytes(values, shape.dtype);
  state_->device.upload(state_->pointer(state_->lowered.tensors[tensor]), bytes.data(),
                        static_cast<std::int64_t>(bytes.size()));
}

}  // namespace strata
