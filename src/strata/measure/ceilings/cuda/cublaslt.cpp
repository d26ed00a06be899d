// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cuda/cublaslt.cuh"

#include "strata/base/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <string_view>

namespace strata::cuda {

// The few functions that a product needs, by the types of the library's own header.
struct CublasLt::Functions {
  void* library = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;

  template <class Function>
  bool find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }
  bool find_all() {
    return find(create, "cublasLtCreate") && find(destroy, "cublasLtDestroy") &&
           find(version, "cublasLtGetVersion") && find(matmul, "cublasLtMatmul") &&
           find(heuristic, "cublasLtMatmulAlgoGetHeuristic") &&
           find(desc_create, "cublasLtMatmulDescCreate") &&
           find(desc_destroy, "cublasLtMatmulDescDestroy") &&
           find(desc_set, "cublasLtMatmulDescSetAttribute") &&
           find(layout_create, "cublasLtMatrixLayoutCreate") &&
           find(layout_destroy, "cublasLtMatrixLayoutDestroy") &&
           find(preference_create, "cublasLtMatmulPreferenceCreate") &&
           find(preference_destroy, "cublasLtMatmulPreferenceDestroy") &&
           find(preference_set, "cublasLtMatmulPreferenceSetAttribute");
  }
};

namespace {

void check_lt(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(ErrorKind::environment, "{}: cuBLASLt status {}", call, static_cast<int>(status));
}

/// How the library calls a type, and what it computes and scales in.
struct LtTypes {
  cudaDataType_t in, out, scale;
  cublasComputeType_t compute;
};

LtTypes types_of(DType dtype) {
  switch (dtype) {
    case DType::fp64: return {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::tf32: return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case DType::fp16: return {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::bf16: return {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::fp8: return {CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::int8: return {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I};
    default: fail(ErrorKind::internal, "{} has no matrix product", name_of(dtype));
  }
}

void* open_library() {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  // Where the loader looks, and else where the toolkit of the build is.
  for (const std::string& path : {name, fmt::format("{}/{}", STRATA_CUDA_LIBRARY_DIR, name)}) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<CublasLt> CublasLt::load(std::string& problem) {
  std::unique_ptr<CublasLt> lt(new CublasLt);
  lt->functions_ = std::make_unique<Functions>();
  lt->functions_->library = open_library();
  if (lt->functions_->library == nullptr || !lt->functions_->find_all()) {
    problem = fmt::format(
        "libcublasLt.so.{} cannot be loaded (put the toolkit's library folder "
        "into LD_LIBRARY_PATH)",
        CUBLAS_VER_MAJOR);
    return nullptr;
  }
  const cublasStatus_t status = lt->functions_->create(&lt->handle_);
  if (status != CUBLAS_STATUS_SUCCESS) {
    problem = fmt::format("cuBLASLt does not start (status {})", static_cast<int>(status));
    return nullptr;
  }
  return lt;
}

CublasLt::~CublasLt() {
  // The library stays loaded: its threads and its static objects do not survive an unloading.
  if (handle_ != nullptr) functions_->destroy(handle_);
}

std::string CublasLt::version() const {
  const std::size_t version = functions_->version();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

LtProduct::LtProduct(const CublasLt& library, const Product& product, const float* scale,
                     std::size_t workspace_bytes, int most_algorithms)
    : library_(library), product_(product) {
  const CublasLt::Functions& call = library.call();
  const LtTypes types = types_of(product.dtype);
  const auto m = static_cast<std::uint64_t>(product.m);
  const auto n = static_cast<std::uint64_t>(product.n);
  const auto k = static_cast<std::uint64_t>(product.k);
  check_lt(call.desc_create(&operation_, types.compute, types.scale), "cublasLtMatmulDescCreate");
  // Aᵀ B is the one layout in which fp8 and int8 exist; for the others it is as good as any.
  const cublasOperation_t transposed = CUBLAS_OP_T;
  check_lt(call.desc_set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
           "cublasLtMatmulDescSetAttribute");
  check_lt(call.layout_create(&a_, types.in, k, m, product.k), "cublasLtMatrixLayoutCreate");
  check_lt(call.layout_create(&b_, types.in, k, n, product.k), "cublasLtMatrixLayoutCreate");
  check_lt(call.layout_create(&d_, types.out, m, n, product.m), "cublasLtMatrixLayoutCreate");
  if (product.dtype == DType::fp8) describe_fp8(scale);
  find_algorithms(workspace_bytes, most_algorithms);
}

LtProduct::~LtProduct() {
  const CublasLt::Functions& call = library_.call();
  for (cublasLtMatrixLayout_t layout : {a_, b_, d_}) {
    if (layout != nullptr) call.layout_destroy(layout);
  }
  if (operation_ != nullptr) call.desc_destroy(operation_);
}

void LtProduct::describe_fp8(const float* scale) {
  const CublasLt::Functions& call = library_.call();
  for (const auto side :
       {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER})
    check_lt(call.desc_set(operation_, side, &scale, sizeof scale),
             "cublasLtMatmulDescSetAttribute");
  // Sums stay in the matrix units, with fewer bits, as training frameworks do it.
  const std::int8_t is_fast = 1;
  check_lt(call.desc_set(operation_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &is_fast, sizeof is_fast),
           "cublasLtMatmulDescSetAttribute");
}

void LtProduct::find_algorithms(std::size_t workspace_bytes, int most) {
  const CublasLt::Functions& call = library_.call();
  cublasLtMatmulPreference_t preference = nullptr;
  check_lt(call.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  call.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                      sizeof workspace_bytes);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int count = 0;
  const cublasStatus_t status = call.heuristic(library_.handle(), operation_, a_, b_, d_, d_,
                                               preference, most, results.data(), &count);
  call.preference_destroy(preference);
  for (int i = 0; i < count; ++i) {
    if (results[static_cast<std::size_t>(i)].state == CUBLAS_STATUS_SUCCESS)
      found_.push_back(results[static_cast<std::size_t>(i)]);
  }
  if (found_.empty())
    why_not_ =
        fmt::format("cuBLASLt has no algorithm for it here (status {})", static_cast<int>(status));
}

bool LtProduct::multiply(std::size_t algorithm, void* d, void* workspace,
                         cudaStream_t stream) const {
  // One and zero in the type that the library scales in.
  constexpr double double_one = 1, double_zero = 0;
  constexpr float float_one = 1, float_zero = 0;
  constexpr std::int32_t int_one = 1, int_zero = 0;
  const void* one = &float_one;
  const void* zero = &float_zero;
  if (product_.dtype == DType::fp64) {
    one = &double_one;
    zero = &double_zero;
  } else if (product_.dtype == DType::int8) {
    one = &int_one;
    zero = &int_zero;
  }
  const cublasLtMatmulHeuristicResult_t& chosen = found_[algorithm];
  return library_.call().matmul(library_.handle(), operation_, one, product_.a, a_, product_.b, b_,
                                zero, d, d_, d, d_, &chosen.algo, workspace, chosen.workspaceSize,
                                stream) == CUBLAS_STATUS_SUCCESS;
}

}  // namespace strata::cuda
