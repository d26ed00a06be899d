// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/cudnn/sources.cuh"

#include <array>
#include <string_view>

namespace strata::cuda::train {
namespace {

/// A request in the words of the older interface: two spatial axes, equal padding at both ends.
class NamedProblem {
 public:
  NamedProblem(Cudnn cudnn, const ConvRequest& request);
  ~NamedProblem() {
    cudnn_->destroy_tensor(input_);
    cudnn_->destroy_tensor(output_);
    cudnn_->destroy_filter(weights_);
    cudnn_->destroy_convolution(convolution_);
  }
  NamedProblem(const NamedProblem&) = delete;
  NamedProblem& operator=(const NamedProblem&) = delete;

  bool workspace(int algorithm, std::size_t& bytes) const;
  bool run(int algorithm, const ConvTensors& tensors, void* scratch, std::size_t bytes) const;

 private:
  void check(cudnnStatus_t status, const char* call) const { check_cudnn(*cudnn_, status, call); }
  Cudnn cudnn_;
  ConvRequest request_;
  cudnnTensorDescriptor_t input_ = nullptr, output_ = nullptr;
  cudnnFilterDescriptor_t weights_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
};

NamedProblem::NamedProblem(Cudnn cudnn, const ConvRequest& r)
    : cudnn_(std::move(cudnn)), request_(r) {
  const cudnnDataType_t type = graph_type(r.dtype);
  const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
  check(cudnn_->create_tensor(&input_), "cudnnCreateTensorDescriptor");
  check(cudnn_->create_tensor(&output_), "cudnnCreateTensorDescriptor");
  check(cudnn_->create_filter(&weights_), "cudnnCreateFilterDescriptor");
  check(cudnn_->create_convolution(&convolution_), "cudnnCreateConvolutionDescriptor");
  check(cudnn_->set_tensor(input_, CUDNN_TENSOR_NCHW, type, narrow(r.batch), narrow(r.channels),
                           r.in[1], r.in[2]),
        "cudnnSetTensor4dDescriptor");
  check(cudnn_->set_tensor(output_, CUDNN_TENSOR_NCHW, type, narrow(r.batch), narrow(r.filters),
                           r.out[1], r.out[2]),
        "cudnnSetTensor4dDescriptor");
  check(cudnn_->set_filter(weights_, type, CUDNN_TENSOR_NCHW, narrow(r.filters),
                           narrow(r.channels / r.groups), r.kernel[1], r.kernel[2]),
        "cudnnSetFilter4dDescriptor");
  check(cudnn_->set_convolution(convolution_, r.pad_begin[1], r.pad_begin[2], r.stride[1],
                                r.stride[2], r.dilation[1], r.dilation[2], CUDNN_CROSS_CORRELATION,
                                r.dtype == DType::fp64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT),
        "cudnnSetConvolution2dDescriptor");
  check(cudnn_->set_groups(convolution_, narrow(r.groups)), "cudnnSetConvolutionGroupCount");
  const bool is_exact = r.dtype == DType::fp32 || r.dtype == DType::fp64;
  const cudnnMathType_t math = is_exact                 ? CUDNN_FMA_MATH
                               : r.dtype == DType::tf32 ? CUDNN_DEFAULT_MATH
                                                        : CUDNN_TENSOR_OP_MATH;
  check(cudnn_->set_math(convolution_, math), "cudnnSetConvolutionMathType");
}

bool NamedProblem::workspace(int algorithm, std::size_t& bytes) const {
  bytes = 0;
  switch (request_.pass) {
    case RequestPass::forward:
      return cudnn_->forward_bytes(cudnn_->handle, input_, weights_, convolution_, output_,
                                   static_cast<cudnnConvolutionFwdAlgo_t>(algorithm),
                                   &bytes) == CUDNN_STATUS_SUCCESS;
    case RequestPass::input_gradient:
      return cudnn_->data_bytes(cudnn_->handle, weights_, output_, convolution_, input_,
                                static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm),
                                &bytes) == CUDNN_STATUS_SUCCESS;
    case RequestPass::weight_gradient: break;
  }
  return cudnn_->filter_bytes(cudnn_->handle, input_, output_, convolution_, weights_,
                              static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm),
                              &bytes) == CUDNN_STATUS_SUCCESS;
}

