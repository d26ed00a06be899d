// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/api/parallel_scaling.hpp"

#include <array>

namespace strata {

inline constexpr Flag devices_flag{
    .name = "devices", .value = "RANGE", .help = "The best strategy of each: 8:1024:x2."};
inline constexpr Flag batch_per_device_flag{
    .name = "batch-per-device", .value = "N", .help = "With --devices: the batch grows with them."};
inline constexpr Flag tokens_flag{
    .name = "tokens", .value = "N", .help = "Length of the training run: 15T."};
inline constexpr Flag run_samples_flag{
    .name = "samples", .value = "N", .help = "The same in samples: 90M."};
/// What only predictions of many devices take.
inline constexpr std::array<Flag, 4> scaling_flags = {devices_flag, batch_per_device_flag,
                                                      tokens_flag, run_samples_flag};

/// Price, power and length of a run, as the flags and the machine's file say. Errors (usage).
TrainingTerms training_terms(const Arguments& given, const Machine& machine);

/// One network on more and more devices of a cluster, as one table.
int predict_over_devices(const Request& request, const Graph& graph, const Cluster& cluster,
                         const PredictRequest& wanted);

}  // namespace strata
