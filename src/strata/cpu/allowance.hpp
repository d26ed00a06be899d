// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

/// How much of this computer this process may use: in a container, or under a batch system, less
/// than there is.
namespace strata::cpu {

/// The processors on which it may run. Errors (environment) say why that is not known.
std::vector<int> allowed_processors();

/// The least that its control groups, of either version, leave to it.
struct GroupLimits {
  std::optional<double> processors;               ///< time of so many: 1.5
  std::optional<std::int64_t> free_memory_bytes;  ///< limit less what is used

  bool operator==(const GroupLimits&) const = default;
};
/// `root` is "/" but in tests.
GroupLimits group_limits(const std::filesystem::path& root);

/// Memory that may be taken without others having to give theirs back; of the system and the
/// groups. Nothing when the system does not say.
std::optional<std::int64_t> available_memory_bytes(const std::filesystem::path& root);

/// The same for whoever allocates: the pages that are free where the system does not say more.
std::int64_t free_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace strata::cpu
