// SPDX-License-Identifier: Apache-2.0
// cuDNN's fused attention: a graph of the products, the mask and the softmax's steps, written in
// the order that its engines recognise (that of NVIDIA's cudnn-frontend). One operation for all of
// it (CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR) has no causal mask before cuDNN 9.21 and no
// usable gradient before 9.27.
#include "strata/base/error.hpp"
#include "strata/gpu/cuda/cudnn/operation_graph.cuh"
#include "strata/measure/cuda/cudnn/shared_graph.cuh"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace strata::cuda::train {
namespace {

using Axes = GraphTensor::Axes;
constexpr cudnnDataType_t number_type = CUDNN_DATA_FLOAT, place_type = CUDNN_DATA_INT32,
                          truth_type = CUDNN_DATA_BOOLEAN;

/// [batch, length, heads × width] with the heads as an axis before the length.
GraphTensor heads_of(OperationGraph& graph, const AttentionShape& s, std::int64_t heads,
                     std::int64_t length, std::int64_t width) {
  return graph.stored(graph_type(s.dtype), {s.batch, heads, length, width},
                      {length * heads * width, width, heads * width, 1});
}
/// The same with length and width exchanged.
GraphTensor transposed_heads_of(OperationGraph& graph, const AttentionShape& s, std::int64_t heads,
                                std::int64_t length, std::int64_t width) {
  return graph.stored(graph_type(s.dtype), {s.batch, heads, width, length},
                      {length * heads * width, width, 1, heads * width});
}

Axes score_axes(const AttentionShape& s) { return {s.batch, s.heads, s.queries, s.keys}; }
Axes row_axes(const AttentionShape& s) { return {s.batch, s.heads, s.queries, 1}; }

/// What both passes begin with: scale × Q Kᵀ + mask.
struct ScoreTensors {
  GraphTensor q, k_transposed, scale, mask, scores;

  ScoreTensors(OperationGraph& graph, const AttentionShape& s)
      : q(heads_of(graph, s, s.heads, s.queries, s.width)),
        k_transposed(transposed_heads_of(graph, s, s.kv_heads, s.keys, s.width)),
        scale(graph.constant(static_cast<float>(s.scale()))) {
    const GraphTensor products = graph.passing(number_type, score_axes(s));
    graph.multiply(q, k_transposed, products);
    scores = graph.passing(number_type, score_axes(s));
    graph.pointwise({CUDNN_POINTWISE_MUL}, products, scale, scores);
    if (!s.has_mask) return;
    Axes extents = score_axes(s), strides = s.mask_strides;
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      if (s.mask_strides[axis] != 0) continue;
      extents[axis] = 1;
      strides[axis] = axis == 3 ? 1 : strides[axis + 1] * extents[axis + 1];
    }
    mask = graph.stored(graph_type(s.dtype), extents, strides);
    const GraphTensor masked = graph.passing(number_type, score_axes(s));
    graph.pointwise({CUDNN_POINTWISE_ADD}, scores, mask, masked);
    scores = masked;
  }
};

/// −∞ where the key comes after the query.
GraphTensor causal(OperationGraph& graph, const AttentionShape& s, const GraphTensor& scores) {
  const GraphTensor row = graph.passing(place_type, score_axes(s));
  const GraphTensor column = graph.passing(place_type, score_axes(s));
  graph.pointwise({CUDNN_POINTWISE_GEN_INDEX, number_type, 2}, scores, row);
  graph.pointwise({CUDNN_POINTWISE_GEN_INDEX, number_type, 3}, scores, column);
  const GraphTensor is_seen = graph.passing(truth_type, score_axes(s));
  graph.pointwise({CUDNN_POINTWISE_CMP_GE, truth_type}, row, column, is_seen);
  const GraphTensor chosen = graph.passing(number_type, score_axes(s));
  graph.select(scores, graph.constant(-std::numeric_limits<float>::infinity()), is_seen, chosen);
  return chosen;
}

struct ForwardGraph {
  OperationGraph graph;
  std::optional<ScoreTensors> s;
  GraphTensor v, output, log_sums;

