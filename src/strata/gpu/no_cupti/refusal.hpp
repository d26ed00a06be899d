// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace strata {

inline constexpr char built_without_cupti[] =
    "this strata was built without CUPTI and neither records kernels nor reads counters of a GPU; "
    "build it where the CUDA toolkit is, with its extras/CUPTI";

}  // namespace strata
