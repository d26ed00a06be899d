// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/result.hpp"
#include "strata/convolution/lab/strategy.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

/// Runs strategies on convolutions, checks what they compute against the reference and times them.
/// Whatever goes wrong with one of them is a cell with a reason; the others go on.
namespace strata {

/// What is to be found out; ConvResults without its cells.
using ConvPlan = ConvResults;

/// Of a run that begins now.
ConvOrigin conv_origin_of(const ConvDevice& device);

/// One cell that is to be filled.
struct ConvTask {
  ConvShape shape;
  ConvPass pass = ConvPass::forward;
  const ConvStrategy* strategy = nullptr;
};

/// Every strategy of the device and of plug-ins whose name is among `names` (empty: all). Errors
/// (usage) name what there is not.
std::vector<const ConvStrategy*> chosen_strategies(
    const ConvDevice& device, std::span<const std::unique_ptr<ConvStrategy>> plugins,
    std::span<const std::string> names);

/// The cells of a plan in the order in which they are filled: by shape, pass and strategy, each
/// once. Passes of which no iteration has any are left out.
std::vector<ConvTask> conv_tasks(const ConvPlan& plan,
                                 std::span<const ConvStrategy* const> strategies);

struct ConvLabHooks {
  std::function<bool()> is_interrupted;
  std::function<void(std::size_t task, const ConvCell& cell)> on_cell;
  /// What a library's kernel is for, by its name. Given, and with efficiencies asked for, the
  /// kernels of libraries are traced, and their times by role are those of their kernels.
  std::function<KernelRole(std::string_view name)> role_of_kernel = {};
  /// Called with how many of the kernels' traces there are, and why there will be no more.
  std::function<void(std::size_t done, std::size_t count)> on_trace = {};
  std::function<void(std::string_view reason)> on_no_traces = {};
  /// Asked after each cell: of the processors' time since then, what other programs had.
  std::function<std::optional<double>()> others_share = {};
};

/// Fills the cells from number `first` on; stops when interrupted.
std::vector<ConvCell> run_conv_lab(ConvDevice& device, const ConvPlan& plan,
                                   std::span<const ConvTask> tasks, std::size_t first,
                                   const ConvLabHooks& hooks);

/// Which numbers of a result are compared: all of a small one, some hundred spread over a large
/// one, fewer where the reference of one is long.
std::vector<std::int64_t> checked_indices(const ConvShape& shape, ConvPass pass,
                                          std::uint64_t seed);

}  // namespace strata
