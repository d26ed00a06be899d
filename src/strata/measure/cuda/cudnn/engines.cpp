// SPDX-License-Identifier: Apache-2.0
// Engines of cuDNN's graph interface for the convolutions of networks: in up to three spatial axes,
// with padding that differs at both ends.
#include "strata/gpu/cuda/cudnn/descriptors.cuh"
#include "strata/measure/cuda/cudnn/sources.cuh"
#include "strata/measure/engine/engine_recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace strata::cuda::train {
namespace {

constexpr std::int64_t input_number = 1, weights_number = 2, output_number = 3;

/// The names that one pass has for the same attributes.
struct OperationNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t window, input, weights, output, alpha, beta;
};
constexpr std::array<OperationNames, 3> operation_names = {{
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
}};

/// The library wants two spatial axes or three: the first of ours that it is told of.
std::size_t first_axis(const ConvRequest& request) { return request.is_flat() ? 1 : 0; }

std::vector<std::int64_t> spatial(const ConvRequest& request, const std::array<int, 3>& numbers) {
  return {numbers.begin() + static_cast<std::ptrdiff_t>(first_axis(request)), numbers.end()};
}

GraphPart tensor_part(const Cudnn& cudnn, const ConvRequest& request, std::int64_t number,
                      std::int64_t first, std::int64_t second, const std::array<int, 3>& space) {
  std::vector<std::int64_t> extents = {first, second};
  for (const std::int64_t extent : spatial(request, space)) extents.push_back(extent);
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t stride = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= extents[axis];
  }
  GraphPart part(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  part.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, graph_type(request.dtype));
  part.set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, extents);
  part.set_all(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
  part.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, number);
  part.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16});
  part.finish("the tensor");
  return part;
}

GraphPart window_part(const Cudnn& cudnn, const ConvRequest& request) {
  GraphPart part(cudnn, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  part.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
           static_cast<std::int64_t>(3 - first_axis(request)));
  part.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
           request.dtype == DType::fp64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
  part.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  const auto set = [&](cudnnBackendAttributeName_t name, const std::array<int, 3>& numbers) {
    part.set_all(name, CUDNN_TYPE_INT64, spatial(request, numbers));
  };
  set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, request.pad_begin);
  set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, request.pad_end);
  set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, request.stride);
  set(CUDNN_ATTR_CONVOLUTION_DILATIONS, request.dilation);
  part.finish("the window");
  return part;
}

/// One request with all that it refers to; throws GraphRefusal.
struct RequestGraph {
  GraphPart input, weights, output, window, operation, graph;

  RequestGraph(const Cudnn& cudnn, const ConvRequest& r)
      : input(tensor_part(cudnn, r, input_number, r.batch, r.channels, r.in)),
        weights(tensor_part(cudnn, r, weights_number, r.filters, r.channels / r.groups, r.kernel)),
        output(tensor_part(cudnn, r, output_number, r.batch, r.filters, r.out)),
        window(window_part(cudnn, r)),
        operation(cudnn, operation_names[static_cast<std::size_t>(r.pass)].operation),
        graph(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    const OperationNames& names = operation_names[static_cast<std::size_t>(r.pass)];
    operation.refer(names.window, window);
    operation.refer(names.input, input);
    operation.refer(names.weights, weights);
    operation.refer(names.output, output);
    if (r.dtype == DType::fp64) {
      operation.set(names.alpha, CUDNN_TYPE_DOUBLE, 1.0);
      operation.set(names.beta, CUDNN_TYPE_DOUBLE, 0.0);
    } else {
      operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
      operation.set(names.beta, CUDNN_TYPE_FLOAT, 0.0F);
    }
    operation.finish("the convolution");
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, cudnn->handle);
    graph.refer(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    graph.finish("the graph");
  }
};

/// A plan with what it was made from.
struct EnginePlan {
  std::shared_ptr<const RequestGraph> graph;
  std::optional<GraphPart> engine;  ///< where we made it
  std::vector<GraphPart> knobs;     ///< likewise
  GraphPart configuration, plan;
};

/// cuDNN does not say how many there are before it is given room for all.
std::vector<EngineRecipe::Knob> knobs_of(const GraphPart& configuration) {
  std::vector<GraphPart> parts;
  std::vector<cudnnBackendDescriptor_t> rooms;
  for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; ++i)
    rooms.push_back(
        parts.emplace_back(configuration.library(), CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR).get());
  std::int64_t count = 0;
  const cudnnStatus_t status = configuration.cudnn().get_attribute(
      configuration.get(), CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
      static_cast<std::int64_t>(rooms.size()), &count, rooms.data());
  std::vector<EngineRecipe::Knob> knobs;
  if (status != CUDNN_STATUS_SUCCESS) return knobs;
  for (std::size_t i = 0; i < std::min(parts.size(), static_cast<std::size_t>(count)); ++i) {
    const auto kinds = parts[i].list<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                                             CUDNN_TYPE_KNOB_TYPE, 1);
    const auto values =
        parts[i].list<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1);
    if (kinds.size() == 1 && values.size() == 1)
      knobs.push_back({static_cast<std::int64_t>(kinds[0]), values[0]});
  }
  return knobs;
}

