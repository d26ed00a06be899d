// SPDX-License-Identifier: Apache-2.0
#include "strata/base/loaded_library.hpp"
#include "strata/convolution/cpu/blas.hpp"

#include <cblas.h>

namespace strata::cpu {
namespace {

struct OpenBlas {
  decltype(&cblas_sgemm) sgemm;
  decltype(&cblas_cgemm) cgemm;
  char* (*config)();
};

const OpenBlas& openblas() {
  static const OpenBlas blas = [] {
    const LoadedLibrary library(STRATA_OPENBLAS_LIBRARY);
    OpenBlas loaded{};
    void (*set_threads)(int) = nullptr;
    library.find("cblas_sgemm", loaded.sgemm);
    library.find("cblas_cgemm", loaded.cgemm);
    library.find("openblas_get_config", loaded.config);
    library.find("openblas_set_num_threads", set_threads);
    set_threads(1);  // threads of our own call it
    return loaded;
  }();
  return blas;
}

blasint blas_size(std::int64_t value) { return static_cast<blasint>(value); }

}  // namespace

void multiply(const Gemm<float>& g) {
  openblas().sgemm(CblasRowMajor, g.a_is_transposed ? CblasTrans : CblasNoTrans,
                   g.b_is_transposed ? CblasTrans : CblasNoTrans, blas_size(g.m), blas_size(g.n),
                   blas_size(g.k), 1, g.a, blas_size(g.a_step), g.b, blas_size(g.b_step),
                   g.adds ? 1 : 0, g.result, blas_size(g.result_step));
}

void multiply(const Gemm<std::complex<float>>& g) {
  const std::complex<float> one = 1, kept = g.adds ? 1 : 0;
  openblas().cgemm(CblasRowMajor, g.a_is_transposed ? CblasConjTrans : CblasNoTrans,
                   g.b_is_transposed ? CblasConjTrans : CblasNoTrans, blas_size(g.m),
                   blas_size(g.n), blas_size(g.k), &one, g.a, blas_size(g.a_step), g.b,
                   blas_size(g.b_step), &kept, g.result, blas_size(g.result_step));
}

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
