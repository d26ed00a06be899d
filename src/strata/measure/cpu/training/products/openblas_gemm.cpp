// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/convolution/loaded_library.hpp"
#include "strata/measure/cpu/training/products/gemm.hpp"

#include <cblas.h>

namespace strata::cpu_training {
namespace {

struct OpenBlas {
  decltype(&cblas_sgemm) sgemm;
  decltype(&cblas_dgemm) dgemm;
  char* (*config)();
};

const OpenBlas& openblas() {
  static const OpenBlas blas = [] {
    const cpu::LoadedLibrary library(STRATA_OPENBLAS_LIBRARY);
    OpenBlas loaded{};
    void (*set_threads)(int) = nullptr;
    library.find("cblas_sgemm", loaded.sgemm);
    library.find("cblas_dgemm", loaded.dgemm);
    library.find("openblas_get_config", loaded.config);
    library.find("openblas_set_num_threads", set_threads);
    set_threads(1);  // threads of our own call it
    return loaded;
  }();
  return blas;
}

template <class T, class Gemm>
void call(Gemm gemm, const Product<T>& p) {
  const auto size = [](std::int64_t value) { return static_cast<blasint>(value); };
  gemm(CblasRowMajor, p.a_is_turned ? CblasTrans : CblasNoTrans,
       p.b_is_turned ? CblasTrans : CblasNoTrans, size(p.m), size(p.n), size(p.k), p.alpha, p.a,
       size(p.a_step), p.b, size(p.b_step), p.adds ? T(1) : T(0), p.result, size(p.result_step));
}

}  // namespace

void multiply(const Product<float>& product) { call(openblas().sgemm, product); }
void multiply(const Product<double>& product) { call(openblas().dgemm, product); }

std::string gemm_name(bool is_fp64) { return is_fp64 ? "OpenBLAS dgemm" : "OpenBLAS sgemm"; }

std::string gemm_version() {
  // "OpenBLAS 0.3.21 DYNAMIC_ARCH …": the first two words.
  const std::string config = openblas().config();
  const std::size_t first = config.find(' ');
  return config.substr(0, first == std::string::npos ? first : config.find(' ', first + 1));
}

}  // namespace strata::cpu_training
