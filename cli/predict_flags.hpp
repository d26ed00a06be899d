// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "cli/model_flags.hpp"
#include "strata/predict/option_names.hpp"
#include "strata/strata.hpp"

#include <array>
#include <span>
#include <string_view>

/// What every command that predicts asks for in the same words.
namespace strata {

inline constexpr std::array<std::string_view, 3> bounds_names = {"auto", "always", "never"};
inline constexpr std::array<std::string_view, 1> preset_names = {"thesis"};

inline constexpr Flag on_flag{.name = "on",
                              .value = "MACHINE",
                              .help = "Name or file; else the one measured, or h100-sxm.",
                              .offer = Offer::machine};
inline constexpr Flag set_flag{.name = "set",
                               .value = "FIELD=V",
                               .help = "Any of its numbers, as machine.FIELD=VALUE.",
                               .repeats = true};
inline constexpr Flag capacity_flag{
    .name = "capacity", .value = "SIZE", .help = "On-chip memory: 128MiB; else the machine's."};
inline constexpr Flag bandwidth_flag{
    .name = "bandwidth", .value = "RATE", .help = "Off-chip: 616GB/s; else the machine's."};
inline constexpr Flag throughput_flag{
    .name = "throughput",
    .value = "RATE",
    .help = "Of all arithmetic: 13.45TFLOP/s; else the machine's."};
inline constexpr Flag policy_flag{.name = "policy",
                                  .value = "P",
                                  .help = "What stays on chip: best, thesis, belady or exact.",
                                  .choices = policy_names,
                                  .offer = Offer::choices};
inline constexpr Flag prefetch_flag{.name = "prefetch",
                                    .value = "P",
                                    .help = "Loads ahead: soonest, listing, next-layer, none.",
                                    .choices = prefetch_names,
                                    .offer = Offer::choices};
inline constexpr Flag offload_flag{.name = "offload",
                                   .value = "O",
                                   .help = "When values leave: on-demand or look-ahead.",
                                   .choices = offload_names,
                                   .offer = Offer::choices};
inline constexpr Flag channel_flag{.name = "channel",
                                   .value = "ORDER",
                                   .help = "What goes first: loads-first or offload-first.",
                                   .choices = channel_names,
                                   .offer = Offer::choices};
inline constexpr Flag objective_flag{.name = "objective",
                                     .value = "O",
                                     .help = "What best makes small: time or traffic.",
                                     .choices = objective_names,
                                     .offer = Offer::choices};
inline constexpr Flag bounds_flag{.name = "bounds",
                                  .value = "WHEN",
                                  .help = "Lower bounds: auto, always or never.",
                                  .choices = bounds_names,
                                  .offer = Offer::choices};
inline constexpr Flag granularity_flag{
    .name = "granularity", .value = "SIZE", .help = "Keep parts of that size, not whole tensors."};
inline constexpr Flag strict_minimum_flag{
    .name = "strict-minimum", .help = "Refuse a capacity that makes layers cut weights."};
inline constexpr Flag optimizer_flag{.name = "optimizer",
                                     .value = "O",
                                     .help = "Update of the weights: none, sgd, momentum or adam.",
                                     .choices = optimizer_names,
                                     .offer = Offer::choices};
inline constexpr Flag loss_flag{.name = "loss",
                                .value = "L",
                                .help = "Loss where the network has none: auto, none or mse.",
                                .choices = loss_names,
                                .offer = Offer::choices};
inline constexpr Flag recompute_flag{.name = "recompute",
                                     .value = "R",
                                     .help = "Run forward again in backward: none, all or blocks.",
                                     .choices = recompute_names,
                                     .offer = Offer::choices};
inline constexpr Flag micro_batches_flag{
    .name = "micro-batches", .value = "N", .help = "The batch in N equal parts per update."};
inline constexpr Flag master_weights_flag{
    .name = "master-weights", .help = "Mixed precision: fp32 master weights and state."};
inline constexpr Flag separate_backward_flag{
    .name = "separate-backward", .help = "Gradients of inputs and weights in two steps."};
inline constexpr Flag pool_keeps_input_flag{
    .name = "pool-keeps-input", .help = "Max pooling keeps its input and output, not indices."};
inline constexpr Flag preset_flag{.name = "preset",
                                  .value = "NAME",
                                  .help = "thesis: all choices as in the thesis of the model.",
                                  .choices = preset_names,
                                  .offer = Offer::choices};

/// Which machine, and what is different about it.
inline constexpr std::array<Flag, 3> machine_flags = {on_flag, set_flag, preset_flag};
/// Flags that set_option knows by the same name.
inline constexpr std::array<Flag, 3> hardware_flags = {capacity_flag, bandwidth_flag,
                                                       throughput_flag};
inline constexpr std::array<Flag, 7> training_flags = {optimizer_flag,       loss_flag,
                                                       recompute_flag,       micro_batches_flag,
                                                       master_weights_flag,  separate_backward_flag,
                                                       pool_keeps_input_flag};
inline constexpr std::array<Flag, 8> schedule_flags = {
    policy_flag,    prefetch_flag, offload_flag,     channel_flag,
    objective_flag, bounds_flag,   granularity_flag, strict_minimum_flag};

inline constexpr std::array<std::string_view, 4> attention_choices = {"auto", "sdpa", "eager",
                                                                      "module"};
inline constexpr std::array<std::string_view, 2> amp_choices = {"bf16", "fp16"};
inline constexpr Flag framework_flag{.name = "framework",
                                     .value = "F",
                                     .help = "Whose expected time (strata list frameworks); none."};
inline constexpr Flag amp_flag{.name = "amp",
                               .value = "TYPE",
                               .help = "Autocast to bf16 or fp16; weights stay in fp32.",
                               .choices = amp_choices,
                               .offer = Offer::choices};
inline constexpr Flag channels_last_flag{.name = "channels-last", .help = "Images as N, H, W, C."};
inline constexpr Flag attention_flag{.name = "attention",
                                     .value = "A",
                                     .help = "Attention by sdpa, eager products or a module.",
                                     .choices = attention_choices,
                                     .offer = Offer::choices};
inline constexpr std::array<std::string_view, 2> expert_choices = {"apart", "grouped"};
inline constexpr Flag experts_flag{.name = "experts",
                                   .value = "E",
                                   .help = "Experts one by one, or in one grouped product.",
                                   .choices = expert_choices,
                                   .offer = Offer::choices};
inline constexpr Flag host_flag{.name = "host",
                                .value = "HOST",
                                .help = "Dispatch times: of a calibration, or 1.5x slower.",
                                .offer = Offer::file};
inline constexpr Flag require_fit_flag{
    .name = "require-fit", .help = "Exit with 1 when the device's memory is too small."};
inline constexpr std::array<Flag, 6> framework_flags = {
    framework_flag, amp_flag, channels_last_flag, attention_flag, experts_flag, host_flag};

/// Everything that can be asked of the prediction of a model, beside its machine.
inline constexpr auto prediction_flags =
    joined_flags(hardware_flags, size_flags, import_flags, training_flags, schedule_flags,
                 framework_flags, std::array<Flag, 1>{preset_flag});

/// The machine that the flags ask for, with what --set changes.
Machine machine_of(const Arguments& given);

/// Adds the values of those flags that are given, by their names.
void add_given(RequestText& words, const Arguments& given, std::span<const Flag> flags);

/// Everything else.
/// What the flags ask of a prediction of the first word, as data.
/// `has_framework`: the command takes framework_flags, too.
RequestText request_words(const Arguments& given, bool has_framework = false);
/// The same of another model, as the document of its prediction holds it.
std::string request_json(const Arguments& given, std::string_view model);
PredictRequest predict_request(const Arguments& given, bool has_framework = false);
/// Of a command that takes prediction_flags: without bounds and alternatives, which take longer
/// than the rest and which only predict and explain show.
PredictRequest quick_request(const Arguments& given);

}  // namespace strata
