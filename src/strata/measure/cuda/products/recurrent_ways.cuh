// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/node.cuh"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Ways to compute a recurrent layer, and the choice among them: each runs forward and backward on
/// the GPU once per shape, and the fastest whole stays.
namespace strata::cuda::train {

/// One of them made ready, or why it cannot be.
struct RecurrentWay {
  std::string name;
  std::unique_ptr<NodeKernels> kernels;
  std::string why_not = {};
};

/// Our own kernels and matrix products; its name is own_recurrent. Needs the context's products.
inline constexpr std::string_view own_recurrent = "own";
std::unique_ptr<NodeKernels> make_stepwise(const Recurrent& op, const NodeFacts& facts);

/// The ways of one library.
class RecurrentSource {
 public:
  virtual ~RecurrentSource() = default;
  /// Only the one of that name, where it is not empty.
  virtual std::vector<RecurrentWay> ways(const Recurrent& op, const NodeFacts& facts,
                                         std::string_view only) = 0;
};
/// Nothing, and the reason in `problem`, where it cannot be loaded.
std::unique_ptr<RecurrentSource> make_cudnn_recurrent_source(cudaStream_t stream,
                                                             std::string& problem);

class Recurrences {
 public:
  /// `forced`: "own", "cudnn" (the fastest of its own), a way by name; empty: the fastest of all.
  Recurrences(std::string forced, std::shared_ptr<RememberedChoices> choices)
      : forced_(std::move(forced)), choices_(std::move(choices)) {}

  KernelsOrReason fastest(const Recurrent& op, const NodeFacts& facts);

 private:
  std::vector<RecurrentWay> ways(const Recurrent& op, const NodeFacts& facts,
                                 const std::string& wanted);
  RecurrentSource* cudnn(cudaStream_t stream);

  std::unique_ptr<NodeKernels> known_way(const std::string& question, const Recurrent& op,
                                         const NodeFacts& facts);

  std::string forced_;
  std::shared_ptr<RememberedChoices> choices_;
  std::unique_ptr<RecurrentSource> cudnn_;
  bool has_looked_for_cudnn_ = false;
  std::string no_cudnn_;                      ///< why there is none
  std::map<std::string, std::string> known_;  ///< the name of the fastest, by what was asked
};

}  // namespace strata::cuda::train