std::string engine_name(std::int64_t number) { return fmt::format("{}{}", engine_prefix, number); }

class EngineRunner final : public ConvRunner {
 public:
  EngineRunner(EnginePlan plan, std::int64_t engine, std::int64_t bytes)
      : plan_(std::move(plan)), engine_(engine), bytes_(bytes) {}
  std::string name() const override { return engine_name(engine_); }
  std::string recipe() const override {
    return to_text(EngineRecipe{engine_, bytes_, knobs_of(plan_.configuration)});
  }
  std::int64_t scratch_bytes() const override { return bytes_; }
  bool run(const ConvTensors& tensors, void* scratch) override {
    const CudnnFunctions& cudnn = plan_.plan.cudnn();
    const Memory memory = {tensors.input, tensors.weights, tensors.output, scratch};
    auto pack = packs_.find(memory);
    try {
      if (pack == packs_.end()) pack = packs_.emplace(memory, packed(memory)).first;
    } catch (const GraphRefusal&) {
      return false;
    }
    return cudnn.execute(cudnn.handle, plan_.plan.get(), pack->second.get()) ==
           CUDNN_STATUS_SUCCESS;
  }

 private:
  using Memory = std::array<void*, 4>;  ///< input, weights, output, scratch

  GraphPart packed(const Memory& memory) const {
    const std::array<std::int64_t, 3> numbers = {input_number, weights_number, output_number};
    const std::array<void*, 3> data = {memory[0], memory[1], memory[2]};
    GraphPart pack(plan_.plan.library(), CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, numbers);
    pack.set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, data);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, memory[3]);
    pack.finish("the pointers");
    return pack;
  }

  EnginePlan plan_;
  std::int64_t engine_, bytes_;
  std::map<Memory, GraphPart> packs_;  ///< a network's memory stays where it is
};

struct EngineFacts {
  std::int64_t number = 0;
  std::vector<std::string> notes;
  bool has(std::string_view note) const {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  }
};

EngineFacts facts_of_configuration(const GraphPart& configuration) {
  const std::vector<GraphPart> engine =
      configuration.parts(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (engine.empty()) return {};
  return {engine.front().number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX), engine_notes(engine.front())};
}

/// cuDNN 9.14's kernels for matrix units cut their workspace without regard to alignment, and write
/// 16 bytes where only 8 are aligned, unless the channels are whole vectors.
bool has_whole_vectors(const ConvRequest& request) {
  const std::int64_t vector = 16 / bytes_per_element(request.dtype);
  return request.channels / request.groups % vector == 0 &&
         request.filters / request.groups % vector == 0;
}

// fp32 is multiplied as fp32: matrix units would round it to TF32 first.
bool is_right_for(const ConvRequest& request, const EngineFacts& facts) {
  const bool is_on_matrix_units = facts.has("tensor_core") || facts.has("down_convert_inputs");
  if (request.dtype == DType::fp32 && is_on_matrix_units) return false;
  if (facts.has("winograd") && loses_digits_with_winograd(request)) return false;
  return has_whole_vectors(request) || (!is_on_matrix_units && !facts.has("runtime_compilation"));
}

class EngineList {
 public:
  EngineList(ConvRunners& list, const Cudnn& cudnn, const ConvRequest& request,
             const ConvLimits& limits)
      : list_(list),
        cudnn_(cudnn),
        request_(request),
        limits_(limits),
        graph_(std::make_shared<const RequestGraph>(cudnn, request)) {}

