// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/gpu/cuda/cudnn/tensor_descriptor.cuh"
#include "strata/measure/cuda/cudnn/rnn.cuh"

#include <algorithm>
#include <array>
#include <tuple>

namespace strata::cuda::train {
namespace {

cudnnRNNMode_t rnn_mode(CellKind cell) {
  switch (cell) {
    case CellKind::lstm: return CUDNN_LSTM;
    case CellKind::gru: return CUDNN_GRU;
    case CellKind::rnn_relu: return CUDNN_RNN_RELU;
    case CellKind::rnn_tanh: break;
  }
  return CUDNN_RNN_TANH;
}

cudnnRNNBiasMode_t rnn_biases(std::int64_t biases) {
  return biases == 0   ? CUDNN_RNN_NO_BIAS
         : biases == 1 ? CUDNN_RNN_SINGLE_INP_BIAS
                       : CUDNN_RNN_DOUBLE_BIAS;
}

// fp32 is multiplied as fp32: left to itself the library would round it to TF32.
cudnnMathType_t rnn_math(DType dtype) {
  switch (dtype) {
    case DType::fp32: return CUDNN_FMA_MATH;
    case DType::bf16:
    case DType::fp16: return CUDNN_TENSOR_OP_MATH;
    default: return CUDNN_DEFAULT_MATH;
  }
}

int as_int(std::int64_t value) { return static_cast<int>(value); }

/// Pieces that follow each other in both places become one copy; in order of the tensors.
std::vector<WeightPiece> joined_pieces(std::vector<WeightPiece> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const WeightPiece& a, const WeightPiece& b) {
    return std::tie(a.tensor, a.at_byte) < std::tie(b.tensor, b.at_byte);
  });
  std::vector<WeightPiece> joined;
  for (const WeightPiece& piece : pieces) {
    const bool follows = !joined.empty() && joined.back().tensor == piece.tensor &&
                         joined.back().at_byte + joined.back().bytes == piece.at_byte &&
                         joined.back().space_byte + joined.back().bytes == piece.space_byte;
    if (follows) {
      joined.back().bytes += piece.bytes;
    } else {
      joined.push_back(piece);
    }
  }
  return joined;
}

}  // namespace

RnnPlan::RnnPlan(Cudnn cudnn, const RnnShape& shape) : cudnn_(std::move(cudnn)), shape_(shape) {
  try {
    describe();
    find_weights();
  } catch (...) {
    release();
    throw;
  }
}

RnnPlan::~RnnPlan() { release(); }

void RnnPlan::release() {
  for (cudnnTensorDescriptor_t tensor : {h, c, matrix_, bias_}) {
    if (tensor != nullptr) cudnn_->destroy_tensor(tensor);
  }
  for (cudnnRNNDataDescriptor_t data : {x, y}) {
    if (data != nullptr) cudnn_->destroy_rnn_data(data);
  }
  if (layer != nullptr) cudnn_->destroy_rnn(layer);
  if (dropout_ != nullptr) cudnn_->destroy_dropout(dropout_);
}

void RnnPlan::check(cudnnStatus_t status, const char* call) const {
  refuse_unless(*cudnn_, status, call);
}

