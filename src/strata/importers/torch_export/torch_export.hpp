// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/importers/import_options.hpp"

#include <filesystem>
#include <string_view>

/// Files of torch.export.save (.pt2): a zip archive whose program is JSON
/// (docs/formats/torch-export.md). Weights are passed over. Operators of ATen are written as those
/// of ONNX (translate.hpp), and the ONNX importer reads them: one table of operators, one set of
/// patterns. Files come from strangers: whatever is in them, the answer is a Graph or an Error of
/// kind input or unsupported.
namespace strata {

Graph read_torch_export(const std::filesystem::path& path, const ImportOptions& options = {});

/// The same for the JSON text of a program. `file_name` stands in messages; its stem names the
/// network.
Graph read_torch_export_text(std::string_view json_text, std::string_view file_name,
                             const ImportOptions& options = {});

}  // namespace strata
