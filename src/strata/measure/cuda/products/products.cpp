// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/products/products.cuh"

#include "strata/base/error.hpp"
#include "strata/convolution/cuda/context.cuh"
#include "strata/gpu/cuda/api.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace strata::cuda::train {
namespace {

// What the library's own documentation asks for on Hopper.
constexpr std::size_t product_workspace = std::size_t{32} << 20;
constexpr int most_algorithms = 8;

void check_product_call(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(ErrorKind::environment, "{}: cuBLASLt status {}", call, static_cast<int>(status));
}

struct ProductTypes {
  cudaDataType_t data, scale;
  cublasComputeType_t compute;
};

ProductTypes product_types(DType dtype) {
  switch (dtype) {
    case DType::fp64: return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::tf32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case DType::fp16: return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::bf16: return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    default: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  }
}

std::int64_t stored_numbers(std::int64_t rows, std::int64_t row, std::int64_t columns,
                            std::int64_t batch, std::int64_t matrix) {
  return (batch - 1) * matrix + (rows - 1) * row + columns;
}

}  // namespace

std::shared_ptr<const LtFunctions> LtFunctions::load(std::string& problem) {
  auto lt = std::make_shared<LtFunctions>();
  bool is_whole = lt->library.open(fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR));
#define STRATA_LT(member, function) is_whole = is_whole && lt->library.find(lt->member, #function);
#include "strata/measure/cuda/products/lt_functions.inc"
#undef STRATA_LT
  if (!is_whole) {
    problem = lt->library.problem;
    return nullptr;
  }
  if (const cublasStatus_t status = lt->create(&lt->handle); status != CUBLAS_STATUS_SUCCESS) {
    problem = fmt::format("cublasLtCreate: status {}", static_cast<int>(status));
    return nullptr;
  }
  return lt;
}

LtFunctions::~LtFunctions() {
  if (handle != nullptr) destroy(handle);
}

