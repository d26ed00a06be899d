// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/graph/recording.hpp"

#include <filesystem>
#include <string_view>

namespace strata {

/// A recording as its file says it (`strata record`, strata.torch.record): the document
/// strata_operations. Errors (input) name the place: "operations[12].inputs[0]: …".
struct RecordedNetwork {
  std::string name, title, source;
  RecordedOperations recording;
};
RecordedNetwork read_recording(std::string_view json_text);

/// The network of a recording: a node per layer, with the parameters that it uses.
Graph recorded_graph(RecordedNetwork network);

/// Both, of a file of at most 64 MiB.
Graph read_recording_file(const std::filesystem::path& path);

}  // namespace strata
