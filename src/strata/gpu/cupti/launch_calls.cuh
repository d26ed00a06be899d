// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <array>

namespace strata::cupti {

/// Calls that launch a kernel, by the driver's interface: the run-time's launches pass through it.
inline constexpr std::array<CUpti_CallbackId, 6> launch_calls = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz};

}  // namespace strata::cupti
