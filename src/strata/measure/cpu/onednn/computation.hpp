// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/node_context.hpp"

#include <oneapi/dnnl/dnnl.hpp>

#include <string>
#include <unordered_map>
#include <vector>

/// oneDNN's primitives as kernels of nodes. A primitive is described when kernels are made: its
/// memory objects, its scratchpad and the buffers for layouts that it prefers are known then, and
/// nothing is allocated when it runs.
namespace strata::cpu_training::onednn {

using Dims = dnnl::memory::dims;
using Layout = dnnl::memory::desc;

const dnnl::engine& cpu_engine();
/// Every primitive is made with these: its scratchpad is part of the node's scratch memory. Results
/// may be scaled. Copies of a primitive_attr share one object, so each call makes a new one.
dnnl::primitive_attr attributes(float scale = 1);

Layout strided(const Dims& dims, const Dims& strides);  ///< fp32, as all that is given to oneDNN
Layout dense(const Dims& dims);                         ///< row-major
Layout dense(const BoundTensor& tensor);
Layout any_layout(const Dims& dims);  ///< the primitive chooses
Dims dims_of(const BoundTensor& tensor);

std::int64_t bytes_of(const Layout& layout);
std::int64_t aligned(std::int64_t bytes);  ///< up to the next cache line

dnnl::prop_kind forward_kind(const NodeContext& context);  ///< of training or inference

/// Where an operand lies while a node runs.
struct Place {
  enum class Of : std::uint8_t { input, output, output_gradient, input_gradient, saved, scratch };
  Of of = Of::input;
  std::size_t index = 0;
  std::int64_t offset_bytes = 0;  ///< from where the tensor or the memory begins

  void* in(const NodeMemory& memory) const;
};
inline Place input(std::size_t i) { return {Place::Of::input, i}; }
inline Place output(std::size_t i) { return {Place::Of::output, i}; }
inline Place output_gradient(std::size_t i) { return {Place::Of::output_gradient, i}; }
inline Place input_gradient(std::size_t i) { return {Place::Of::input_gradient, i}; }
inline Place saved(std::int64_t offset_bytes) { return {Place::Of::saved, 0, offset_bytes}; }

/// A tensor in a place.
struct Tensor {
  Place place;
  Layout layout;
};

/// An argument of a primitive: DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, …
struct Argument {
  int name;
  Tensor tensor;
};

/// Primitives that run one after the other and make one or several results of a node.
class Computation {
 public:
  /// Scratch memory that lasts until the computation is done.
  Tensor scratch(const Layout& layout);
  Place scratch(std::int64_t bytes);

  /// Appends a primitive. An operand that it wants in another layout than the tensor has is
  /// reordered in scratch memory, before or after it.
  void add(const dnnl::primitive_desc_base& description, const std::vector<Argument>& reads,
           const std::vector<Argument>& writes);
  /// Appends a copy into another layout; as the node's own work it is named in profiles.
  void add_reorder(const Tensor& from, const Tensor& to, bool is_named = true);
  /// Appends a plain step between primitives.
  void add_step(Compute step);

  /// Does nothing where a gradient that it makes has no memory: nobody asked for it.
  void run(const NodeMemory& memory);

  std::int64_t scratch_bytes() const { return scratch_bytes_; }
  /// "oneDNN 2.6.3 jit:avx512_core"
  std::string implementation() const;
  /// The inputs whose gradients it makes.
  const std::vector<std::size_t>& gradients() const { return gradients_; }

 private:
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
    std::vector<std::pair<int, Place>> places;  // of the arguments
    Compute plain;                              // instead of a primitive
    bool is_copy = false;                       // which is none where both places are one
  };

  void bind(Step& step, int name, const Tensor& tensor);

  std::vector<Step> steps_;
  std::vector<std::string> names_;
  std::vector<std::size_t> gradients_;
  std::int64_t scratch_bytes_ = 0;
};

/// The kernels of a node from the computations of its two passes; adds their scratch memory to what
/// the node needs.
KernelPair pair_of(Computation forward, std::vector<Computation> backward, NodeNeeds needs,
                   const NodeContext& context);

/// A plain pair whose forward pass a computation replaces: oneDNN has no backward pass of it.
KernelPair with_forward(KernelPair plain_pair, Computation forward);

}  // namespace strata::cpu_training::onednn
