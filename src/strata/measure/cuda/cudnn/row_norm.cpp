// SPDX-License-Identifier: Apache-2.0
// Layer norm and root-mean-square norm by cuDNN's graph interface, on [rows, length, 1, 1] with the
// length as the fastest axis, as NVIDIA's own frontend describes them.
#include "strata/gpu/cuda/cudnn/operation_graph.cuh"
#include "strata/measure/cuda/cudnn/shared_graph.cuh"
#include "strata/measure/cuda/cudnn/tried_node.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace strata::cuda::train {
namespace {

cudnnBackendNormMode_t norm_mode_of(const RowNorm& norm) {
  return norm.takes_mean ? CUDNN_LAYER_NORM : CUDNN_RMS_NORM;
}

/// The tensors that both passes have.
struct RowTensors {
  GraphTensor x, scale, mean, inverse_deviation;

  RowTensors(OperationGraph& graph, const RowNorm& norm)
      : x(rows(graph, norm)),
        scale(weights(graph, norm)),
        mean(statistics(graph, norm)),
        inverse_deviation(statistics(graph, norm)) {}

  static GraphTensor rows(OperationGraph& graph, const RowNorm& norm) {
    const std::int64_t n = norm.length;
    return graph.stored(graph_type(norm.dtype), {norm.rows, n, 1, 1}, {n, 1, n, n});
  }
  static GraphTensor weights(OperationGraph& graph, const RowNorm& norm) {
    const std::int64_t n = norm.length;
    return graph.stored(graph_type(norm.dtype), {1, n, 1, 1}, {n, 1, n, n});
  }
  static GraphTensor statistics(OperationGraph& graph, const RowNorm& norm) {
    return graph.stored(CUDNN_DATA_FLOAT, {norm.rows, 1, 1, 1}, {1, 1, 1, 1});
  }
};

struct ForwardNorm {
  OperationGraph graph;
  std::optional<RowTensors> tensors;
  GraphTensor shift, y;

  ForwardNorm(const Cudnn& cudnn, const RowNorm& norm, bool has_shift, bool is_training)
      : graph(cudnn) {
    tensors.emplace(graph, norm);
    if (has_shift) shift = RowTensors::weights(graph, norm);
    y = RowTensors::rows(graph, norm);
    const GraphTensor epsilon = graph.constant(static_cast<float>(norm.epsilon));
    graph.norm(norm_mode_of(norm), is_training,
               {.x = &tensors->x,
                .scale = &tensors->scale,
                .bias = has_shift ? &shift : nullptr,
                .mean = norm.takes_mean ? &tensors->mean : nullptr,
                .inverse_deviation = &tensors->inverse_deviation,
                .epsilon = &epsilon},
               y);
    graph.finish();
  }
};

struct BackwardNorm {
  OperationGraph graph;
  std::optional<RowTensors> tensors;
  GraphTensor dy, dx, dscale, dshift;

