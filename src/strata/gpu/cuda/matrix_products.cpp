// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/matrix_products.cuh"

#include "strata/base/error.hpp"

#include <fmt/format.h>

namespace strata::cuda {
namespace {

// What the library's documentation recommends for Hopper, and what PyTorch gives it there.
constexpr std::size_t product_workspace_bytes = std::size_t{32} << 20;

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

}  // namespace

std::shared_ptr<const CublasLtFunctions> CublasLtFunctions::load(std::string& problem) {
  auto lt = std::make_shared<CublasLtFunctions>();
  bool is_whole = lt->library.open(fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR));
#define STRATA_LT(member, function) is_whole = is_whole && lt->library.find(lt->member, #function);
#include "strata/gpu/cuda/cublaslt_functions.inc"
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

CublasLtFunctions::~CublasLtFunctions() {
  if (handle != nullptr) destroy(handle);
}

std::string CublasLtFunctions::version_text() const {
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

MatrixProduct::MatrixProduct(std::shared_ptr<const CublasLtFunctions> lt, const ProductShape& shape,
                             const DeviceBuffer& workspace, cudaStream_t stream)
    : lt_(std::move(lt)), shape_(shape), workspace_(workspace), stream_(stream) {
  describe();
  choose();
}

MatrixProduct::~MatrixProduct() {
  for (cublasLtMatrixLayout_t layout : {first_, second_, result_}) {
    if (layout != nullptr) lt_->destroy_layout(layout);
  }
  if (operation_ != nullptr) lt_->destroy_operation(operation_);
}

// The library stores columns first; read so, a matrix of ours is its transpose, and Cᵀ = Bᵀ Aᵀ.
void MatrixProduct::describe() {
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

void MatrixProduct::choose() {
  cublasLtMatmulPreference_t preference = nullptr;
  check_product_call(lt_->create_preference(&preference), "cublasLtMatmulPreferenceCreate");
  const std::size_t most_bytes = workspace_.bytes();
  lt_->set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most_bytes,
                      sizeof most_bytes);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status = lt_->heuristic(lt_->handle, operation_, first_, second_, result_,
                                               result_, preference, 1, &found, &count);
  lt_->destroy_preference(preference);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0 || found.state != CUBLAS_STATUS_SUCCESS) {
    why_not_ =
        fmt::format("cuBLASLt has no product of {} for {} × {} × {} here (status {})",
                    name_of(shape_.dtype), shape_.m, shape_.n, shape_.k, static_cast<int>(status));
    return;
  }
  algorithm_ = found.algo;
  int number = 0;
  std::size_t written = 0;
  lt_->algorithm_attribute(&algorithm_, CUBLASLT_ALGO_CONFIG_ID, &number, sizeof number, &written);
  name_ = fmt::format("{} algorithm {}{}", lt_->version_text(), number,
                      shape_.has_bias ? " with bias" : "");
}

void MatrixProduct::run(const void* a, const void* b, void* c, const void* bias) const {
  const double double_one = 1, double_zero = 0;
  const float float_one = 1, float_zero = 0;
  const bool is_double = shape_.dtype == DType::fp64;
  const void* const one = is_double ? static_cast<const void*>(&double_one) : &float_one;
  const void* const zero = is_double ? static_cast<const void*>(&double_zero) : &float_zero;
  if (shape_.has_bias)
    check_product_call(
        lt_->set_operation(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias),
        "cublasLtMatmulDescSetAttribute");
  check_product_call(
      lt_->matmul(lt_->handle, operation_, one, b, first_, a, second_, zero, c, result_, c, result_,
                  &algorithm_, workspace_.get(), workspace_.bytes(), stream_),
      "cublasLtMatmul");
}

MatrixProducts::MatrixProducts(std::shared_ptr<const CublasLtFunctions> lt, cudaStream_t stream)
    : lt_(std::move(lt)), stream_(stream), workspace_(product_workspace_bytes) {}

std::shared_ptr<const MatrixProduct> MatrixProducts::product_or_nothing(const ProductShape& shape) {
  auto& known = known_[shape];
  if (!known) known = std::make_shared<const MatrixProduct>(lt_, shape, workspace_, stream_);
  return known->why_not().empty() ? known : nullptr;
}

std::shared_ptr<const MatrixProduct> MatrixProducts::product(const ProductShape& shape) {
  if (auto found = product_or_nothing(shape)) return found;
  fail(ErrorKind::environment, "{}", known_[shape]->why_not());
}

}  // namespace strata::cuda