  ForwardGraph(const Cudnn& cudnn, const AttentionShape& shape) : graph(cudnn) {
    s.emplace(graph, shape);
    const GraphTensor scores = shape.is_causal ? causal(graph, shape, s->scores) : s->scores;
    const GraphTensor most = graph.passing(number_type, row_axes(shape));
    graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, most);
    const GraphTensor below = graph.passing(number_type, score_axes(shape));
    graph.pointwise({CUDNN_POINTWISE_SUB}, scores, most, below);
    const GraphTensor powers = graph.passing(number_type, score_axes(shape));
    graph.pointwise({CUDNN_POINTWISE_EXP}, below, powers);
    const GraphTensor sum = graph.passing(number_type, row_axes(shape));
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sum);
    const GraphTensor log = graph.passing(number_type, row_axes(shape));
    graph.pointwise({CUDNN_POINTWISE_LOG}, sum, log);
    log_sums = shape.is_training
                   ? graph.stored(number_type, row_axes(shape), whole_strides(row_axes(shape)))
                   : graph.passing(number_type, row_axes(shape));
    graph.pointwise({CUDNN_POINTWISE_ADD}, most, log, log_sums);
    const GraphTensor shares = graph.passing(graph_type(shape.dtype), score_axes(shape));
    graph.pointwise({CUDNN_POINTWISE_DIV}, powers, sum, shares);
    v = heads_of(graph, shape, shape.kv_heads, shape.keys, shape.value_width);
    output = heads_of(graph, shape, shape.heads, shape.queries, shape.value_width);
    graph.multiply(shares, v, output);
    graph.finish();
  }
};

struct BackwardGraph {
  OperationGraph graph;
  std::optional<ScoreTensors> s;
  GraphTensor v_transposed, output, d_output, log_sums, row_dots, dq, dq_sums, dk, dv;

  BackwardGraph(const Cudnn& cudnn, const AttentionShape& shape) : graph(cudnn) {
    add_row_dots(shape);
    s.emplace(graph, shape);
    const GraphTensor shares = add_shares(shape);
    dv = add_transposed_product(shape, shares, d_output, shape.value_width);
    const GraphTensor slopes = add_slopes(shape, shares);
    dk = add_transposed_product(shape, slopes, s->q, shape.width);
    add_query_gradient(shape, slopes);
    graph.finish();
  }

