// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/call_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

namespace strata {
namespace {

struct NumberedCall {
  std::int64_t number = 0;
  std::string_view name;
};

constexpr NumberedCall runtime_calls[] = {
    {3, "cudaGetDeviceCount"},
    {4, "cudaGetDeviceProperties"},
    {8, "cudaConfigureCall"},
    {9, "cudaSetupArgument"},
    {10, "cudaGetLastError"},
    {11, "cudaPeekAtLastError"},
    {13, "cudaLaunch"},
    {15, "cudaFuncGetAttributes"},
    {16, "cudaSetDevice"},
    {17, "cudaGetDevice"},
    {20, "cudaMalloc"},
    {22, "cudaFree"},
    {25, "cudaMallocHost"},
    {26, "cudaFreeHost"},
    {27, "cudaHostAlloc"},
    {30, "cudaMemGetInfo"},
    {31, "cudaMemcpy"},
    {32, "cudaMemcpy2D"},
    {39, "cudaMemcpyToSymbol"},
    {41, "cudaMemcpyAsync"},
    {44, "cudaMemcpy2DAsync"},
    {49, "cudaMemset"},
    {51, "cudaMemsetAsync"},
    {55, "cudaBindTexture"},
    {126, "cudaThreadSynchronize"},
    {129, "cudaStreamCreate"},
    {130, "cudaStreamDestroy"},
    {131, "cudaStreamSynchronize"},
    {132, "cudaStreamQuery"},
    {133, "cudaEventCreate"},
    {134, "cudaEventCreateWithFlags"},
    {135, "cudaEventRecord"},
    {136, "cudaEventDestroy"},
    {137, "cudaEventSynchronize"},
    {138, "cudaEventQuery"},
    {139, "cudaEventElapsedTime"},
    {147, "cudaStreamWaitEvent"},
    {151, "cudaPointerGetAttributes"},
    {152, "cudaHostRegister"},
    {153, "cudaHostUnregister"},
    {154, "cudaDeviceCanAccessPeer"},
    {155, "cudaDeviceEnablePeerAccess"},
    {160, "cudaMemcpyPeer"},
    {161, "cudaMemcpyPeerAsync"},
    {164, "cudaDeviceReset"},
    {165, "cudaDeviceSynchronize"},
    {171, "cudaProfilerStart"},
    {172, "cudaProfilerStop"},
    {198, "cudaStreamCreateWithFlags"},
    {200, "cudaDeviceGetAttribute"},
    {201, "cudaStreamDestroy"},
    {202, "cudaStreamCreateWithPriority"},
    {211, "cudaLaunchKernel"},
    {251, "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"},
    {269, "cudaLaunchCooperativeKernel"},
    {273, "cudaFuncSetAttribute"},
    {311, "cudaGraphLaunch"},
    {317, "cudaStreamIsCapturing"}};

constexpr NumberedCall driver_calls[] = {{3, "cuDeviceGet"},
                                         {4, "cuDeviceGetCount"},
                                         {5, "cuDeviceGetName"},
                                         {9, "cuDeviceGetAttribute"},
                                         {17, "cuCtxSynchronize"},
                                         {19, "cuModuleLoadData"},
                                         {20, "cuModuleLoadDataEx"},
                                         {22, "cuModuleUnload"},
                                         {38, "cuMemFreeHost"},
                                         {39, "cuMemHostAlloc"},
                                         {118, "cuEventCreate"},
                                         {119, "cuEventRecord"},
                                         {120, "cuEventQuery"},
                                         {121, "cuEventSynchronize"},
                                         {126, "cuStreamSynchronize"},
                                         {243, "cuMemAlloc_v2"},
                                         {245, "cuMemFree_v2"},
                                         {259, "cuDeviceTotalMem_v2"},
                                         {277, "cuMemcpyHtoDAsync_v2"},
                                         {279, "cuMemcpyDtoHAsync_v2"},
                                         {294, "cuMemAllocHost_v2"},
                                         {295, "cuStreamWaitEvent"},
                                         {307, "cuLaunchKernel"},
                                         {325, "cuEventDestroy_v2"}};

}  // namespace

std::string call_name_of_cupti(ApiKind kind, std::int64_t number) {
  const bool is_runtime = kind == ApiKind::runtime;
  const std::span<const NumberedCall> calls =
      is_runtime ? std::span<const NumberedCall>(runtime_calls) : driver_calls;
  const auto found = std::lower_bound(
      calls.begin(), calls.end(), number,
      [](const NumberedCall& call, std::int64_t wanted) { return call.number < wanted; });
  if (found != calls.end() && found->number == number) return std::string(found->name);
  return fmt::format("{} call {}", is_runtime ? "runtime" : "driver", number);
}

}  // namespace strata
