// SPDX-License-Identifier: Apache-2.0
// Every algorithm that cuDNN names, and its own pick. fp32 is multiplied as fp32 (FMA math), so
// that our strategies and these compute the same.
#include "strata/base/error.hpp"
#include "strata/convolution/cuda/context.cuh"
#include "strata/convolution/cuda/cudnn/graph_strategies.cuh"
#include "strata/gpu/cuda/cudnn/functions.cuh"

#include <fmt/format.h>

#include <array>

namespace strata::cuda {
namespace {

constexpr int none = -1;

/// An algorithm's number in each pass; `none` where the library has no such name.
struct CudnnAlgorithm {
  std::string_view name;
  std::array<int, 3> numbers;  ///< forward, input gradient, weight gradient
};

constexpr std::array<CudnnAlgorithm, 12> cudnn_algorithms = {{
    {"cudnn:implicit_gemm", {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, none, none}},
    {"cudnn:implicit_precomp_gemm", {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, none, none}},
    {"cudnn:gemm", {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, none, none}},
    {"cudnn:direct", {CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, none, none}},
    {"cudnn:algo_0",
     {none, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0}},
    {"cudnn:algo_1",
     {none, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1}},
    {"cudnn:algo_3", {none, none, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3}},
    {"cudnn:fft",
     {CUDNN_CONVOLUTION_FWD_ALGO_FFT, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT,
      CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT}},
    {"cudnn:fft_tiling",
     {CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING,
      CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING}},
    {"cudnn:winograd",
     {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD,
      CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD}},
    {"cudnn:winograd_nonfused",
     {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED,
      CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED,
      CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED}},
    {"cudnn:pick", {none, none, none}},
}};

cudnnDataType_t cudnn_type(DType dtype) {
  if (dtype == DType::fp16) return CUDNN_DATA_HALF;
  if (dtype == DType::bf16) return CUDNN_DATA_BFLOAT16;
  return CUDNN_DATA_FLOAT;
}

using Cudnn = std::shared_ptr<const CudnnFunctions>;

/// A problem in the library's words.
class Described {
 public:
  Described(Cudnn cudnn, const ConvProblem& problem);
  ~Described() {
    cudnn_->destroy_tensor(input_);
    cudnn_->destroy_tensor(output_);
    cudnn_->destroy_filter(weights_);
    cudnn_->destroy_convolution(convolution_);
  }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;

  /// What cuDNN's heuristics would take; `none`: nothing.
  int picked() const;
  cudnnStatus_t workspace(int algorithm, std::size_t& bytes) const;
  cudnnStatus_t run(int algorithm, const ConvTensors& tensors, void* scratch,
                    std::size_t bytes) const;
  const char* text(cudnnStatus_t status) const { return cudnn_->error_text(status); }
  void check(cudnnStatus_t status, const char* call) const { check_cudnn(*cudnn_, status, call); }

