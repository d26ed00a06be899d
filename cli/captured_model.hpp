// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/model_flags.hpp"
#include "strata/report/trace_report.hpp"

#include <memory>

/// The network that a recording is of, where somebody says so.
namespace strata {

inline constexpr Flag captured_model_flag{.name = "model",
                                          .value = "MODEL",
                                          .help = "A network or its file: its layers are the rows.",
                                          .offer = Offer::model};

inline constexpr Flag captured_against_flag{
    .name = "against",
    .value = "FILE",
    .help = "Other times of its convolutions (conv, measure).",
    .offer = Offer::file,
    .repeats = true};

/// Which network, and its sizes. A file that needs more to be read is converted first.
inline constexpr auto captured_model_flags =
    joined_flags(std::array<Flag, 2>{captured_model_flag, captured_against_flag}, size_flags,
                 std::array<Flag, 1>{assume_bn_flag});

struct CapturedModel {
  Graph graph;
  BoundGraph bound;  ///< refers to the graph
  bool is_inference = false;
  std::vector<std::string> against;  ///< files
};

/// Nothing where no network was named. Errors (usage): its sizes without it.
std::unique_ptr<CapturedModel> captured_model(const Arguments& given);

/// What a recording shows, with the layers of the network where there is one.
/// Errors name the file of measurements that cannot be read, or is of another device.
TraceReport captured_report(std::string file, const Recording& recording, const Machine* machine,
                            const CapturedModel* model);

}  // namespace strata
