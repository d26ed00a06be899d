// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/importers/import_options.hpp"

#include <filesystem>
#include <string_view>

/// darknet's cfg files, as Redmon's darknet and AlexeyAB's fork read them, become Graphs: sections
/// in order, referring to each other by number. Defaults, rounding rules and the meaning of every
/// key are darknet's own (parser.c and the *_layer.c of both). What is read, and what stays out, is
/// in docs/formats/darknet.md.
///
/// Files come from strangers: whatever is in them, the answer is a Graph or an Error of kind input
/// or unsupported that names file, section and line.
namespace strata {

Graph read_darknet(const std::filesystem::path& path, const ImportOptions& options = {});

/// The same for a text in memory; `file_name` stands in messages and its stem names the network.
Graph read_darknet_text(std::string_view text, std::string_view file_name,
                        const ImportOptions& options = {});

}  // namespace strata
