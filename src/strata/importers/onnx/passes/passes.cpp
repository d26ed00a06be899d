// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/passes.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <array>

namespace strata::onnx {
namespace {

constexpr std::array<Pass, 12> all_passes = {{
    {"tie weights", tie_weights},
    {"restore position tables", restore_position_tables},
    {"tell constants", tell_constants},
    {"store fixed tensors", store_fixed_tensors},
    {"fuse attention", fuse_attention, true},
    {"fuse normalisations", fuse_norms, true},
    {"fuse activations", fuse_activations, true},
    {"fuse layers", fuse_layers, true},
    {"defer views", defer_views},
    {"merge biases", merge_biases},
    {"take layouts", take_layouts},
    {"restore training layers", restore_training_layers},
}};

}  // namespace

std::span<const Pass> passes() { return all_passes; }

void run_passes(Session& session) {
  remove_dead(session.draft);
  for (const Pass& pass : all_passes) {
    if (pass.is_fusion && !session.options.fuse) continue;
    try {
      pass.run(session);
    } catch (Error& error) {
      error.add_context(fmt::format("while reading its structure ({})", pass.name));
      throw;
    }
  }
}

}  // namespace strata::onnx
