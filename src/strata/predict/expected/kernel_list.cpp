// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/kernel_list.hpp"

#include <bit>
#include <unordered_map>

namespace strata {
namespace {

/// What the time of an operation depends on.
struct KindKey {
  OperationClass kernel_class;
  DType precision;
  KernelDims dims;
  double share, kernels;

  bool operator==(const KindKey&) const = default;
};

struct KindHash {
  std::size_t operator()(const KindKey& key) const {
    auto hash = static_cast<std::uint64_t>(key.kernel_class) * 16 +
                static_cast<std::uint64_t>(key.precision);
    for (const double dim : key.dims)
      hash = (std::rotl(hash, 23) ^ std::bit_cast<std::uint64_t>(dim)) * 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(hash ^ (hash >> 32));
  }
};

}  // namespace

KernelList::KernelList(const FrameworkOperations& operations, const KernelTimes& times)
    : times_(times) {
  std::unordered_map<KindKey, std::uint32_t, KindHash> known;
  known.reserve(operations.operations.size());
  kind_of_.reserve(operations.operations.size());
  for (const FrameworkOperation& operation : operations.operations) {
    const auto [at, is_new] =
        known.try_emplace({operation.kernel_class, operation.precision, operation.dims,
                           operation.share, operation.kernels},
                          static_cast<std::uint32_t>(kinds_.size()));
    kind_of_.push_back(at->second);
    if (!is_new) continue;
    kinds_.push_back({operation, times.nearby(operation, operations.run)});
  }
}

std::vector<KernelTime> KernelList::times_on(const KernelTimes& times) const {
  std::vector<KernelTime> of_kind;
  of_kind.reserve(kinds_.size());
  for (const Kind& kind : kinds_) of_kind.push_back(times.time(kind.operation, kind.nearby));
  std::vector<KernelTime> all;
  all.reserve(kind_of_.size());
  for (const std::uint32_t kind : kind_of_) all.push_back(of_kind[kind]);
  return all;
}

}  // namespace strata