  void add_proposed(cudnnBackendHeurMode_t mode, std::size_t most) {
    GraphPart heuristics(cudnn_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.refer(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_->graph);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (heuristics.problem_when_finished()) return;  // there is no engine for this
    is_repeating_ = mode == CUDNN_HEUR_MODE_B;
    for (GraphPart& one : heuristics.parts(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                           CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, most)) {
      // As a last resort an engine comes as it is set by default: one that was proposed before came
      // with better settings.
      if (mode == CUDNN_HEUR_MODE_FALLBACK && seen_.contains(facts_of_configuration(one).number))
        continue;
      add(std::nullopt, std::move(one));
    }
  }

  /// With the engines' own settings; those that would compile a kernel now are left to the
  /// heuristics.
  void add_others() {
    const std::int64_t count = graph_->graph.number(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
    for (std::int64_t number = 0; number < count; ++number) {
      if (seen_.contains(number) || !limits_.admits(engine_name(number))) continue;
      GraphPart engine = numbered_engine(number);
      if (engine.problem_when_finished()) continue;
      const EngineFacts facts{number, engine_notes(engine)};
      if (facts.has("runtime_compilation")) continue;
      GraphPart configuration(cudnn_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      configuration.refer(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
      if (!configuration.problem_when_finished()) add(std::move(engine), std::move(configuration));
    }
  }

  /// As it was in an earlier run; nothing where it is not that any more.
  void add_again(const EngineRecipe& recipe) {
    GraphPart engine = numbered_engine(recipe.engine);
    if (engine.problem_when_finished()) return;
    GraphPart configuration(cudnn_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    configuration.refer(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    std::vector<GraphPart> knobs;
    std::vector<cudnnBackendDescriptor_t> set;
    for (const EngineRecipe::Knob& knob : recipe.knobs) {
      if (knob.kind >= CUDNN_KNOB_TYPE_COUNTS) return;
      GraphPart& part = knobs.emplace_back(cudnn_, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
      part.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
               static_cast<cudnnBackendKnobType_t>(knob.kind));
      part.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, knob.value);
      part.finish("the knob");
      set.push_back(part.get());
    }
    if (!set.empty())
      configuration.set_all(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, set);
    if (configuration.problem_when_finished()) return;
    add(std::move(engine), std::move(configuration), std::move(knobs));
  }

 private:
  GraphPart numbered_engine(std::int64_t number) const {
    GraphPart engine(cudnn_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    engine.refer(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_->graph);
    engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, number);
    return engine;
  }

  void add(std::optional<GraphPart> engine, GraphPart configuration,
           std::vector<GraphPart> knobs = {}) {
    const EngineFacts facts = facts_of_configuration(configuration);
    if (!limits_.admits(engine_name(facts.number)) || !is_right_for(request_, facts)) return;
    GraphPart plan(cudnn_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, cudnn_->handle);
    plan.refer(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (plan.problem_when_finished()) return;
    const std::int64_t bytes = plan.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    if (bytes > limits_.most_scratch) return;
    // The second heuristic mostly repeats the first; what looks the same is not tried again.
    if (is_repeating_ && seen_plans_.contains({facts.number, bytes})) return;
    seen_plans_.insert({facts.number, bytes});
    list_.push_back(
        std::make_unique<EngineRunner>(EnginePlan{graph_, std::move(engine), std::move(knobs),
                                                  std::move(configuration), std::move(plan)},
                                       facts.number, bytes));
    seen_.insert(facts.number);
  }

  ConvRunners& list_;
  Cudnn cudnn_;
  ConvRequest request_;
  ConvLimits limits_;
  std::shared_ptr<const RequestGraph> graph_;
  bool is_repeating_ = false;
  std::set<std::int64_t> seen_;
  std::set<std::pair<std::int64_t, std::int64_t>> seen_plans_;  ///< engine, scratch memory
};

}  // namespace

void add_proposed_engines(ConvRunners& list, const Cudnn& cudnn, const ConvRequest& request,
                          const ConvLimits& limits) {
  constexpr std::size_t most_proposals = 3;  // each takes time to be made ready
  try {
    EngineList engines(list, cudnn, request, limits);
    engines.add_proposed(CUDNN_HEUR_MODE_A, most_proposals);
  } catch (const GraphRefusal&) {
    return;  // cuDNN cannot describe such a convolution; the other ways remain
  }
}

void add_engines(ConvRunners& list, const Cudnn& cudnn, const ConvRequest& request,
                 const ConvLimits& limits) {
  // Those for matrix units are compiled when they are made ready, some 50 ms each, and the first
  // few are as good as ten: of 256 to 256 channels at 28 × 28 in bf16 the first was within 2 % of
  // the best in every pass (H200, cuDNN 9.14).
  const bool is_exact = request.dtype == DType::fp32 || request.dtype == DType::fp64;
  const std::size_t most_proposals = is_exact ? 10 : 4;
  try {
    EngineList engines(list, cudnn, request, limits);
    for (const cudnnBackendHeurMode_t mode :
         {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK})
      engines.add_proposed(mode, most_proposals);
    engines.add_others();
  } catch (const GraphRefusal&) {
    return;  // cuDNN cannot describe such a convolution; the other ways remain
  }
}

std::unique_ptr<ConvRunner> engine_again(const Cudnn& cudnn, const ConvRequest& request,
                                         const EngineRecipe& recipe, std::int64_t most_scratch) {
  ConvRunners list;
  try {
    EngineList engines(list, cudnn, request, {most_scratch});
    engines.add_again(recipe);
  } catch (const GraphRefusal&) {
    return nullptr;  // this cuDNN has no such engine, or no such knob
  }
  if (list.empty() || list.front()->scratch_bytes() != recipe.scratch_bytes) return nullptr;
  return std::move(list.front());
}

}  // namespace strata::cuda::train