 private:
  Cudnn cudnn_;
  ConvPass pass_;
  cudnnTensorDescriptor_t input_ = nullptr, output_ = nullptr;
  cudnnFilterDescriptor_t weights_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
};

Described::Described(Cudnn cudnn, const ConvProblem& problem)
    : cudnn_(std::move(cudnn)), pass_(problem.pass) {
  const ConvView view = forward_view(problem.shape);
  const cudnnDataType_t type = cudnn_type(problem.dtype);
  check(cudnn_->create_tensor(&input_), "cudnnCreateTensorDescriptor");
  check(cudnn_->create_tensor(&output_), "cudnnCreateTensorDescriptor");
  check(cudnn_->create_filter(&weights_), "cudnnCreateFilterDescriptor");
  check(cudnn_->create_convolution(&convolution_), "cudnnCreateConvolutionDescriptor");
  check(cudnn_->set_tensor(input_, CUDNN_TENSOR_NCHW, type, view.batch, view.in_channels,
                           view.in_height, view.in_width),
        "cudnnSetTensor4dDescriptor");
  check(cudnn_->set_tensor(output_, CUDNN_TENSOR_NCHW, type, view.batch, view.out_channels,
                           view.out_height, view.out_width),
        "cudnnSetTensor4dDescriptor");
  check(cudnn_->set_filter(weights_, type, CUDNN_TENSOR_NCHW, view.out_channels,
                           view.in_channels / view.groups, view.kernel_height, view.kernel_width),
        "cudnnSetFilter4dDescriptor");
  check(cudnn_->set_convolution(convolution_, view.pad_height, view.pad_width, view.stride_height,
                                view.stride_width, view.dilation_height, view.dilation_width,
                                CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "cudnnSetConvolution2dDescriptor");
  check(cudnn_->set_groups(convolution_, view.groups), "cudnnSetConvolutionGroupCount");
  check(cudnn_->set_math(convolution_,
                         problem.dtype == DType::fp32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH),
        "cudnnSetConvolutionMathType");
}

template <class Performance>
int first_working(const std::array<Performance, 8>& found, int count) {
  for (int i = 0; i < count; ++i) {
    const Performance& one = found[static_cast<std::size_t>(i)];
    if (one.status == CUDNN_STATUS_SUCCESS) return static_cast<int>(one.algo);
  }
  return none;
}

int Described::picked() const {
  int count = 0;
  if (pass_ == ConvPass::forward) {
    std::array<cudnnConvolutionFwdAlgoPerf_t, 8> found{};
    const cudnnStatus_t status = cudnn_->forward_pick(
        cudnn_->handle, input_, weights_, convolution_, output_, 8, &count, found.data());
    return status == CUDNN_STATUS_SUCCESS ? first_working(found, count) : none;
  }
  if (pass_ == ConvPass::input_gradient) {
    std::array<cudnnConvolutionBwdDataAlgoPerf_t, 8> found{};
    const cudnnStatus_t status = cudnn_->data_pick(cudnn_->handle, weights_, output_, convolution_,
                                                   input_, 8, &count, found.data());
    return status == CUDNN_STATUS_SUCCESS ? first_working(found, count) : none;
  }
  std::array<cudnnConvolutionBwdFilterAlgoPerf_t, 8> found{};
  const cudnnStatus_t status = cudnn_->filter_pick(cudnn_->handle, input_, output_, convolution_,
                                                   weights_, 8, &count, found.data());
  return status == CUDNN_STATUS_SUCCESS ? first_working(found, count) : none;
}

cudnnStatus_t Described::workspace(int algorithm, std::size_t& bytes) const {
  bytes = 0;
  switch (pass_) {
    case ConvPass::forward:
      return cudnn_->forward_bytes(cudnn_->handle, input_, weights_, convolution_, output_,
                                   static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), &bytes);
    case ConvPass::input_gradient:
      return cudnn_->data_bytes(cudnn_->handle, weights_, output_, convolution_, input_,
                                static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm), &bytes);
    case ConvPass::weight_gradient: break;
  }
  return cudnn_->filter_bytes(cudnn_->handle, input_, output_, convolution_, weights_,
                              static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm), &bytes);
}

cudnnStatus_t Described::run(int algorithm, const ConvTensors& tensors, void* scratch,
                             std::size_t bytes) const {
  const float one = 1, zero = 0;
  switch (pass_) {
    case ConvPass::forward:
      return cudnn_->forward(cudnn_->handle, &one, input_, tensors.input, weights_, tensors.weights,
                             convolution_, static_cast<cudnnConvolutionFwdAlgo_t>(algorithm),
                             scratch, bytes, &zero, output_, tensors.output);
    case ConvPass::input_gradient:
      return cudnn_->data(cudnn_->handle, &one, weights_, tensors.weights, output_, tensors.output,
                          convolution_, static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm),
                          scratch, bytes, &zero, input_, tensors.input);
    case ConvPass::weight_gradient: break;
  }
  return cudnn_->filter(cudnn_->handle, &one, input_, tensors.input, output_, tensors.output,
                        convolution_, static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm),
                        scratch, bytes, &zero, weights_, tensors.weights);
}

class PreparedCudnn final : public PreparedConvolution {
 public:
  PreparedCudnn(std::unique_ptr<Described> described, int algorithm)
      : described_(std::move(described)), algorithm_(algorithm) {
    described_->check(described_->workspace(algorithm_, bytes_), "the workspace's size");
    scratch_ = device_memory(static_cast<std::int64_t>(bytes_));
  }
  std::int64_t scratch_bytes() const override { return static_cast<std::int64_t>(bytes_); }
  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    marks.begin(KernelRole::other);
    described_->check(described_->run(algorithm_, tensors, scratch_.get(), bytes_),
                      "cudnnConvolution");
  }

 private:
  std::unique_ptr<Described> described_;
  int algorithm_;
  std::size_t bytes_ = 0;
  std::shared_ptr<void> scratch_;
};

