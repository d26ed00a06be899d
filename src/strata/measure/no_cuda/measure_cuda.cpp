// SPDX-License-Identifier: Apache-2.0
// Stands for measure/cuda/ in a build without CUDA.
#include "strata/base/error.hpp"
#include "strata/measure/ceilings.hpp"

namespace strata {

std::vector<DeviceInfo> cuda_devices() {
  fail(ErrorKind::environment,
       "this strata was built without CUDA and measures no GPU; build it where nvcc is (cmake "
       "--preset cuda). Predictions for GPUs work without: strata list machines");
}

Machine measure_cuda(const CeilingOptions&, const CeilingProgress&) {
  cuda_devices();
  return {};
}

}  // namespace strata