 private:
  /// Σ dO × O of each row; cuDNN wants it in memory.
  void add_row_dots(const AttentionShape& shape) {
    d_output = heads_of(graph, shape, shape.heads, shape.queries, shape.value_width);
    output = heads_of(graph, shape, shape.heads, shape.queries, shape.value_width);
    const GraphTensor both =
        graph.passing(number_type, {shape.batch, shape.heads, shape.queries, shape.value_width});
    graph.pointwise({CUDNN_POINTWISE_MUL}, d_output, output, both);
    const GraphTensor sum = graph.passing(number_type, row_axes(shape));
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, both, sum);
    row_dots = graph.stored(number_type, row_axes(shape), whole_strides(row_axes(shape)));
    // Where dropout would have its factor.
    graph.pointwise({CUDNN_POINTWISE_MUL}, sum, graph.constant(1), row_dots);
  }
  /// exp(scores − log-sum), which are the probabilities.
  GraphTensor add_shares(const AttentionShape& shape) {
    log_sums = graph.stored(number_type, row_axes(shape), whole_strides(row_axes(shape)));
    GraphTensor below = graph.passing(number_type, score_axes(shape));
    graph.pointwise({CUDNN_POINTWISE_SUB}, s->scores, log_sums, below);
    if (shape.is_causal) below = causal(graph, shape, below);
    const GraphTensor shares = graph.passing(number_type, score_axes(shape));
    graph.pointwise({CUDNN_POINTWISE_EXP}, below, shares);
    return shares;
  }
  /// Gradients of keys and values: [queries, keys] transposed, times rows of queries; over the
  /// heads that share them.
  GraphTensor add_transposed_product(const AttentionShape& shape, const GraphTensor& scores,
                                     const GraphTensor& rows, std::int64_t width) {
    const Axes transposed = {shape.batch, shape.heads, shape.keys, shape.queries};
    const std::int64_t plane = shape.queries * shape.keys;
    const GraphTensor view = graph.passing(graph_type(shape.dtype), transposed,
                                           {shape.heads * plane, plane, 1, shape.keys});
    graph.reshape(scores, view);
    const GraphTensor gradient = heads_of(graph, shape, shape.kv_heads, shape.keys, width);
    if (shape.repeats() == 1) {
      graph.multiply(view, rows, gradient);
      return gradient;
    }
    const GraphTensor of_all =
        graph.passing(graph_type(shape.dtype), {shape.batch, shape.heads, shape.keys, width});
    graph.multiply(view, rows, of_all);
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, of_all, gradient);
    return gradient;
  }
  GraphTensor add_slopes(const AttentionShape& shape, const GraphTensor& shares) {
    v_transposed = transposed_heads_of(graph, shape, shape.kv_heads, shape.keys, shape.value_width);
    const GraphTensor d_shares = graph.passing(number_type, score_axes(shape));
    graph.multiply(d_output, v_transposed, d_shares);
    const GraphTensor below = graph.passing(number_type, score_axes(shape));
    graph.pointwise({CUDNN_POINTWISE_SUB}, d_shares, row_dots, below);
    const GraphTensor weighted = graph.passing(number_type, score_axes(shape));
    graph.pointwise({CUDNN_POINTWISE_MUL}, below, shares, weighted);
    const GraphTensor scaled = graph.passing(number_type, score_axes(shape));
    graph.pointwise({CUDNN_POINTWISE_MUL}, weighted, s->scale, scaled);
    return scaled;
  }
  /// Added up in fp32, then rounded.
  void add_query_gradient(const AttentionShape& shape, const GraphTensor& slopes) {
    const Axes transposed = s->k_transposed.strides;
    const GraphTensor k =
        graph.passing(number_type, {shape.batch, shape.kv_heads, shape.keys, shape.width},
                      {transposed[0], transposed[1], transposed[3], transposed[2]});
    graph.reshape(s->k_transposed, k);
    const Axes axes = {shape.batch, shape.heads, shape.queries, shape.width};
    dq_sums = graph.stored(number_type, axes, whole_strides(axes));
    graph.multiply(slopes, k, dq_sums);
    dq = heads_of(graph, shape, shape.heads, shape.queries, shape.width);
    graph.pointwise({CUDNN_POINTWISE_IDENTITY}, dq_sums, dq);
  }
};

/// All that a graph is made from.
std::string description_of(const AttentionShape& s, std::string_view pass) {
  return fmt::format("attention {} {}x{}/{} {}x{} {},{} causal {} mask {} {} {} {}", pass, s.batch,
                     s.heads, s.kv_heads, s.queries, s.keys, s.width, s.value_width, s.is_causal,
                     s.has_mask, fmt::join(s.mask_strides, ","), s.is_training, name_of(s.dtype));
}

class FusedAttention final : public AttentionKernels {
 public:
  FusedAttention(const TrainingContext& context, const AttentionShape& shape)
      : library_(cudnn_version_text(*context.cudnn)),
        shape_(shape),
        forward_(shared_graph<ForwardGraph>(context, description_of(shape, "forward"), shape)) {
    const std::int64_t work = forward_->graph.workspace_bytes();
    if (!shape.is_training) {
      work_room_ = scratch_.add(work);
      return;
    }
    backward_ = shared_graph<BackwardGraph>(context, description_of(shape, "backward"), shape);
    work_room_ = scratch_.add(std::max(work, backward_->graph.workspace_bytes()));
    dots_room_ = scratch_.add(shape.rows() * 4);
    sums_room_ = scratch_.add(shape.query_elements() * 4);
    const std::array<std::int64_t, 3> elements = {shape.query_elements(), shape.key_elements(),
                                                  shape.value_elements()};
    for (std::size_t i = 0; i < elements.size(); ++i) {  // all three are always made
      if (!shape.gradients[i])
        unwanted_rooms_[i] = scratch_.add(elements[i] * bytes_per_element(shape.dtype));
    }
  }

  std::string name() const override {
    return backward_ ? fmt::format("{} SDPA {}, {}", library_, forward_->graph.engine(),
                                   backward_->graph.engine())
                     : fmt::format("{} SDPA {}", library_, forward_->graph.engine());
  }
  AttentionNeeds needs() const override {
    return {.saved_bytes = shape_.is_training ? shape_.rows() * 4 : 0,
            .scratch_bytes = scratch_.bytes(),
            .output = true,
            .backward_is_one = shape_.is_asked_apart};
  }

