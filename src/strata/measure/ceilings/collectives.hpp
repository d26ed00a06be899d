// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/devices.hpp"
#include "strata/machine/cluster.hpp"
#include "strata/measure/ceilings/ceilings.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// What collectives really take among the GPUs of this host, by the library that frameworks call.
namespace strata {

/// GPUs that talk to one another.
class GpuGroup {
 public:
  virtual ~GpuGroup() = default;
  virtual std::string library() const = 0;  ///< "NCCL 2.27.3"
  virtual const std::vector<DeviceInfo>& devices() const = 0;
  /// From now on the first `ranks` of them talk, of tensors up to `most_bytes`.
  virtual void join(int ranks, std::int64_t most_bytes) = 0;
  /// Seconds of one of `repeats` in a row, on the rank that takes longest. `bytes` is the whole
  /// tensor, a multiple of 4 x ranks; point to point it goes from the first rank to the second.
  virtual double seconds_of(CollectiveKind kind, std::int64_t bytes, int repeats) = 0;
};

/// Errors (environment): no CUDA in this build, fewer than two GPUs, or no NCCL. `library`: its
/// file; empty: libnccl.so.2, where the loader finds it.
std::unique_ptr<GpuGroup> open_gpu_group(const std::string& library);

/// Errors (environment) unless there are two, all of one kind.
void check_gpu_group(const std::vector<DeviceInfo>& devices);

struct CollectiveOptions {
  bool is_quick = false;         ///< fewer samples
  std::int64_t least_bytes = 8;  ///< each size is four times the one before
  std::int64_t most_bytes = std::int64_t{1} << 30;
};

/// A node of these GPUs with measured collectives among 2, 4, 8, … and all of them. Samples that
/// spread widely and a host that is busy become notes (Cluster::assumptions).
Cluster measure_collectives(GpuGroup& group, Machine machine, const CollectiveOptions& options = {},
                            const CeilingProgress& progress = {});

}  // namespace strata
