// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/onednn/operators.hpp"
#include "strata/measure/cpu/onednn/recurrent_layer.hpp"

#include <cstring>

/// LSTM, GRU and plain recurrent layers: one primitive per layer, with both directions, as PyTorch
/// runs them.
namespace strata::cpu_training::onednn {
namespace {

/// Copies bytes of a tensor of the node from or to another place; what is not there is zero.
void copy_or_clear(const void* from, void* to, std::int64_t bytes) {
  if (from != nullptr) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else {
    std::memset(to, 0, static_cast<std::size_t>(bytes));
  }
}

/// What forward leaves of a layer for backward.
struct LayerResults {
  Tensor layer;        // the hidden states at all times, [T, N, directions · hidden]
  Tensor state, cell;  // after the last time
  Tensor workspace;
};

class RecurrentNode {
 public:
  RecurrentNode(const Recurrent& op, const NodeContext& context)
      : context_(context), sizes_(op, context) {
    for (std::int64_t layer = 0; layer < op.layers; ++layer) layers_.emplace_back(sizes_, layer);
  }

  KernelPair kernels() {
    Computation forward;
    for (const RecurrentLayer& layer : layers_) add_forward(forward, layer);
    std::vector<Computation> backward;
    if (sizes_.keeps) {
      Computation& all = backward.emplace_back();
      for (std::size_t i = layers_.size(); i-- > 0;) add_backward(all, layers_[i]);
    }
    return pair_of(
        std::move(forward), std::move(backward),
        {.inputs = true, .outputs = true, .saved_bytes = saved_bytes_, .backward_is_one = true},
        context_);
  }

 private:
  Tensor kept(Computation& forward, const Layout& layout) {
    if (!sizes_.keeps) return forward.scratch(layout);
    const Tensor tensor{saved(saved_bytes_), layout};
    saved_bytes_ += aligned(bytes_of(layout));
    return tensor;
  }

  /// What a layer reads: X, or what the layer below made.
  Tensor source_of(const RecurrentLayer& layer) const {
    return layer.index == 0 ? Tensor{input(0), sizes_.batch_first(sizes_.features)}
                            : results_[static_cast<std::size_t>(layer.index - 1)].layer;
  }

  void add_forward(Computation& forward, const RecurrentLayer& layer) {
    const bool is_last = layer.index + 1 == sizes_.op.layers;
    LayerResults made;
    made.layer = is_last ? Tensor{output(0), sizes_.batch_first(sizes_.layer_width())}
                         : kept(forward, layer.dst_layer);
    made.state = kept(forward, layer.states);
    std::vector<Argument> writes = {{DNNL_ARG_DST_LAYER, made.layer},
                                    {DNNL_ARG_DST_ITER, made.state}};
    if (sizes_.is_lstm()) {
      made.cell = kept(forward, layer.states);
      writes.push_back({DNNL_ARG_DST_ITER_C, made.cell});
    }
    if (const Layout workspace = layer.forward.workspace_desc(); !workspace.is_zero()) {
      made.workspace = kept(forward, workspace);
      writes.push_back({DNNL_ARG_WORKSPACE, made.workspace});
    }
    results_.push_back(made);
    forward.add(layer.forward, layer.reads(forward, source_of(layer)), writes);
    forward.add_step([this_layer = layer, made, is_lstm = sizes_.is_lstm()](const NodeMemory& m) {
      const auto put = [&](std::size_t output, const Place& from) {
        if (m.outputs[output] == nullptr) return;
        std::memcpy(static_cast<std::byte*>(m.outputs[output]) + this_layer.state_offset(),
                    from.in(m), static_cast<std::size_t>(bytes_of(this_layer.states)));
      };
      put(1, made.state.place);
      if (is_lstm) put(2, made.cell.place);
    });
  }

  /// The gradient of a state after the last time; zero where nobody reads it.
  Tensor last_state_gradient(Computation& backward, const RecurrentLayer& layer,
                             std::size_t output) const {
    const Tensor gradient = backward.scratch(layer.states);
    backward.add_step([=](const NodeMemory& m) {
      const auto* const given = static_cast<const std::byte*>(
          m.output_gradients.size() > output ? m.output_gradients[output] : nullptr);
      copy_or_clear(given != nullptr ? given + layer.state_offset() : nullptr, gradient.place.in(m),
                    bytes_of(layer.states));
    });
    return gradient;
  }

