// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/importers/import_options.hpp"

#include <filesystem>
#include <string_view>

/// Keras models become Graphs: the architecture in JSON (model.to_json()), TensorFlow.js layers
/// models (model.json), HDF5 files (.h5, the attribute model_config) and .keras archives (their
/// config.json), of Keras 1, 2 and 3. Weights are never read. What is read, and what stays out, is
/// in docs/formats/keras.md.
///
/// Files come from strangers: whatever is in them, the answer is a Graph or an Error of kind input
/// or unsupported that names file and layer. HDF5 files and archives are opened in a child process
/// with limits on memory and time (container.hpp).
namespace strata {

Graph read_keras(const std::filesystem::path& path, const ImportOptions& options = {});

/// The same for JSON in memory; `file_name` stands in messages and its stem names the network.
Graph read_keras_text(std::string_view text, std::string_view file_name,
                      const ImportOptions& options = {});

}  // namespace strata
