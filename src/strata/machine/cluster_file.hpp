// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/cluster.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace strata {

/// Whether the text names a file that says "strata_cluster".
bool is_cluster_file(std::string_view path);

/// A cluster that a file describes (docs/clusters.md): a machine, how many, and what joins them
/// where that is not what the machine's own file says. Errors (input) name the file and the place.
Cluster load_cluster_file(std::string_view path);
/// `folder`: where a machine file that the text names may lie.
Cluster read_cluster(std::string_view json_text, const std::filesystem::path& folder = {});

/// The file of a cluster: read_cluster of it gives the same links and times. What is assumed stands
/// among its notes.
std::string to_json(const Cluster& cluster);

}  // namespace strata