  /// The gradient of what the last layer makes; zero where only its last states are read.
  Tensor top_gradient(Computation& backward) const {
    const Tensor gradient = backward.scratch(sizes_.batch_first(sizes_.layer_width()));
    backward.add_step([=](const NodeMemory& m) {
      copy_or_clear(m.output_gradients[0], gradient.place.in(m), bytes_of(gradient.layout));
    });
    return gradient;
  }

  Tensor cleared(Computation& backward, const Layout& layout) const {
    const Tensor tensor = backward.scratch(layout);
    backward.add_step(
        [=](const NodeMemory& m) { copy_or_clear(nullptr, tensor.place.in(m), bytes_of(layout)); });
    return tensor;
  }

  void add_backward(Computation& backward, const RecurrentLayer& layer) {
    const LayerResults& made = results_[static_cast<std::size_t>(layer.index)];
    const bool is_last = layer.index + 1 == sizes_.op.layers;
    std::vector<Argument> reads = layer.reads(backward, source_of(layer));
    reads.push_back({DNNL_ARG_DST_LAYER, made.layer});
    reads.push_back({DNNL_ARG_DST_ITER, made.state});
    reads.push_back({DNNL_ARG_WORKSPACE, made.workspace});
    reads.push_back({DNNL_ARG_DIFF_DST_LAYER, is_last ? top_gradient(backward) : from_above_});
    reads.push_back({DNNL_ARG_DIFF_DST_ITER, last_state_gradient(backward, layer, 1)});
    if (sizes_.is_lstm()) {
      reads.push_back({DNNL_ARG_DST_ITER_C, made.cell});
      reads.push_back({DNNL_ARG_DIFF_DST_ITER_C, last_state_gradient(backward, layer, 2)});
    }

    const Tensor below = layer.index > 0 ? backward.scratch(layer.src_layer)
                         : context_.wants(0)
                             ? Tensor{input_gradient(0), sizes_.batch_first(sizes_.features)}
                             : backward.scratch(layer.src_layer);
    // oneDNN adds to the gradients of weights.
    const Tensor of_layer = cleared(backward, layer.weights_layer);
    const Tensor of_iter = cleared(backward, layer.weights_iter);
    const Tensor of_bias = cleared(backward, layer.bias);
    std::vector<Argument> writes = {{DNNL_ARG_DIFF_SRC_LAYER, below},
                                    {DNNL_ARG_DIFF_WEIGHTS_LAYER, of_layer},
                                    {DNNL_ARG_DIFF_WEIGHTS_ITER, of_iter},
                                    {DNNL_ARG_DIFF_BIAS, of_bias}};
    const auto first_state = [&](int name, bool is_given, std::size_t i) {
      const Place of_input{Place::Of::input_gradient, i, layer.state_offset()};
      writes.push_back({name, is_given && context_.wants(i) ? Tensor{of_input, layer.states}
                                                            : backward.scratch(layer.states)});
    };
    first_state(DNNL_ARG_DIFF_SRC_ITER, sizes_.has_h0, 1);
    if (sizes_.is_lstm()) first_state(DNNL_ARG_DIFF_SRC_ITER_C, sizes_.has_c0, 2);
    backward.add(*layer.backward, reads, writes);
    layer.add_weight_gradients(backward, of_layer, of_iter, of_bias);
    from_above_ = below;
  }

  const NodeContext& context_;
  RecurrentSizes sizes_;
  std::vector<RecurrentLayer> layers_;
  std::vector<LayerResults> results_;
  std::int64_t saved_bytes_ = 0;
  Tensor from_above_;  // the gradient that the layer above leaves for the next one
};

}  // namespace

std::optional<KernelPair> make_kernels(const Recurrent& op, const NodeContext& context) {
  if (op.projection > 0) return std::nullopt;  // oneDNN has no backward pass of it
  if (context.has_backward()) {
    for (std::size_t i = context.first_own(); i < context.input_count(); ++i) {
      if (!context.wants(i)) return std::nullopt;
    }
  }
  return RecurrentNode(op, context).kernels();
}

}  // namespace strata::cpu_training::onednn
