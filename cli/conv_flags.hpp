// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "cli/model_flags.hpp"
#include "strata/api/device.hpp"
#include "strata/convolution/lab/result.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

/// What `strata conv` asks for.
namespace strata {

inline constexpr std::array<std::string_view, 2> conv_suites = {"paper", "cpu"};
inline constexpr std::array<std::string_view, 4> conv_passes = {"forward", "backward_input",
                                                                "backward_weight", "all"};
inline constexpr std::array<std::string_view, 4> conv_dtypes = {"fp32", "tf32", "bf16", "fp16"};

inline constexpr Flag conv_base_flag{
    .name = "base", .value = "B,I,F,K,S", .help = "Batch, input side, filters, kernel, stride."};
inline constexpr Flag conv_channels_flag{
    .name = "channels", .value = "N", .help = "Input channels of the base; 3."};
inline constexpr Flag conv_sweep_flag{.name = "sweep",
                                      .value = "AXIS=RANGE",
                                      .help = "Change one size of the base: k=2:13, b=32:512:32.",
                                      .repeats = true};
inline constexpr Flag conv_layer_flag{.name = "layer",
                                      .value = "NAME",
                                      .help = "A benchmark layer: conv1 to conv5.",
                                      .repeats = true};
inline constexpr Flag conv_suite_flag{.name = "suite",
                                      .value = "NAME",
                                      .help = "All sweeps and layers: paper, or cpu with less.",
                                      .choices = conv_suites,
                                      .offer = Offer::choices};
inline constexpr Flag conv_shape_flag{.name = "shape",
                                      .value = "SIZES",
                                      .help = "Any convolution: b64,c3,h128,w96,f64,k3x5,s1x2,p1.",
                                      .repeats = true};
inline constexpr Flag conv_device_flag{
    .name = "device", .value = "DEVICE", .help = "cpu (default), cuda or cuda:N."};
inline constexpr Flag conv_pass_flag{.name = "pass",
                                     .value = "PASS",
                                     .help = "forward, backward_input, backward_weight or all.",
                                     .choices = conv_passes,
                                     .offer = Offer::choices};
inline constexpr Flag conv_dtype_flag{.name = "dtype",
                                      .letter = 't',
                                      .value = "T",
                                      .help = "fp32, tf32, bf16 or fp16.",
                                      .choices = conv_dtypes,
                                      .offer = Offer::choices};
inline constexpr Flag conv_strategies_flag{
    .name = "strategies", .value = "LIST", .help = "Only these: direct,fft."};
inline constexpr Flag conv_memory_limit_flag{
    .name = "memory-limit", .value = "SIZE", .help = "Refuse what needs more, tensors included."};
inline constexpr Flag conv_budget_flag{.name = "budget",
                                       .value = "SIZE",
                                       .help = "Also the fastest within this scratch memory.",
                                       .repeats = true};
inline constexpr Flag conv_plugin_flag{.name = "plugin",
                                       .value = "FILE",
                                       .help = "A strategy of your own, as a shared library.",
                                       .offer = Offer::file,
                                       .repeats = true};
inline constexpr Flag conv_samples_flag{
    .name = "samples", .value = "N", .help = "Timed runs of each; 10."};
inline constexpr Flag conv_seed_flag{
    .name = "seed", .value = "N", .help = "Of the random numbers; 1."};
inline constexpr Flag conv_metrics_flag{.name = "metrics",
                                        .help = "Also occupancy, IPC and four efficiencies (GPU)."};

/// What chooses points, strategies and how they are measured; none of them goes with results that
/// are there already.
inline constexpr std::array<Flag, 12> conv_measure_flags = {
    conv_base_flag,   conv_channels_flag, conv_sweep_flag,  conv_layer_flag,
    conv_suite_flag,  conv_shape_flag,    conv_device_flag, conv_dtype_flag,
    conv_plugin_flag, conv_samples_flag,  conv_seed_flag,   conv_metrics_flag};
/// What narrows a run and a look at results alike.
inline constexpr std::array<Flag, 4> conv_narrow_flags = {conv_pass_flag, conv_strategies_flag,
                                                          conv_memory_limit_flag, conv_budget_flag};

/// The series that the flags ask for.
std::vector<ConvSeries> conv_series(const Arguments& given);

/// Passes (forward unless told otherwise, all of a network), strategies and the memory limit.
ConvRestriction conv_restriction(const Arguments& given);
std::vector<std::int64_t> conv_budgets(const Arguments& given);

}  // namespace strata
