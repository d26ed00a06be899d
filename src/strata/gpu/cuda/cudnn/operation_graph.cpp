// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/cudnn/operation_graph.cuh"

#include "strata/base/error.hpp"

#include <fmt/format.h>

namespace strata::cuda {

GraphTensor::Axes whole_strides(const GraphTensor::Axes& extents) {
  return {extents[1] * extents[2] * extents[3], extents[2] * extents[3], extents[3], 1};
}

GraphTensor OperationGraph::tensor(cudnnDataType_t type, const Axes& extents, const Axes& strides,
                                   bool is_passing, bool is_constant) {
  const std::int64_t number = next_number_++;
  GraphPart& part = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  part.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  part.set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, extents);
  part.set_all(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
  part.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, number);
  part.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16});
  part.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_passing);
  part.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, is_constant);
  part.finish("a tensor");
  return {extents, strides, number, &part};
}

GraphTensor OperationGraph::stored(cudnnDataType_t type, const Axes& extents, const Axes& strides) {
  return tensor(type, extents, strides, false, false);
}

GraphTensor OperationGraph::passing(cudnnDataType_t type, const Axes& extents) {
  return tensor(type, extents, whole_strides(extents), true, false);
}

GraphTensor OperationGraph::passing(cudnnDataType_t type, const Axes& extents,
                                    const Axes& strides) {
  return tensor(type, extents, strides, true, false);
}

GraphTensor OperationGraph::constant(float value) {
  const GraphTensor made = tensor(CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
  constants_[made.number] = value;
  return made;
}

void OperationGraph::finish_operation(GraphPart& operation, const char* what) {
  operation.finish(what);
  operations_.push_back(operation.get());
}

void OperationGraph::multiply(const GraphTensor& a, const GraphTensor& b, const GraphTensor& c) {
  GraphPart& kind = add(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  kind.finish("a product's type");
  GraphPart& operation = add(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.refer(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a.part);
  operation.refer(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b.part);
  operation.refer(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *c.part);
  operation.refer(CUDNN_ATTR_OPERATION_MATMUL_DESC, kind);
  finish_operation(operation, "a product");
}

void OperationGraph::reduce(cudnnReduceTensorOp_t how, const GraphTensor& x, const GraphTensor& y) {
  GraphPart& kind = add(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  kind.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, how);
  kind.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  kind.finish("a reduction's type");
  GraphPart& operation = add(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.refer(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x.part);
  operation.refer(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *y.part);
  operation.refer(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind);
  finish_operation(operation, "a reduction");
}

void OperationGraph::reshape(const GraphTensor& x, const GraphTensor& y) {
  GraphPart& operation = add(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.refer(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x.part);
  operation.refer(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *y.part);
  finish_operation(operation, "another view");
}

GraphPart& OperationGraph::pointwise_operation(const Pointwise& how) {
  GraphPart& kind = add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, how.mode);
  kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, how.computed_in);
  if (how.axis) kind.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, *how.axis);
  kind.finish("a function's type");
  GraphPart& operation = add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind);
  return operation;
}

void OperationGraph::pointwise(const Pointwise& kind, const GraphTensor& x, const GraphTensor& y) {
  GraphPart& operation = pointwise_operation(kind);
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.part);
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *y.part);
  finish_operation(operation, "a function");
}

void OperationGraph::pointwise(const Pointwise& kind, const GraphTensor& x, const GraphTensor& b,
                               const GraphTensor& y) {
  GraphPart& operation = pointwise_operation(kind);
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.part);
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b.part);
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *y.part);
  finish_operation(operation, "a function of two");
}

void OperationGraph::select(const GraphTensor& x, const GraphTensor& b, const GraphTensor& t,
                            const GraphTensor& y) {
  GraphPart& operation = pointwise_operation({CUDNN_POINTWISE_BINARY_SELECT});
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.part);
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b.part);
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *t.part);
  operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *y.part);
  finish_operation(operation, "a choice");
}

