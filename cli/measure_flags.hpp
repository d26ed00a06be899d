// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/model_flags.hpp"
#include "cli/predict_flags.hpp"
#include "strata/api/device.hpp"
#include "strata/measure/engine/measure_training.hpp"
#include "strata/report/measurement_report.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// What `strata measure` asks for.
namespace strata {

inline constexpr std::array<std::string_view, 4> measure_groupings = {"type", "layer", "block",
                                                                      "pass"};

inline constexpr Flag measure_device_flag{
    .name = "device", .value = "DEVICE", .help = "cpu (default), cuda or cuda:N."};
inline constexpr Flag measure_iterations_flag{
    .name = "iterations", .value = "N", .help = "Timed iterations; 10."};
inline constexpr Flag measure_warm_up_flag{
    .name = "warm-up", .value = "N", .help = "Iterations before them; 2."};
inline constexpr Flag measure_conv_flag{
    .name = "conv", .value = "NAME", .help = "Strategy of convolutions, or fastest."};
inline constexpr Flag measure_graph_flag{.name = "graph",
                                         .help = "Also as one recorded piece (a CUDA graph)."};
inline constexpr std::array<std::string_view, 6> measure_presets = {
    "time", "roofline", "efficiency", "stalls", "paper", "full"};
inline constexpr Flag measure_metrics_flag{.name = "metrics",
                                           .value = "PRESET",
                                           .help = "Counters: roofline, paper, stalls, full ...",
                                           .choices = measure_presets,
                                           .offer = Offer::choices};
inline constexpr Flag measure_kernels_flag{.name = "kernels",
                                           .help = "With --metrics, of each kernel, too."};
inline constexpr Flag measure_no_patch_flag{
    .name = "no-patch", .help = "Without counters that make kernels far slower."};
inline constexpr Flag measure_all_flag{.name = "all", .help = "Every built-in network."};
inline constexpr Flag measure_seed_flag{
    .name = "seed", .value = "N", .help = "Of weights, inputs and targets; 1."};
inline constexpr Flag measure_on_flag{.name = "on",
                                      .value = "MACHINE",
                                      .help = "Whose peaks to compare with; else this device's.",
                                      .offer = Offer::machine};
inline constexpr Flag measure_by_flag{.name = "by",
                                      .value = "WHAT",
                                      .help = "Time by type, layer, block or pass.",
                                      .choices = measure_groupings,
                                      .offer = Offer::choices};
inline constexpr Flag measure_layers_flag{
    .name = "top",
    .value = "N",
    .help = "The N slowest layers below, or all of them: all.",
    .also = "layers"};
inline constexpr Flag measure_dry_run_flag{.name = "dry-run",
                                           .help = "Only what would be measured."};

std::unique_ptr<TrainingDevice> opened(const ChosenDevice& device, const DeviceChoices& choices);

/// Which kernels the device is to use, for a network of this type.
DeviceChoices device_choices(const Arguments& given, DType dtype);

MeasureOptions measure_options(const Arguments& given, const ChosenDevice& device);
Loss measure_loss(const Arguments& given);
MeasureView measure_view(const Arguments& given);

/// The machine whose peaks the result is held against: the one named (machine_of_device), the one
/// that `strata machine measure` wrote for this device, or one that ships under the device's name.
std::optional<Machine> machine_at_hand_of(const ChosenDevice& device, std::string_view device_name);
std::optional<Machine> machine_of_device(const Arguments& given, const ChosenDevice& device,
                                         std::string_view device_name);

}  // namespace strata
