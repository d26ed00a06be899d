// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/result.hpp"

#include <functional>
#include <string>
#include <vector>

namespace strata::test {

/// Times by strategy and point; below 0: it refuses.
struct MadeUpStrategy {
  ConvStrategyName name;
  std::function<double(const ConvShape&, ConvPass)> seconds;
  std::function<std::int64_t(const ConvShape&)> scratch = [](const ConvShape&) { return 0; };
};

inline ConvResults made_up_results(std::vector<ConvSeries> series,
                                   const std::vector<MadeUpStrategy>& strategies,
                                   std::vector<ConvPass> passes = {ConvPass::forward}) {
  ConvResults results;
  results.device = "Imagined 1";
  results.passes = std::move(passes);
  results.series = std::move(series);
  results.samples = 3;
  for (const MadeUpStrategy& strategy : strategies) results.strategies.push_back(strategy.name);
  for (const ConvPoint& point : distinct_points(results.series)) {
    for (const ConvPass pass : results.passes) {
      if (point.counts[static_cast<std::size_t>(pass)] == 0) continue;
      for (const MadeUpStrategy& strategy : strategies) {
        ConvCell cell;
        cell.shape = point.shape;
        cell.pass = pass;
        cell.strategy = strategy.name.name;
        const double seconds = strategy.seconds(point.shape, pass);
        if (seconds < 0) {
          cell.status = ConvStatus::refused;
          cell.reason = "not this one";
        } else {
          cell.samples_s = {seconds * 0.99, seconds, seconds * 1.02};
          cell.tensor_bytes = 4 * (point.shape.input_elements() + point.shape.weight_elements() +
                                   point.shape.output_elements());
          cell.scratch_bytes = strategy.scratch(point.shape);
          cell.flop = direct_flop(point.shape);
          cell.error = 1e-7;
          cell.tolerance = 1e-5;
          cell.checked = 512;
          cell.roles = {{KernelRole::im2col, seconds * 0.2}, {KernelRole::gemm, seconds * 0.7}};
          cell.kernels = {{"kernel", KernelRole::gemm, 72, 16384}};
          cell.transfers = HostTransfers{seconds * 0.1, seconds * 0.2};
        }
        results.cells.push_back(std::move(cell));
      }
    }
  }
  return results;
}

/// Sweep k = 2 … 13: winograd wins at 3, which is all it can; unroll grows as k²; fft is flat and
/// overtakes it at k = 6; the library is the fastest nowhere, 10 % behind unroll. fft needs memory.
inline ConvResults results_with_crossover() {
  const auto k_of = [](const ConvShape& shape) { return static_cast<double>(shape.kernel_height); };
  return made_up_results(
      {conv_sweep({.batch = 64, .channels = 3, .height = 128, .width = 128, .filters = 64},
                  "k=2:13")},
      {{{"unroll"}, [=](const ConvShape& s, ConvPass) { return k_of(s) * k_of(s) * 1e-4; }},
       {{"fft"},
        [](const ConvShape&, ConvPass) { return 30e-4; },
        [](const ConvShape&) { return std::int64_t{1} << 31; }},
       {{"winograd"},
        [=](const ConvShape& s, ConvPass) { return k_of(s) == 3 ? 4e-4 : -1; },
        [](const ConvShape&) { return std::int64_t{1} << 20; }},
       {{"cudnn:pick", true},
        [=](const ConvShape& s, ConvPass) { return k_of(s) * k_of(s) * 1.1e-4; }}});
}

}  // namespace strata::test