void OperationGraph::norm(cudnnBackendNormMode_t mode, bool is_training, const NormTensors& tensors,
                          const GraphTensor& y) {
  GraphPart& operation = add(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  const auto refer = [&](cudnnBackendAttributeName_t name, const GraphTensor* tensor) {
    if (tensor != nullptr) operation.refer(name, *tensor->part);
  };
  operation.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, mode);
  operation.set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE,
                is_training ? CUDNN_NORM_FWD_TRAINING : CUDNN_NORM_FWD_INFERENCE);
  refer(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, tensors.x);
  refer(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, tensors.scale);
  refer(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, tensors.bias);
  refer(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, tensors.epsilon);
  if (is_training) {
    refer(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, tensors.mean);
    refer(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, tensors.inverse_deviation);
  }
  refer(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, &y);
  finish_operation(operation, "a norm");
}

void OperationGraph::norm_gradient(cudnnBackendNormMode_t mode, const NormTensors& tensors,
                                   const GraphTensor& dy, const NormGradients& gradients) {
  GraphPart& operation = add(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
  const auto refer = [&](cudnnBackendAttributeName_t name, const GraphTensor* tensor) {
    if (tensor != nullptr) operation.refer(name, *tensor->part);
  };
  operation.set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, mode);
  refer(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, tensors.x);
  refer(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, tensors.mean);
  refer(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, tensors.inverse_deviation);
  refer(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, &dy);
  refer(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, tensors.scale);
  refer(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, gradients.dscale);
  refer(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, gradients.dbias);
  refer(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, gradients.dx);
  finish_operation(operation, "the gradient of a norm");
}

void OperationGraph::finish() {
  graph_.emplace(cudnn_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, cudnn_->handle);
  graph_->set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations_);
  graph_->finish("the graph");
  std::string reason = "cuDNN proposes no engine for it";
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (take_proposals(mode, reason)) return;
  }
  throw GraphRefusal{reason};
}

bool OperationGraph::take_proposals(cudnnBackendHeurMode_t mode, std::string& reason) {
  constexpr std::size_t most_proposals = 8;
  GraphPart heuristic(cudnn_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.refer(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *graph_);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (const auto problem = heuristic.problem_when_finished()) {
    reason = *problem;
    return false;
  }
  for (GraphPart& proposal : heuristic.parts(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                             CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, most_proposals)) {
    GraphPart plan(cudnn_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, cudnn_->handle);
    plan.refer(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, proposal);
    if (const auto problem = plan.problem_when_finished()) {
      reason = *problem;
      continue;
    }
    workspace_bytes_ = plan.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    const std::vector<GraphPart> engine =
        proposal.parts(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
    if (!engine.empty())
      engine_ = fmt::format("engine {}", engine.front().number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
    parts_.push_back(std::move(proposal));
    plan_.emplace(std::move(plan));
    return true;
  }
  return false;
}

GraphPart OperationGraph::packed(const std::vector<void*>& data, void* workspace,
                                 const std::vector<std::int64_t>& numbers) {
  GraphPart pack(cudnn_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, numbers);
  pack.set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, data);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finish("the pointers");
  return pack;
}

void OperationGraph::run(const std::vector<Place>& places, void* workspace) {
  std::vector<void*> data;
  std::vector<std::int64_t> numbers;
  for (const Place& place : places) {
    data.push_back(place.data);
    numbers.push_back(place.tensor.number);
  }
  for (auto& [number, value] : constants_) {
    data.push_back(&value);
    numbers.push_back(number);
  }
  std::vector<void*> key = data;
  key.push_back(workspace);
  auto pack = packs_.find(key);
  try {
    if (pack == packs_.end())
      pack = packs_.emplace(std::move(key), packed(data, workspace, numbers)).first;
  } catch (const GraphRefusal& refusal) {
    fail(ErrorKind::environment, "cuDNN: {}", refusal.reason);
  }
  check_cudnn(*cudnn_, cudnn_->execute(cudnn_->handle, plan_->get(), pack->second.get()),
              "cudnnBackendExecute");
}

}  // namespace strata::cuda
