// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <filesystem>
#include <string>
#include <string_view>

/// Strata's own network format: a network as people write it, in JSON or in TOML
/// (docs/network-format.md), that can also hold any Graph. Files come from strangers: whatever is
/// in them, the answer is a Graph or an Error of kind input or unsupported that names file, line,
/// layer and key.
namespace strata {

/// The version that read_network reads and write_network writes: the value of the key
/// "strata_network".
inline constexpr std::int64_t network_format_version = 1;

/// Reads JSON when the text begins with a brace, else TOML. `file_name` stands in messages; its
/// stem names a network that gives itself no name.
Graph read_network(std::string_view text, std::string_view file_name);
Graph read_network_file(const std::filesystem::path& path);

/// The graph as JSON, one layer per line. Shapes between layers are not written: they follow from
/// the operators. Reading the text again gives the same graph. Errors (unsupported) when the graph
/// has something that no file can say: two tensors of one name, a dimension whose name is not a
/// word.
std::string write_network(const Graph& graph);

}  // namespace strata
