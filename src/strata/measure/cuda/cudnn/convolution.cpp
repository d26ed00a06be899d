// SPDX-License-Identifier: Apache-2.0
// Convolutions of networks by the engines of cuDNN's graph interface: in up to three spatial axes,
// with padding that differs at both ends. Which engines are tried, and which are left out, is what
// PyTorch does with torch.backends.cudnn.benchmark.
#include "strata/gpu/cuda/cudnn/descriptors.cuh"
#include "strata/measure/cuda/node.cuh"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
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

struct EngineFacts {
  std::int64_t number = 0;
  std::vector<std::string> notes;

  bool has(std::string_view note) const {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  }
  /// "engine 12: winograd, winograd_tile_6x6"
  std::string text() const {
    return notes.empty() ? fmt::format("engine {}", number)
                         : fmt::format("engine {}: {}", number, fmt::join(notes, ", "));
  }
};

EngineFacts facts_of_configuration(const GraphPart& configuration) {
  const std::vector<GraphPart> engine =
      configuration.parts(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (engine.empty()) return {};
  return {engine.front().number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX), engine_notes(engine.front())};
}

class EngineAlgorithm final : public ConvAlgorithm {
 public:
  EngineAlgorithm(std::shared_ptr<const RequestGraph> graph, GraphPart configuration,
                  GraphPart plan, std::string name)
      : graph_(std::move(graph)),
        configuration_(std::move(configuration)),
        plan_(std::move(plan)),
        bytes_(plan_.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)),
        name_(std::move(name)) {}
  std::string name() const override { return name_; }
  std::int64_t scratch_bytes() const override { return bytes_; }
  bool run(const ConvTensors& tensors, void* scratch) override {
    const CudnnFunctions& cudnn = plan_.cudnn();
    const Memory memory = {tensors.input, tensors.weights, tensors.output, scratch};
    auto pack = packs_.find(memory);
    try {
      if (pack == packs_.end()) pack = packs_.emplace(memory, packed(memory)).first;
    } catch (const GraphRefusal&) {
      return false;
    }
    const bool works =
        cudnn.execute(cudnn.handle, plan_.get(), pack->second.get()) == CUDNN_STATUS_SUCCESS;
    if (!works) cudaGetLastError();  // the next call is not to blame
    return works;
  }

 private:
  using Memory = std::array<void*, 4>;  ///< input, weights, output, scratch

  GraphPart packed(const Memory& memory) const {
    const std::array<std::int64_t, 3> numbers = {input_number, weights_number, output_number};
    const std::array<void*, 3> data = {memory[0], memory[1], memory[2]};
    GraphPart pack(plan_.library(), CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, numbers);
    pack.set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, data);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, memory[3]);
    pack.finish("the pointers");
    return pack;
  }

  std::shared_ptr<const RequestGraph> graph_;  ///< the plan refers to it, and to its configuration
  GraphPart configuration_, plan_;
  std::int64_t bytes_;
  std::string name_;
  std::map<Memory, GraphPart> packs_;  ///< a network's memory stays where it is
};

/// cuDNN 9.14's kernels for tensor cores cut their workspace without regard to alignment, and write
/// 16 bytes where only 8 are aligned, unless the channels are whole vectors.
bool has_whole_vectors(const ConvRequest& request) {
  const std::int64_t vector = 16 / bytes_per_element(request.dtype);
  return request.channels / request.groups % vector == 0 &&
         request.filters / request.groups % vector == 0;
}

/// fp32 is multiplied as fp32: tensor cores would round it to TF32 first. Inputs are not rounded to
/// 16 bits.
bool is_allowed(const ConvRequest& request, const EngineFacts& facts) {
  const bool is_32_bit = request.dtype == DType::fp32 || request.dtype == DType::tf32;
  if (is_32_bit && facts.has("down_convert_inputs")) return false;
  if (request.dtype == DType::fp32 && facts.has("tensor_core")) return false;
  return has_whole_vectors(request) ||
         (!facts.has("tensor_core") && !facts.has("runtime_compilation"));
}

class EngineList {
 public:
  EngineList(const Cudnn& cudnn, const ConvRequest& request, std::int64_t most_workspace_bytes)
      : cudnn_(cudnn),
        request_(request),
        most_workspace_bytes_(most_workspace_bytes),
        graph_(std::make_shared<const RequestGraph>(cudnn, request)) {}

  /// Until there are `most` algorithms.
  void add_proposed(cudnnBackendHeurMode_t mode, std::size_t most) {
    constexpr std::size_t most_proposals = 64;
    GraphPart heuristics(cudnn_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.refer(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_->graph);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (heuristics.problem_when_finished()) return;  // there is no engine for this
    for (GraphPart& one : heuristics.parts(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                           CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, most_proposals)) {
      if (list_.size() >= most) return;
      add(std::move(one));
    }
  }
  bool empty() const { return list_.empty(); }
  std::vector<std::unique_ptr<ConvAlgorithm>> take() && { return std::move(list_); }

 private:
  void add(GraphPart configuration) {
    const EngineFacts facts = facts_of_configuration(configuration);
    if (!is_allowed(request_, facts)) return;
    GraphPart plan(cudnn_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, cudnn_->handle);
    plan.refer(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (plan.problem_when_finished()) return;
    const std::int64_t bytes = plan.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    if (bytes > most_workspace_bytes_) return;
    list_.push_back(std::make_unique<EngineAlgorithm>(
        graph_, std::move(configuration), std::move(plan),
        fmt::format("{} {}", cudnn_version_text(*cudnn_), facts.text())));
  }

  Cudnn cudnn_;
  ConvRequest request_;
  std::int64_t most_workspace_bytes_;
  std::shared_ptr<const RequestGraph> graph_;
  std::vector<std::unique_ptr<ConvAlgorithm>> list_;
};

}  // namespace

std::vector<std::unique_ptr<ConvAlgorithm>> cudnn_convolutions(const TrainingContext& context,
                                                               const ConvRequest& request,
                                                               std::int64_t most_workspace_bytes) {
  constexpr std::size_t most = 10;  // torch.backends.cudnn.benchmark_limit
  if (!context.cudnn) return {};
  try {
    EngineList engines(context.cudnn, request, most_workspace_bytes);
    engines.add_proposed(CUDNN_HEUR_MODE_B, most);
    if (engines.empty()) engines.add_proposed(CUDNN_HEUR_MODE_A, most);
    engines.add_proposed(CUDNN_HEUR_MODE_FALLBACK, most);
    return std::move(engines).take();
  } catch (const GraphRefusal&) {
    return {};  // cuDNN cannot describe such a convolution
  }
}

}  // namespace strata::cuda::train
