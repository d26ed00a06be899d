// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "cli/predict_flags.hpp"
#include "strata/api/sweep.hpp"

#include <array>

/// What `strata sweep` sweeps over. The names are those of `strata predict`; each takes a range or
/// a list where predict takes one value.
namespace strata {

inline constexpr Flag sweep_on_flag{.name = "on",
                                    .value = "LIST",
                                    .help = "Machines or files; else as strata predict has it.",
                                    .offer = Offer::file};
inline constexpr Flag sweep_capacity_flag{
    .name = "capacity", .value = "RANGE", .help = "On-chip memory: 24MiB:1000MiB:2MiB."};
inline constexpr Flag sweep_bandwidth_flag{
    .name = "bandwidth", .value = "RANGE", .help = "Off-chip: 616GB/s,1555GB/s."};
inline constexpr Flag sweep_throughput_flag{
    .name = "throughput", .value = "RANGE", .help = "Of all arithmetic: 10TFLOP/s:80TFLOP/s:x2."};
inline constexpr Flag sweep_batch_flag{
    .name = "batch", .letter = 'b', .value = "RANGE", .help = "Samples per step: 8:256:x2."};
inline constexpr Flag sweep_seq_flag{
    .name = "seq", .letter = 's', .value = "RANGE", .help = "Length of sequences."};
inline constexpr Flag sweep_dim_flag{.name = "dim",
                                     .value = "NAME=RANGE",
                                     .help = "Any other size the networks leave open.",
                                     .repeats = true};
inline constexpr Flag sweep_dtype_flag{
    .name = "dtype", .letter = 't', .value = "LIST", .help = "Data types: fp32,bf16."};
inline constexpr Flag sweep_policy_flag{
    .name = "policy", .value = "LIST", .help = "What stays on chip: best, thesis, belady."};
inline constexpr Flag sweep_prefetch_flag{
    .name = "prefetch", .value = "LIST", .help = "none, next-layer, listing, soonest."};
inline constexpr Flag sweep_offload_flag{
    .name = "offload", .value = "LIST", .help = "on-demand, look-ahead."};
inline constexpr Flag sweep_optimizer_flag{
    .name = "optimizer", .value = "LIST", .help = "none, sgd, momentum, adam."};
inline constexpr Flag sweep_recompute_flag{
    .name = "recompute", .value = "LIST", .help = "none, all, blocks."};
inline constexpr Flag sweep_micro_batches_flag{
    .name = "micro-batches", .value = "RANGE", .help = "Equal parts of the batch per update."};
inline constexpr Flag sweep_framework_flag{
    .name = "framework", .value = "LIST", .help = "Whose expected times (strata list frameworks)."};
inline constexpr Flag sweep_amp_flag{
    .name = "amp", .value = "LIST", .help = "Autocast: none, bf16, fp16."};
inline constexpr Flag sweep_attention_flag{
    .name = "attention", .value = "LIST", .help = "auto, sdpa, eager, module."};
inline constexpr Flag sweep_host_flag{
    .name = "host", .value = "LIST", .help = "Dispatch times: calibrations, or 1x,1.5x,2x."};
inline constexpr Flag require_fits_flag{.name = "require-fit",
                                        .help = "Exit with 1 when a point is out of memory."};
inline constexpr Flag no_limit_flag{.name = "no-limit",
                                    .help = "Expected times alone, which is much faster."};
inline constexpr Flag sweep_set_flag{.name = "set",
                                     .value = "FIELD=RANGE",
                                     .help = "Any number of the machines: machine.FIELD=RANGE.",
                                     .repeats = true};
inline constexpr Flag axis_flag{.name = "axis",
                                .value = "NAME=RANGE",
                                .help = "Anything else predict has a flag for, by its name.",
                                .repeats = true};

/// Flags whose value is the range of the parameter of that name.
inline constexpr std::array<Flag, 17> range_flags = {sweep_on_flag,
                                                     sweep_capacity_flag,
                                                     sweep_bandwidth_flag,
                                                     sweep_throughput_flag,
                                                     sweep_batch_flag,
                                                     sweep_seq_flag,
                                                     sweep_dtype_flag,
                                                     sweep_policy_flag,
                                                     sweep_prefetch_flag,
                                                     sweep_offload_flag,
                                                     sweep_optimizer_flag,
                                                     sweep_recompute_flag,
                                                     sweep_micro_batches_flag,
                                                     sweep_framework_flag,
                                                     sweep_amp_flag,
                                                     sweep_attention_flag,
                                                     sweep_host_flag};
/// Flags whose value names the parameter.
inline constexpr std::array<Flag, 3> named_range_flags = {sweep_dim_flag, sweep_set_flag,
                                                          axis_flag};
/// Switches that hold for every point.
inline constexpr std::array<Flag, 6> sweep_switches = {inference_flag,      strict_minimum_flag,
                                                       master_weights_flag, channels_last_flag,
                                                       preset_flag,         no_limit_flag};

/// What the words and flags ask for. A word that is a sweep file (docs/sweeps.md) is read; flags
/// replace what it says.
SweepRequest sweep_request(const Arguments& given);

}  // namespace strata
