// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/convolution/lab/result.hpp"
#include "strata/sweep/sink.hpp"

#include <optional>
#include <string>
#include <vector>

/// The measuring half of `strata conv`.
namespace strata {

/// A file of lines that the run writes one by one, and can be continued.
struct ConvLinesFile {
  std::string path;
  IfPresent if_present = IfPresent::refuse;
};

struct ConvRunOutcome {
  ConvResults results;
  bool is_interrupted = false;
  std::size_t total = 0;  ///< cells that were asked for
};

/// Runs what the flags ask for on these series, with progress on standard error. Ctrl-C keeps what
/// is done.
ConvRunOutcome measure_convolutions(const Arguments& given, std::vector<ConvSeries> series,
                                    const std::vector<ConvPass>& default_passes,
                                    const std::optional<ConvLinesFile>& lines);

/// How much there would be to do.
std::string conv_dry_run_text(const Arguments& given, std::vector<ConvSeries> series,
                              const std::vector<ConvPass>& default_passes);

}  // namespace strata
