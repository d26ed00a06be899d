// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/importers/import_options.hpp"

#include <filesystem>
#include <string_view>

/// Caffe's networks in protobuf's text format (prototxt), in the current syntax (`layer`) and the
/// one before (`layers`), become Graphs. The network is the one that training sees: layers of phase
/// TRAIN; a file that makes sense in phase TEST alone is read in that phase. What is read, and what
/// stays out, is in docs/formats/caffe.md.
///
/// Files come from strangers: whatever is in them, the answer is a Graph or an Error of kind input
/// or unsupported that names file, layer and line.
namespace strata {

Graph read_caffe(const std::filesystem::path& path, const ImportOptions& options = {});

/// The same for a text in memory; `file_name` stands in messages and its stem names the network.
Graph read_caffe_text(std::string_view text, std::string_view file_name,
                      const ImportOptions& options = {});

}  // namespace strata