void RnnPlan::describe() {
  const RnnShape& s = shape_;
  const cudnnDataType_t type = graph_type(s.dtype);
  const cudnnDataType_t sums = s.dtype == DType::fp64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  for (cudnnTensorDescriptor_t* tensor : {&h, &c, &matrix_, &bias_})
    check(cudnn_->create_tensor(tensor), "cudnnCreateTensorDescriptor");
  check(cudnn_->create_dropout(&dropout_), "cudnnCreateDropoutDescriptor");
  check(cudnn_->set_dropout(dropout_, handle(), 0, nullptr, 0, 0), "cudnnSetDropoutDescriptor");
  check(cudnn_->create_rnn(&layer), "cudnnCreateRNNDescriptor");
  check(cudnn_->set_rnn(
            layer, CUDNN_RNN_ALGO_STANDARD, rnn_mode(s.op.cell), rnn_biases(s.op.biases),
            s.op.bidirectional ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT,
            type, sums, rnn_math(s.dtype), as_int(s.features), as_int(s.op.hidden),
            as_int(s.width()), as_int(s.op.layers), dropout_, CUDNN_RNN_PADDED_IO_ENABLED),
        "cudnnSetRNNDescriptor");
  // All sequences are of full length, and lie as ours do: [batch, times, …].
  const std::vector<int> lengths(static_cast<std::size_t>(s.batch), as_int(s.times));
  const auto describe_data = [&](cudnnRNNDataDescriptor_t& data, std::int64_t width) {
    check(cudnn_->create_rnn_data(&data), "cudnnCreateRNNDataDescriptor");
    check(cudnn_->set_rnn_data(data, type, CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED,
                               as_int(s.times), as_int(s.batch), as_int(width), lengths.data(),
                               nullptr),
          "cudnnSetRNNDataDescriptor");
  };
  describe_data(x, s.features);
  describe_data(y, s.directions() * s.width());
  const auto describe_states = [&](cudnnTensorDescriptor_t states, std::int64_t width) {
    const std::array<int, 3> extents = {as_int(s.op.layers * s.directions()), as_int(s.batch),
                                        as_int(width)};
    const std::array<int, 3> strides = {extents[1] * extents[2], extents[2], 1};
    check(cudnn_->set_tensor_nd(states, type, 3, extents.data(), strides.data()),
          "cudnnSetTensorNdDescriptor");
  };
  describe_states(h, s.width());
  describe_states(c, s.op.hidden);
  check(cudnn_->rnn_space_sizes(handle(), layer, mode(), x, &work_bytes, &reserve_bytes),
        "cudnnGetRNNTempSpaceSizes");
  check(cudnn_->rnn_weight_bytes(handle(), layer, &weight_bytes), "cudnnGetRNNWeightSpaceSize");
}

void RnnPlan::find_weights() {
  // The library tells addresses, not offsets, and wants a real one to count from.
  const DeviceBuffer space(std::max<std::size_t>(weight_bytes, 1));
  for (std::int64_t cell = 0; cell < shape_.op.layers * shape_.directions(); ++cell) {
    for (std::int64_t which = 0; which < 2; ++which) {
      for (std::int64_t gate = 0; gate < shape_.gates(); ++gate)
        find_weight(cell, which, gate, space.get());
    }
    if (shape_.op.projection > 0) find_weight(cell, 2, 0, space.get());
  }
  pieces = joined_pieces(std::move(pieces));
}

// `which`: 0 meets the input, 1 the state, 2 projects. Gates are in our order: i f g o and r z n.
void RnnPlan::find_weight(std::int64_t cell, std::int64_t which, std::int64_t gate, void* space) {
  const RnnShape& s = shape_;
  void* matrix = nullptr;
  void* bias = nullptr;
  check(cudnn_->rnn_weight_place(handle(), layer, as_int(cell), weight_bytes, space,
                                 as_int(which * s.gates() + gate), matrix_, &matrix, bias_, &bias),
        "cudnnGetRNNWeightParams");
  const auto elements = [&](cudnnTensorDescriptor_t tensor) {
    std::array<int, 3> extents{}, strides{};
    cudnnDataType_t type{};
    int axes = 0;
    check(cudnn_->get_tensor_nd(tensor, 3, &type, &axes, extents.data(), strides.data()),
          "cudnnGetTensorNdDescriptor");
    std::int64_t count = axes == 0 ? 0 : 1;
    for (int axis = 0; axis < axes; ++axis) count *= extents[static_cast<std::size_t>(axis)];
    return count;
  };
  const auto add = [&](const void* address, std::int64_t tensor, std::int64_t first,
                       std::int64_t count) {
    const std::int64_t bytes = bytes_per_element(s.dtype);
    pieces.push_back({static_cast<std::size_t>(cell * s.own_tensors() + tensor), first * bytes,
                      static_cast<const char*>(address) - static_cast<char*>(space),
                      count * bytes});
  };
  const std::int64_t rows = which == 2 ? s.op.projection : s.op.hidden;
  const std::int64_t columns = which == 0   ? s.inputs_of(cell / s.directions())
                               : which == 1 ? s.width()
                                            : s.op.hidden;
  const bool has_bias = which < s.op.biases && which < 2;
  if (matrix == nullptr || elements(matrix_) != rows * columns)
    throw GraphRefusal{"its weights are not what ours are"};
  if ((bias != nullptr && elements(bias_) > 0) != has_bias)
    throw GraphRefusal{"its biases are not what ours are"};
  add(matrix, which == 2 ? 2 + s.op.biases : which, gate * rows * columns, rows * columns);
  if (has_bias) add(bias, 2 + which, gate * rows, rows);
}

}  // namespace strata::cuda::train
