// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/importers/import_options.hpp"

#include <filesystem>
#include <string_view>

/// ONNX files, opsets 7 to 23 and the fused operators of ONNX Runtime (docs/formats/onnx.md). The
/// file is mapped, not read: weights are passed over, so a file of gigabytes takes as long as its
/// graph. Files come from strangers: whatever is in them, the answer is a Graph or an Error of kind
/// input or unsupported that names file and node.
///
/// The steps, each in files of its own: wire (protobuf → light structs), flat_graph (functions
/// inlined, nodes in order), values and fold (what is known before anything runs), ops (one row per
/// operator: node → draft), passes (patterns, layouts, what an inference export lost), emit (draft
/// → Graph).
namespace strata {

Graph read_onnx(const std::filesystem::path& path, const ImportOptions& options = {});

/// The same for the bytes of a file, which must outlive the call only. `file_name` stands in
/// messages; its stem names the network.
Graph read_onnx_text(std::string_view bytes, std::string_view file_name,
                     const ImportOptions& options = {});

}  // namespace strata
