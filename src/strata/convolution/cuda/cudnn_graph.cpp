// SPDX-License-Identifier: Apache-2.0
// One operation, three tensors: a graph of a single convolution. cuDNN's C interface describes
// everything by parts with attributes; a part is finished before another may refer to it.
#include "strata/convolution/cuda/cudnn_graph.hpp"

#include "strata/gpu/cuda/cudnn/descriptors.cuh"
#include "strata/gpu/cuda/cudnn/functions.cuh"

#include <fmt/format.h>

#include <array>

namespace strata::cuda {
namespace {

enum TensorId : std::int64_t { input_id = 1, weights_id, output_id };

using Extents = std::array<std::int64_t, 4>;  // batch, channels, rows, columns

GraphPart tensor_part(const Cudnn& cudnn, TensorId id, const Extents& extents, DType dtype,
                      CudnnLayout layout) {
  const auto [n, c, h, w] = extents;
  const Extents strides = layout == CudnnLayout::nchw ? Extents{c * h * w, h * w, w, 1}
                                                      : Extents{h * w * c, 1, w * c, c};
  GraphPart part(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  part.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, graph_type(dtype));
  part.set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, extents);
  part.set_all(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
  part.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, static_cast<std::int64_t>(id));
  part.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16});
  part.finish("the tensor");
  return part;
}

GraphPart window_part(const Cudnn& cudnn, const ConvShape& shape, DType dtype) {
  using Pair = std::array<std::int64_t, 2>;
  const Pair padding = {shape.pad_height, shape.pad_width};
  const Pair dilation = {shape.dilation_height, shape.dilation_width};
  const Pair stride = {shape.stride_height, shape.stride_width};
  GraphPart part(cudnn, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  part.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
  part.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
           dtype == DType::fp64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
  part.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  part.set_all(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, padding);
  part.set_all(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, padding);
  part.set_all(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, dilation);
  part.set_all(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, stride);
  part.finish("the window");
  return part;
}

/// The names that one pass has for the same attributes.
struct PassNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t input, weights, output, window, alpha, beta;
};
PassNames names_of_pass(ConvPass pass) {
  if (pass == ConvPass::forward)
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  if (pass == ConvPass::input_gradient)
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

/// The parts of one convolution, which plans refer to.
struct ConvGraph {
  GraphPart input, weights, output, window, operation, graph;
  ConvGraph(const Cudnn& cudnn, const CudnnConv& conv);
};

ConvGraph::ConvGraph(const Cudnn& cudnn, const CudnnConv& conv)
    : input(tensor_part(cudnn, input_id,
                        {conv.problem.shape.batch, conv.problem.shape.channels,
                         conv.problem.shape.height, conv.problem.shape.width},
                        conv.problem.dtype, conv.layout)),
      weights(tensor_part(
          cudnn, weights_id,
          {conv.problem.shape.filters, conv.problem.shape.channels / conv.problem.shape.groups,
           conv.problem.shape.kernel_height, conv.problem.shape.kernel_width},
          conv.problem.dtype, conv.layout)),
      output(tensor_part(cudnn, output_id,
                         {conv.problem.shape.batch, conv.problem.shape.filters,
                          conv.problem.shape.output_height(), conv.problem.shape.output_width()},
                         conv.problem.dtype, conv.layout)),
      window(window_part(cudnn, conv.problem.shape, conv.problem.dtype)),
      operation(cudnn, names_of_pass(conv.problem.pass).operation),
      graph(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  const PassNames names = names_of_pass(conv.problem.pass);
  operation.refer(names.input, input);
  operation.refer(names.weights, weights);
  operation.refer(names.output, output);
  operation.refer(names.window, window);
  if (conv.problem.dtype == DType::fp64) {
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

class GraphPlan final : public CudnnConvPlan {
 public:
  /// Not finished where `plan` is not.
  GraphPlan(std::shared_ptr<const ConvGraph> graph, GraphPart configuration, GraphPart plan,
            CudnnEngine engine)
      : graph_(std::move(graph)),
        configuration_(std::move(configuration)),
        plan_(std::move(plan)),
        engine_(std::move(engine)),
        workspace_bytes_(plan_.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)) {}

  const CudnnEngine& engine() const override { return engine_; }
  std::int64_t workspace_bytes() const override { return workspace_bytes_; }

  void run(const ConvTensors& tensors, void* workspace) override {
    const std::array<void*, 4> places = {tensors.input, tensors.weights, tensors.output, workspace};
    if (!pack_ || places != places_) {
      pack_.emplace(packed(places));
      places_ = places;
    }
    const CudnnFunctions& cudnn = plan_.cudnn();
    check_cudnn(cudnn, cudnn.execute(cudnn.handle, plan_.get(), pack_->get()),
                "cudnnBackendExecute");
  }

 private:
  GraphPart packed(const std::array<void*, 4>& places) const {
    const std::array<std::int64_t, 3> ids = {input_id, weights_id, output_id};
    const std::array<void*, 3> data = {places[0], places[1], places[2]};
    GraphPart pack(plan_.library(), CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids);
    pack.set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, data);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, places[3]);
    pack.finish("the pointers");
    return pack;
  }

  std::shared_ptr<const ConvGraph> graph_;
  GraphPart configuration_, plan_;
  CudnnEngine engine_;
  std::int64_t workspace_bytes_;
  std::array<void*, 4> places_ = {};
  std::optional<GraphPart> pack_;
};

