// SPDX-License-Identifier: Apache-2.0
#include "strata/base/loaded_library.hpp"
#include "strata/convolution/cpu/matrix/product.hpp"

#include <cblas.h>

namespace strata::cpu {
namespace {

struct OpenBlas {
  decltype(&cblas_sgemm) sgemm;
  decltype(&cblas_dgemm) dgemm;
  char* (*config)();
};

const OpenBlas& openblas() {
  static const OpenBlas blas = [] {
    const LoadedLibrary library(STRATA_OPENBLAS_LIBRARY);
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

void multiply_by_blas(const Product<float>& product) { call(openblas().sgemm, product); }
void multiply_by_blas(const Product<double>& product) { call(openblas().dgemm, product); }

std::string blas_version() {
  if (blas_refusal()) return "";
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH …"
  const std::string config = openblas().config();
  const std::size_t begin = config.find(' ');
  return begin == std::string::npos
             ? config
             : config.substr(begin + 1, config.find(' ', begin + 1) - begin - 1);
}

std::optional<std::string> blas_refusal() {
  try {
    openblas();
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

}  // namespace strata::cpu
