// SPDX-License-Identifier: Apache-2.0
// What is said of cuDNN's engines, with or without cuDNN.
#include "strata/convolution/cuda/cudnn_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace strata::cuda {

std::string CudnnEngine::text() const {
  return notes.empty() ? fmt::format("engine {}", number)
                       : fmt::format("engine {}: {}", number, fmt::join(notes, ", "));
}

bool CudnnEngine::has(std::string_view note) const {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

std::string CudnnPlans::why_none() const {
  if (refusals.empty()) return "cuDNN's graph has no engine for this";
  return fmt::format("cuDNN's graph: {}{}", refusals.front(),
                     refusals.size() == 1 ? "" : fmt::format("; {} more", refusals.size() - 1));
}

}  // namespace strata::cuda