std::vector<GraphPart> proposed(const Cudnn& cudnn, const ConvGraph& graph, CudnnEngines engines,
                                std::size_t most) {
  GraphPart heuristic(cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.refer(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
                engines == CudnnEngines::heuristic_a   ? CUDNN_HEUR_MODE_A
                : engines == CudnnEngines::heuristic_b ? CUDNN_HEUR_MODE_B
                                                       : CUDNN_HEUR_MODE_FALLBACK);
  if (heuristic.problem_when_finished()) return {};  // there is no engine for this
  return heuristic.parts(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, most);
}

/// Each engine with its defaults; those that cannot are left out by cuDNN here already.
std::vector<GraphPart> every_engine(const Cudnn& cudnn, const ConvGraph& graph) {
  const std::int64_t count = graph.graph.number(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
  std::vector<GraphPart> configurations;
  for (std::int64_t number = 0; number < count; ++number) {
    GraphPart engine(cudnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    engine.refer(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.graph);
    engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, number);
    if (engine.problem_when_finished()) continue;
    GraphPart configuration(cudnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    configuration.refer(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    if (configuration.problem_when_finished()) continue;
    configurations.push_back(std::move(configuration));
  }
  return configurations;
}

CudnnEngine facts_of_engine(const GraphPart& configuration) {
  CudnnEngine facts;
  std::vector<GraphPart> engine =
      configuration.parts(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (engine.empty()) return facts;
  facts.number = engine.front().number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  facts.notes = engine_notes(engine.front());
  return facts;
}

/// Rounds its inputs to fewer digits than the type has.
bool is_rounding(const CudnnEngine& engine, DType dtype) {
  return dtype == DType::fp32 && (engine.has("tensor_core") || engine.has("down_convert_inputs"));
}

class LoadedGraph final : public CudnnGraph {
 public:
  explicit LoadedGraph(Cudnn cudnn) : cudnn_(std::move(cudnn)) {}

  std::string version() const override { return version_text(cudnn_->version()); }

  CudnnPlans plans(const CudnnConv& conv, CudnnEngines engines,
                   const CudnnPlanLimits& limits) const override {
    CudnnPlans found;
    try {
      add_plans(found, conv, engines, limits);
    } catch (const GraphRefusal& refusal) {
      found.refusals.push_back(refusal.reason);
    }
    return found;
  }

 private:
  void add_plans(CudnnPlans& found, const CudnnConv& conv, CudnnEngines engines,
                 const CudnnPlanLimits& limits) const {
    constexpr std::size_t most_asked = 256;
    const auto graph = std::make_shared<const ConvGraph>(cudnn_, conv);
    std::vector<GraphPart> configurations = engines == CudnnEngines::every
                                                ? every_engine(cudnn_, *graph)
                                                : proposed(cudnn_, *graph, engines, most_asked);
    for (GraphPart& configuration : configurations) {
      if (found.plans.size() == limits.most_plans) break;
      add_plan(found, graph, std::move(configuration), conv.problem.dtype, limits);
    }
  }
  void add_plan(CudnnPlans& found, const std::shared_ptr<const ConvGraph>& graph,
                GraphPart configuration, DType dtype, const CudnnPlanLimits& limits) const {
    CudnnEngine engine = facts_of_engine(configuration);
    const auto refuse = [&](const std::string& reason) {
      found.refusals.push_back(fmt::format("{} ({})", reason, engine.text()));
    };
    if (is_rounding(engine, dtype)) return refuse("rounds fp32 to fewer digits");
    GraphPart plan(cudnn_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, cudnn_->handle);
    plan.refer(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (const auto problem = plan.problem_when_finished()) return refuse(*problem);
    auto ready = std::make_unique<GraphPlan>(graph, std::move(configuration), std::move(plan),
                                             std::move(engine));
    if (limits.most_workspace_bytes && ready->workspace_bytes() > *limits.most_workspace_bytes) {
      engine = ready->engine();
      return refuse(fmt::format("needs {} bytes of workspace", ready->workspace_bytes()));
    }
    found.plans.push_back(std::move(ready));
  }

  Cudnn cudnn_;
};

}  // namespace

std::shared_ptr<CudnnGraph> CudnnGraph::load(void* stream, std::string& problem) {
  Cudnn cudnn = CudnnFunctions::load(static_cast<cudaStream_t>(stream), problem);
  if (!cudnn) return nullptr;
  return std::make_shared<LoadedGraph>(std::move(cudnn));
}

}  // namespace strata::cuda