bool NamedProblem::run(int algorithm, const ConvTensors& tensors, void* scratch,
                       std::size_t bytes) const {
  const float float_one = 1, float_zero = 0;
  const double double_one = 1, double_zero = 0;
  const bool is_double = request_.dtype == DType::fp64;
  const void* const one = is_double ? static_cast<const void*>(&double_one) : &float_one;
  const void* const zero = is_double ? static_cast<const void*>(&double_zero) : &float_zero;
  switch (request_.pass) {
    case RequestPass::forward:
      return cudnn_->forward(cudnn_->handle, one, input_, tensors.input, weights_, tensors.weights,
                             convolution_, static_cast<cudnnConvolutionFwdAlgo_t>(algorithm),
                             scratch, bytes, zero, output_, tensors.output) == CUDNN_STATUS_SUCCESS;
    case RequestPass::input_gradient:
      return cudnn_->data(cudnn_->handle, one, weights_, tensors.weights, output_, tensors.output,
                          convolution_, static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm),
                          scratch, bytes, zero, input_, tensors.input) == CUDNN_STATUS_SUCCESS;
    case RequestPass::weight_gradient: break;
  }
  return cudnn_->filter(cudnn_->handle, one, input_, tensors.input, output_, tensors.output,
                        convolution_, static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm),
                        scratch, bytes, zero, weights_, tensors.weights) == CUDNN_STATUS_SUCCESS;
}

class NamedRunner final : public ConvRunner {
 public:
  NamedRunner(std::shared_ptr<NamedProblem> problem, std::string_view name, int algorithm,
              std::size_t bytes)
      : problem_(std::move(problem)), name_(name), algorithm_(algorithm), bytes_(bytes) {}
  std::string name() const override { return name_; }
  std::int64_t scratch_bytes() const override { return static_cast<std::int64_t>(bytes_); }
  bool run(const ConvTensors& tensors, void* scratch) override {
    return problem_->run(algorithm_, tensors, scratch, bytes_);
  }

 private:
  std::shared_ptr<NamedProblem> problem_;
  std::string name_;
  int algorithm_;
  std::size_t bytes_;
};

struct NamedAlgorithm {
  std::string_view name;
  int number;
};

// Those that cuDNN 9 never computes (direct, fused Winograd, tiled FFT of the weights) are not
// asked for.
constexpr std::array<NamedAlgorithm, 6> forward_algorithms = {{
    {"cudnn:implicit_precomp_gemm", CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM},
    {"cudnn:implicit_gemm", CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM},
    {"cudnn:gemm", CUDNN_CONVOLUTION_FWD_ALGO_GEMM},
    {"cudnn:fft", CUDNN_CONVOLUTION_FWD_ALGO_FFT},
    {"cudnn:fft_tiling", CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING},
    {"cudnn:winograd_nonfused", CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED},
}};
constexpr std::array<NamedAlgorithm, 5> input_algorithms = {{
    {"cudnn:algo_0", CUDNN_CONVOLUTION_BWD_DATA_ALGO_0},
    {"cudnn:algo_1", CUDNN_CONVOLUTION_BWD_DATA_ALGO_1},
    {"cudnn:fft", CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT},
    {"cudnn:fft_tiling", CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING},
    {"cudnn:winograd_nonfused", CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED},
}};
constexpr std::array<NamedAlgorithm, 5> weight_algorithms = {{
    {"cudnn:algo_0", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0},
    {"cudnn:algo_1", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1},
    {"cudnn:algo_3", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3},
    {"cudnn:fft", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT},
    {"cudnn:winograd_nonfused", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED},
}};

std::span<const NamedAlgorithm> algorithms_of(RequestPass pass) {
  switch (pass) {
    case RequestPass::forward: return forward_algorithms;
    case RequestPass::input_gradient: return input_algorithms;
    case RequestPass::weight_gradient: break;
  }
  return weight_algorithms;
}

bool has_equal_padding(const ConvRequest& r) {
  for (const std::size_t axis : {1, 2}) {
    const int reach = (r.kernel[axis] - 1) * r.dilation[axis] + 1;
    const int room = r.in[axis] + 2 * r.pad_begin[axis] - reach;
    if (room < 0 || room / r.stride[axis] + 1 != r.out[axis]) return false;
  }
  return true;
}

}  // namespace

void add_named_algorithms(ConvRunners& list, const Cudnn& cudnn, const ConvRequest& request,
                          const ConvLimits& limits) {
  if (!request.is_flat() || !has_equal_padding(request)) return;
  const auto problem = std::make_shared<NamedProblem>(cudnn, request);
  for (const NamedAlgorithm& algorithm : algorithms_of(request.pass)) {
    if (!limits.admits(algorithm.name)) continue;
    const bool is_winograd = algorithm.name.find("winograd") != std::string_view::npos;
    if (is_winograd && loses_digits_with_winograd(request)) continue;
    std::size_t bytes = 0;
    if (!problem->workspace(algorithm.number, bytes)) continue;
    if (static_cast<std::int64_t>(bytes) > limits.most_scratch) continue;
    list.push_back(std::make_unique<NamedRunner>(problem, algorithm.name, algorithm.number, bytes));
  }
}

}  // namespace strata::cuda::train