  BackwardNorm(const Cudnn& cudnn, const RowNorm& norm, bool has_shift) : graph(cudnn) {
    tensors.emplace(graph, norm);
    dy = RowTensors::rows(graph, norm);
    dx = RowTensors::rows(graph, norm);
    dscale = RowTensors::weights(graph, norm);
    if (has_shift) dshift = RowTensors::weights(graph, norm);
    graph.norm_gradient(norm_mode_of(norm),
                        {.x = &tensors->x,
                         .scale = &tensors->scale,
                         .mean = norm.takes_mean ? &tensors->mean : nullptr,
                         .inverse_deviation = &tensors->inverse_deviation},
                        dy, {.dx = &dx, .dscale = &dscale, .dbias = has_shift ? &dshift : nullptr});
    graph.finish();
  }
};

std::string description_of(const RowNorm& norm, std::string_view pass, bool has_shift) {
  return fmt::format("{} norm {} {}x{} {} epsilon {} shift {}", norm.takes_mean ? "layer" : "RMS",
                     pass, norm.rows, norm.length, name_of(norm.dtype), norm.epsilon, has_shift);
}

/// Throws GraphRefusal.
class CudnnRowNormNode final : public CudaNode {
 public:
  CudnnRowNormNode(NodeFacts facts, const RowNorm& norm, bool has_shift)
      : CudaNode(std::move(facts)),
        norm_(norm),
        has_shift_(has_shift),
        forward_(shared_graph<ForwardNorm>(
            context(),
            description_of(norm, this->facts().is_training ? "forward" : "inference", has_shift),
            norm, has_shift, this->facts().is_training)) {
    std::int64_t work = forward_->graph.workspace_bytes();
    if (!this->facts().is_training) {
      work_ = scratch_.add(work);
      return;
    }
    backward_ = shared_graph<BackwardNorm>(context(), description_of(norm, "backward", has_shift),
                                           norm, has_shift);
    work_ = scratch_.add(std::max(work, backward_->graph.workspace_bytes()));
    mean_ = saved_.add(norm.rows * 4);
    inverse_deviation_ = saved_.add(norm.rows * 4);
    // All gradients are always made; those that nobody asks for stay here.
    const std::int64_t weights = norm.length * bytes_per_element(norm.dtype);
    for (std::size_t i = 0; i < 2; ++i) unwanted_weights_[i] = scratch_.add(weights);
    if (!input(0).wants_gradient) unwanted_rows_ = scratch_.add(input(0).bytes);
  }

  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.scratch_bytes = scratch_.bytes();
    if (!facts().is_training) return needs;
    needs.inputs = true;
    needs.saved_bytes = saved_.bytes();
    needs.backward_is_one = true;
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    const std::size_t scale = first_own(), shift = scale + 1;
    const auto saved = [&](std::int64_t at) { return static_cast<char*>(memory.saved) + at; };
    const auto scratch = [&](std::int64_t at) { return static_cast<char*>(memory.scratch) + at; };
    if (pass == Pass::forward) {
      std::vector<OperationGraph::Place> places = {{forward_->tensors->x, memory.inputs[0]},
                                                   {forward_->tensors->scale, memory.inputs[scale]},
                                                   {forward_->y, memory.outputs[0]}};
      if (has_shift_) places.push_back({forward_->shift, memory.inputs[shift]});
      if (facts().is_training && norm_.takes_mean)
        places.push_back({forward_->tensors->mean, saved(mean_)});
      if (facts().is_training)
        places.push_back({forward_->tensors->inverse_deviation, saved(inverse_deviation_)});
      return forward_->graph.run(places, scratch(work_));
    }
    const auto gradient = [&](std::size_t which, void* otherwise) {
      return makes(memory, which) ? memory.input_gradients[which] : otherwise;
    };
    std::vector<OperationGraph::Place> places = {
        {backward_->tensors->x, memory.inputs[0]},
        {backward_->tensors->scale, memory.inputs[scale]},
        {backward_->tensors->inverse_deviation, saved(inverse_deviation_)},
        {backward_->dy, memory.output_gradients[0]},
        {backward_->dx, gradient(0, scratch(unwanted_rows_))},
        {backward_->dscale, gradient(scale, scratch(unwanted_weights_[0]))}};
    if (norm_.takes_mean) places.push_back({backward_->tensors->mean, saved(mean_)});
    if (has_shift_)
      places.push_back({backward_->dshift, gradient(shift, scratch(unwanted_weights_[1]))});
    backward_->graph.run(places, scratch(work_));
  }

  std::string implementation(Pass pass) const override {
    const OperationGraph& graph = pass == Pass::forward ? forward_->graph : backward_->graph;
    return fmt::format("{} {} {}", cudnn_version_text(*context().cudnn),
                       norm_.takes_mean ? "layer norm" : "RMS norm", graph.engine());
  }

 private:
  RowNorm norm_;
  bool has_shift_;
  std::shared_ptr<ForwardNorm> forward_;
  std::shared_ptr<BackwardNorm> backward_;
  Scratch saved_, scratch_;
  std::int64_t mean_ = 0, inverse_deviation_ = 0, work_ = 0, unwanted_rows_ = 0;
  std::array<std::int64_t, 2> unwanted_weights_{};
};

}  // namespace

KernelsOrReason cudnn_row_norm(const NodeFacts& facts, const RowNorm& norm, bool has_scale,
                               bool has_shift) {
  if (norm.length == 1) return NoKernels{"a norm of single numbers"};
  if (norm.dtype == DType::fp64) return NoKernels{"cuDNN has no such norm in fp64"};
  if (!has_scale || has_shift != norm.takes_mean)
    return NoKernels{"cuDNN's norms have a scale, and layer norm a shift"};
  return tried_node(facts,
                    [&] { return std::make_unique<CudnnRowNormNode>(facts, norm, has_shift); });
}

}  // namespace strata::cuda::train
