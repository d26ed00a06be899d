// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/convolution/blas.hpp"
#include "strata/measure/cpu/convolution/loaded_library.hpp"

#include <cblas.h>

namespace strata::cpu {
namespace {

struct OpenBlas {
  decltype(&cblas_sgemm) sgemm;
  void (*set_threads)(int);
  char* (*config)();
};

OpenBlas load_openblas() {
  const LoadedLibrary library(STRATA_OPENBLAS_LIBRARY);
  OpenBlas blas{};
  library.find("cblas_sgemm", blas.sgemm);
  library.find("openblas_set_num_threads", blas.set_threads);
  library.find("openblas_get_config", blas.config);
  blas.set_threads(1);
  return blas;
}

const OpenBlas& openblas() {
  static const OpenBlas blas = load_openblas();
  return blas;
}

}  // namespace

void multiply(const MatrixProduct& p) {
  const auto size = [](std::int64_t value) { return static_cast<blasint>(value); };
  openblas().sgemm(CblasRowMajor, p.a_is_turned ? CblasTrans : CblasNoTrans,
                   p.b_is_turned ? CblasTrans : CblasNoTrans, size(p.m), size(p.n), size(p.k), 1,
                   p.a, size(p.a_step), p.b, size(p.b_step), p.adds ? 1.0F : 0.0F, p.result,
                   size(p.result_step));
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