  void forward(const AttentionMemory& m) override {
    ForwardGraph& f = *forward_;
    std::vector<OperationGraph::Place> places = {{f.s->q, given(m.q)},
                                                 {f.s->k_transposed, given(m.k)},
                                                 {f.v, given(m.v)},
                                                 {f.output, m.output}};
    if (shape_.has_mask) places.push_back({f.s->mask, given(m.mask)});
    if (shape_.is_training) places.push_back({f.log_sums, m.saved});
    f.graph.run(places, room(m, work_room_));
  }

  void backward(const AttentionMemory& m) override {
    BackwardGraph& b = *backward_;
    std::vector<OperationGraph::Place> places = {{b.s->q, given(m.q)},
                                                 {b.s->k_transposed, given(m.k)},
                                                 {b.v_transposed, given(m.v)},
                                                 {b.output, m.output},
                                                 {b.d_output, given(m.output_gradient)},
                                                 {b.log_sums, m.saved},
                                                 {b.row_dots, room(m, dots_room_)},
                                                 {b.dq_sums, room(m, sums_room_)},
                                                 {b.dq, made(m, 0)},
                                                 {b.dk, made(m, 1)},
                                                 {b.dv, made(m, 2)}};
    if (shape_.has_mask) places.push_back({b.s->mask, given(m.mask)});
    b.graph.run(places, room(m, work_room_));
  }

 private:
  /// The interface knows no constant data.
  static void* given(const void* data) { return const_cast<void*>(data); }
  static void* room(const AttentionMemory& m, std::int64_t at) {
    return static_cast<char*>(m.scratch) + at;
  }
  void* made(const AttentionMemory& m, std::size_t i) const {
    return shape_.gradients[i] ? m.gradients[i] : room(m, unwanted_rooms_[i]);
  }

  std::string library_;
  AttentionShape shape_;
  std::shared_ptr<ForwardGraph> forward_;
  std::shared_ptr<BackwardGraph> backward_;
  Scratch scratch_;
  std::int64_t work_room_ = 0, dots_room_ = 0, sums_room_ = 0;
  std::array<std::int64_t, 3> unwanted_rooms_{};
};

/// What cuDNN is known not to do, or to do wrongly; empty: it may be asked.
std::string known_refusal(const AttentionShape& s, std::size_t version) {
  if (s.dtype != DType::bf16 && s.dtype != DType::fp16)
    return fmt::format("cuDNN's fused attention has no {}", name_of(s.dtype));
  if (s.width % 8 != 0 || s.value_width % 8 != 0)
    return "cuDNN's fused attention has heads of a multiple of 8 numbers";
  if (s.gradients[3]) return "the gradient of a mask is not asked of cuDNN";
  // Measured on an H200 with cuDNN 9.19: output right, all three gradients off by 0.8, relative.
  // Along the keys it was not tried.
  const bool is_mask_repeated = s.has_mask && ((s.mask_strides[2] == 0 && s.queries > 1) ||
                                               (s.mask_strides[3] == 0 && s.keys > 1));
  if (s.is_training && is_mask_repeated)
    return "cuDNN's gradients are wrong with a mask that is repeated along the queries";
  if (s.is_causal && s.queries != s.keys)
    return "causal attention of as many queries as keys only is asked of cuDNN";
  // NVIDIA's own frontend adds a mask of lengths there; without it the gradients are wrong.
  constexpr std::size_t last_wrong = 91500, whole_keys = 128;
  if (s.is_training && version <= last_wrong && s.keys % whole_keys != 0)
    return fmt::format("cuDNN {} makes gradients only of a multiple of 128 keys",
                       version_text(version));
  return {};
}

}  // namespace

AttentionOrReason cudnn_attention(const TrainingContext& context, const AttentionShape& shape) {
  if (!context.cudnn) return context.no_cudnn;
  std::string reason = known_refusal(shape, context.cudnn->version());
  if (!reason.empty()) return reason;
  try {
    return std::make_unique<FusedAttention>(context, shape);
  } catch (const GraphRefusal& refusal) {
    return refusal.reason;
  }
}

}  // namespace strata::cuda::train