class CudnnStrategy final : public ConvStrategy {
 public:
  CudnnStrategy(Cudnn cudnn, const CudnnAlgorithm& algorithm)
      : cudnn_(std::move(cudnn)), algorithm_(algorithm) {}
  std::string_view name() const override { return algorithm_.name; }
  bool is_vendor() const override { return true; }

  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (problem.dtype != DType::fp16 && problem.dtype != DType::bf16) {
      if (auto reason = common_refusal(problem)) return reason;
    }
    const Described described(cudnn_, problem);
    const int number = number_of(described, problem);
    if (number == none && is_pick()) return "cuDNN picks none";
    if (number == none) return "cuDNN has no algorithm of this name for this pass";
    std::size_t bytes = 0;
    const cudnnStatus_t status = described.workspace(number, bytes);
    if (status == CUDNN_STATUS_SUCCESS) return std::nullopt;
    return fmt::format("cuDNN: {}", described.text(status));
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    const Described described(cudnn_, problem);
    std::size_t bytes = 0;
    described.check(described.workspace(number_of(described, problem), bytes),
                    "the workspace's size");
    return static_cast<std::int64_t>(bytes);
  }
  std::optional<std::int64_t> flop(const ConvProblem&) const override { return std::nullopt; }
  double tolerance(const ConvProblem& problem) const override {
    if (problem.dtype != DType::fp32) return 2e-2;
    // The library's Winograd loses digits with 5×5 windows.
    const bool may_be_winograd =
        is_pick() || algorithm_.name.find("winograd") != std::string_view::npos;
    return may_be_winograd ? 1e-2 : 2e-5 + rounding_tolerance(problem, 8);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    auto described = std::make_unique<Described>(cudnn_, problem);
    const int number = number_of(*described, problem);
    return std::make_unique<PreparedCudnn>(std::move(described), number);
  }

 private:
  bool is_pick() const { return algorithm_.name == "cudnn:pick"; }
  int number_of(const Described& described, const ConvProblem& problem) const {
    return is_pick() ? described.picked()
                     : algorithm_.numbers[static_cast<std::size_t>(problem.pass)];
  }
  Cudnn cudnn_;
  CudnnAlgorithm algorithm_;
};

/// Says why there is none.
class NoCudnnHere final : public ConvStrategy {
 public:
  explicit NoCudnnHere(std::string reason) : reason_(std::move(reason)) {}
  std::string_view name() const override { return "cudnn"; }
  bool is_vendor() const override { return true; }
  std::optional<std::string> refusal(const ConvProblem&) const override { return reason_; }
  std::int64_t scratch_bytes(const ConvProblem&) const override { return 0; }
  std::optional<std::int64_t> flop(const ConvProblem&) const override { return std::nullopt; }
  double tolerance(const ConvProblem&) const override { return 0; }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem&) const override {
    fail(ErrorKind::environment, "{}", reason_);
  }

 private:
  std::string reason_;
};

}  // namespace

std::string cudnn_version() {
  LoadedLibrary library;
  decltype(&cudnnGetVersion) version = nullptr;
  if (!library.open(fmt::format("libcudnn.so.{}", CUDNN_MAJOR)) ||
      !library.find(version, "cudnnGetVersion"))
    return "";
  return version_text(version());
}

void add_cudnn(StrategyList& list, const SharedContext& context) {
  std::string problem;
  const Cudnn cudnn = CudnnFunctions::load(context->stream.get(), problem);
  if (!cudnn) {
    list.push_back(std::make_unique<NoCudnnHere>("no cuDNN: " + problem));
    return;
  }
  for (const CudnnAlgorithm& algorithm : cudnn_algorithms)
    list.push_back(std::make_unique<CudnnStrategy>(cudnn, algorithm));
  add_cudnn_graph(list, context);
}

}  // namespace strata::cuda