std::string LtFunctions::version_text() const {
  const std::size_t number = version();
  return fmt::format("cuBLASLt {}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

ProductShape product_of(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                        bool is_a_transposed, bool is_b_transposed) {
  ProductShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.is_a_transposed = is_a_transposed;
  shape.is_b_transposed = is_b_transposed;
  shape.a_row = is_a_transposed ? m : k;
  shape.b_row = is_b_transposed ? k : n;
  shape.c_row = n;
  shape.dtype = dtype;
  return shape;
}

TunedProduct::TunedProduct(std::shared_ptr<const LtFunctions> lt, const ProductShape& shape,
                           void* workspace, std::size_t workspace_bytes, cudaStream_t stream)
    : lt_(std::move(lt)),
      shape_(shape),
      workspace_(workspace),
      workspace_bytes_(workspace_bytes),
      stream_(stream) {
  describe();
  choose();
}

TunedProduct::~TunedProduct() {
  for (cublasLtMatrixLayout_t layout : {first_, second_, result_}) {
    if (layout != nullptr) lt_->destroy_layout(layout);
  }
  if (operation_ != nullptr) lt_->destroy_operation(operation_);
}

// The library counts columns first; read so, a matrix of ours is its transpose, and Cᵀ = Bᵀ Aᵀ.
void TunedProduct::describe() {
  const ProductTypes types = product_types(shape_.dtype);
  check_product_call(lt_->create_operation(&operation_, types.compute, types.scale),
                     "cublasLtMatmulDescCreate");
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto what) {
    check_product_call(lt_->set_operation(operation_, attribute, &what, sizeof what),
                       "cublasLtMatmulDescSetAttribute");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, shape_.is_b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, shape_.is_a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (shape_.has_bias) set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  const auto layout = [&](cublasLtMatrixLayout_t& made, std::int64_t rows, std::int64_t columns,
                          std::int64_t row, std::int64_t matrix) {
    check_product_call(lt_->create_layout(&made, types.data, static_cast<std::uint64_t>(columns),
                                          static_cast<std::uint64_t>(rows), row),
                       "cublasLtMatrixLayoutCreate");
    if (shape_.batch == 1) return;
    const auto batch = static_cast<std::int32_t>(shape_.batch);
    check_product_call(
        lt_->set_layout(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch),
        "cublasLtMatrixLayoutSetAttribute");
    check_product_call(
        lt_->set_layout(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix, sizeof matrix),
        "cublasLtMatrixLayoutSetAttribute");
  };
  const ProductShape& s = shape_;
  layout(first_, s.is_b_transposed ? s.n : s.k, s.is_b_transposed ? s.k : s.n, s.b_row, s.b_matrix);
  layout(second_, s.is_a_transposed ? s.k : s.m, s.is_a_transposed ? s.m : s.k, s.a_row,
         s.a_matrix);
  layout(result_, s.m, s.n, s.c_row, s.c_matrix);
}

// The library's order of preference is a guess; up to 12 % separate it from the fastest on H200.
void TunedProduct::choose() {
  cublasLtMatmulPreference_t preference = nullptr;
  check_product_call(lt_->create_preference(&preference), "cublasLtMatmulPreferenceCreate");
  lt_->set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes_,
                      sizeof workspace_bytes_);
  std::vector<cublasLtMatmulHeuristicResult_t> found(most_algorithms);
  int count = 0;
  const cublasStatus_t status =
      lt_->heuristic(lt_->handle, operation_, first_, second_, result_, result_, preference,
                     most_algorithms, found.data(), &count);
  lt_->destroy_preference(preference);
  found.resize(static_cast<std::size_t>(std::max(count, 0)));
  std::erase_if(found, [](const auto& one) { return one.state != CUBLAS_STATUS_SUCCESS; });
  if (found.empty()) {
    why_not_ =
        fmt::format("cuBLASLt has no product of {} for {} × {} × {} here (status {})",
                    name_of(shape_.dtype), shape_.m, shape_.n, shape_.k, static_cast<int>(status));
    return;
  }
  const ProductShape& s = shape_;
  const std::int64_t bytes = bytes_per_element(s.dtype);
  const auto numbers = [&](std::int64_t rows, std::int64_t columns, std::int64_t row,
                           std::int64_t matrix) {
    return bytes * stored_numbers(rows, row, columns, s.batch, matrix);
  };
  const auto a = device_memory(
      numbers(s.is_a_transposed ? s.k : s.m, s.is_a_transposed ? s.m : s.k, s.a_row, s.a_matrix));
  const auto b = device_memory(
      numbers(s.is_b_transposed ? s.n : s.k, s.is_b_transposed ? s.k : s.n, s.b_row, s.b_matrix));
  const auto c = device_memory(numbers(s.m, s.n, s.c_row, s.c_matrix));
  const auto bias = device_memory(bytes * s.n);
  double best = 0;
  for (const cublasLtMatmulHeuristicResult_t& one : found) {
    double seconds = 0;
    bool works = true;
    for (int i = 0; i < 4 && works; ++i) {
      const Event start, end;
      start.record(stream_);
      works = multiply(one, a.get(), b.get(), c.get(), bias.get()) == CUBLAS_STATUS_SUCCESS;
      end.record(stream_);
      const double sample = end.seconds_since(start);
      seconds = i <= 1 ? sample : std::min(seconds, sample);  // the first is for warming up
    }
    if (!works || (best > 0 && seconds >= best)) continue;
    best = seconds;
    chosen_ = one;
  }
  if (best == 0) {
    why_not_ = "no algorithm of cuBLASLt for this product runs";
    return;
  }
  int number = 0, tile = 0;
  std::size_t written = 0;
  lt_->algorithm_attribute(&chosen_.algo, CUBLASLT_ALGO_CONFIG_ID, &number, sizeof number,
                           &written);
  lt_->algorithm_attribute(&chosen_.algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile,
                           &written);
  name_ =
      fmt::format("cuBLASLt algorithm {} tile {}{}", number, tile, s.has_bias ? " with bias" : "");
}

cublasStatus_t TunedProduct::multiply(const cublasLtMatmulHeuristicResult_t& algorithm,
                                      const void* a, const void* b, void* c,
                                      const void* bias) const {
  const double double_one = 1, double_beta = shape_.adds ? 1 : 0;
  const auto float_one = static_cast<float>(double_one);
  const auto float_beta = static_cast<float>(double_beta);
  const bool is_double = shape_.dtype == DType::fp64;
  const void* const one = is_double ? static_cast<const void*>(&double_one) : &float_one;
  const void* const beta = is_double ? static_cast<const void*>(&double_beta) : &float_beta;
  if (shape_.has_bias)
    lt_->set_operation(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
  return lt_->matmul(lt_->handle, operation_, one, b, first_, a, second_, beta, c, result_, c,
                     result_, &algorithm.algo, workspace_, workspace_bytes_, stream_);
}

void TunedProduct::run(const void* a, const void* b, void* c, const void* bias) const {
  check_product_call(multiply(chosen_, a, b, c, bias), "cublasLtMatmul");
}

Products::Products(std::shared_ptr<const LtFunctions> lt, cudaStream_t stream)
    : lt_(std::move(lt)),
      stream_(stream),
      workspace_(device_memory(static_cast<std::int64_t>(product_workspace))) {}

std::shared_ptr<const TunedProduct> Products::product_or_nothing(const ProductShape& shape) {
  auto& known = known_[shape];
  if (!known)
    known = std::make_shared<const TunedProduct>(lt_, shape, workspace_.get(), product_workspace,
                                                 stream_);
  return known->why_not().empty() ? known : nullptr;
}

std::shared_ptr<const TunedProduct> Products::product(const ProductShape& shape) {
  if (auto found = product_or_nothing(shape)) return found;
  fail(ErrorKind::environment, "{}", known_[shape]->why_not());
}

}  // namespace strata::cuda::train
