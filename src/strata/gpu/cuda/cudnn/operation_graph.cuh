// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cuda/cudnn/descriptors.cuh"

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Graphs of several operations, which cuDNN may compute as one kernel: the tensors between them
/// are never stored. Everything throws GraphRefusal.
namespace strata::cuda {

/// Four extents, with the strides of a whole row-major array unless others are given.
struct GraphTensor {
  using Axes = std::array<std::int64_t, 4>;
  Axes extents{}, strides{};
  std::int64_t number = 0;
  const GraphPart* part = nullptr;
};
GraphTensor::Axes whole_strides(const GraphTensor::Axes& extents);

class OperationGraph {
 public:
  explicit OperationGraph(Cudnn cudnn) : cudnn_(std::move(cudnn)) {}
  OperationGraph(const OperationGraph&) = delete;
  OperationGraph& operator=(const OperationGraph&) = delete;

  using Axes = GraphTensor::Axes;
  /// In memory, which each run gives.
  GraphTensor stored(cudnnDataType_t type, const Axes& extents, const Axes& strides);
  /// Between operations.
  GraphTensor passing(cudnnDataType_t type, const Axes& extents);
  GraphTensor passing(cudnnDataType_t type, const Axes& extents, const Axes& strides);
  /// One number that stays as it is.
  GraphTensor constant(float value);

  void multiply(const GraphTensor& a, const GraphTensor& b, const GraphTensor& c);
  void reduce(cudnnReduceTensorOp_t kind, const GraphTensor& x, const GraphTensor& y);
  void reshape(const GraphTensor& x, const GraphTensor& y);
  struct Pointwise {
    cudnnPointwiseMode_t mode;
    cudnnDataType_t computed_in = CUDNN_DATA_FLOAT;
    std::optional<std::int64_t> axis = {};
  };
  void pointwise(const Pointwise& kind, const GraphTensor& x, const GraphTensor& y);
  void pointwise(const Pointwise& kind, const GraphTensor& x, const GraphTensor& b,
                 const GraphTensor& y);
  /// Layer norm, or root-mean-square norm, of [rows, length, 1, 1]. Scale and bias are
  /// [1, length, 1, 1], statistics [rows, 1, 1, 1]; null where the norm has none.
  struct NormTensors {
    const GraphTensor *x = nullptr, *scale = nullptr, *bias = nullptr, *mean = nullptr,
                      *inverse_deviation = nullptr, *epsilon = nullptr;
  };
  void norm(cudnnBackendNormMode_t mode, bool is_training, const NormTensors& tensors,
            const GraphTensor& y);
  struct NormGradients {
    const GraphTensor *dx = nullptr, *dscale = nullptr, *dbias = nullptr;
  };
  void norm_gradient(cudnnBackendNormMode_t mode, const NormTensors& tensors, const GraphTensor& dy,
                     const NormGradients& gradients);
  /// x where t holds, else b.
  void select(const GraphTensor& x, const GraphTensor& b, const GraphTensor& t,
              const GraphTensor& y);

  /// Takes the first that works of what cuDNN's heuristic proposes.
  void finish();
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  /// "engine 8"
  const std::string& engine() const { return engine_; }

  struct Place {
    GraphTensor tensor;
    void* data;
  };
  void run(const std::vector<Place>& places, void* workspace);

 private:
  GraphPart& add(cudnnBackendDescriptorType_t kind) { return parts_.emplace_back(cudnn_, kind); }
  GraphTensor tensor(cudnnDataType_t type, const Axes& extents, const Axes& strides,
                     bool is_passing, bool is_constant);
  GraphPart& pointwise_operation(const Pointwise& kind);
  void finish_operation(GraphPart& operation, const char* what);
  bool take_proposals(cudnnBackendHeurMode_t mode, std::string& reason);
  GraphPart packed(const std::vector<void*>& data, void* workspace,
                   const std::vector<std::int64_t>& numbers);

  Cudnn cudnn_;
  std::list<GraphPart> parts_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::int64_t next_number_ = 1;
  std::map<std::int64_t, float> constants_;  ///< by the tensor's number
  std::optional<GraphPart> graph_, plan_;
  std::int64_t workspace_bytes_ = 0;
  std::string engine_;
  std::map<std::vector<void*>, GraphPart> packs_;  ///< by all addresses
};

}  // namespace strata::cuda
