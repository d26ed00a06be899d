// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/operations/operation_classes.hpp"
#include "strata/predict/expected/gpu_rates.hpp"

#include <span>
#include <vector>

/// How the time of a class of kernels depends on its dimensions and on the GPU, up to a few
/// coefficients that are fitted to measurements (docs/expected-time.md has the formulas).
namespace strata {

/// Which product a pass is; that of weights has its left side transposed.
enum class ProductPass : std::uint8_t { forward, backward_input, backward_weight };
ProductPass product_pass(OperationClass kernel_class);
/// How badly the rows of a product's matrices begin, for the vector loads of 16-bit and TF32
/// kernels: 0 at whole 16 bytes, 1 at whole 4 bytes, 2 worse.
int misalignment(ProductPass pass, DType precision, const KernelDims& dims);

/// Seconds. `coefficients` are first_coefficients() of the form, fitted.
double form_time_s(KernelForm form, ProductPass pass, DType precision,
                   std::span<const double> coefficients, const KernelDims& dims,
                   const GpuRates& gpu);

/// Where a fit begins: sensible values of each coefficient, all positive.
std::vector<double> first_coefficients(KernelForm form);
/// A form may have terms that few samples do not tell apart: they are 0 then.
std::size_t fewest_coefficients(KernelForm form);

}  // namespace strata
