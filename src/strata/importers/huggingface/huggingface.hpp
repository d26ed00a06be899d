// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/importers/import_options.hpp"

#include <filesystem>
#include <string_view>

/// The config.json that lies beside every model of Hugging Face's transformers: it states the sizes
/// and the class of the model, from which the network follows. Modules are named as transformers
/// names them, so that recordings of a program that trains it match. Which models are known, and
/// what is assumed, is in docs/formats/huggingface.md.
///
/// Files come from strangers: whatever is in them, the answer is a Graph or an Error of kind input
/// or unsupported that names file and key.
namespace strata {

Graph read_huggingface(const std::filesystem::path& path, const ImportOptions& options = {});

/// The same for a text in memory; `file_name` stands in messages.
Graph read_huggingface_text(std::string_view text, std::string_view file_name,
                            const ImportOptions& options = {});

}  // namespace strata
