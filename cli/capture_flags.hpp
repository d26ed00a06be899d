// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/captured_model.hpp"
#include "cli/command.hpp"
#include "cli/html_output.hpp"
#include "strata/capture/capture_options.hpp"

#include <array>
#include <filesystem>

/// What `strata capture` asks for.
namespace strata {

inline constexpr std::array<std::string_view, 2> capture_starts = {"now", "profiler"};
inline constexpr std::array<std::string_view, 5> capture_presets = {"roofline", "efficiency",
                                                                    "stalls", "paper", "full"};

inline constexpr Flag capture_out_flag{.name = "out",
                                       .letter = 'o',
                                       .value = "FILE",
                                       .help = "The recording; %p, %h, %r: process, host, rank.",
                                       .offer = Offer::file};
inline constexpr Flag capture_duration_flag{
    .name = "duration", .value = "S", .help = "Records for S seconds from its beginning."};
inline constexpr Flag capture_kill_flag{.name = "kill",
                                        .help = "Ends the program when the recording is complete."};
inline constexpr Flag capture_start_flag{.name = "start",
                                         .value = "WHEN",
                                         .help = "now, or profiler: at cudaProfilerStart.",
                                         .choices = capture_starts,
                                         .offer = Offer::choices};
inline constexpr Flag capture_range_flag{
    .name = "range", .value = "NAME", .help = "Records inside NVTX ranges of this name."};
inline constexpr Flag capture_skip_flag{
    .name = "skip", .value = "N", .help = "Passes over the first N ranges or steps."};
inline constexpr Flag capture_steps_flag{
    .name = "steps", .value = "N", .help = "N ranges, else N steps that kernels repeat."};
inline constexpr Flag capture_light_flag{.name = "no-calls",
                                         .help = "No records of CUDA calls and allocations."};
inline constexpr Flag capture_calls_flag{.name = "calls",
                                         .help = "All CUDA calls, also where they are many."};
inline constexpr Flag capture_metrics_flag{
    .name = "metrics",
    .value = "PRESET",
    .help = "Counters per kernel, in further runs of the program.",
    .choices = capture_presets,
    .offer = Offer::choices};
inline constexpr Flag capture_json_flag{.name = "json",
                                        .value = "FILE",
                                        .help = "The tables as JSON; - is standard output.",
                                        .offer = Offer::output};
inline constexpr Flag capture_trace_flag{.name = "trace",
                                         .value = "FILE",
                                         .help = "A timeline for Perfetto (Chrome JSON).",
                                         .offer = Offer::output};
inline constexpr Flag capture_merge_flag{.name = "merge",
                                         .help = "Runs nothing: the logs given become one file."};
inline constexpr Flag capture_keep_flag{.name = "keep-logs",
                                        .help = "Leaves the logs of the processes there."};
inline constexpr Flag capture_dry_run_flag{.name = "dry-run", .help = "Only what would be run."};

inline constexpr auto capture_flags = joined_flags(
    std::array{capture_out_flag, capture_duration_flag, capture_kill_flag, capture_start_flag,
               capture_range_flag, capture_skip_flag, capture_steps_flag, capture_metrics_flag,
               capture_light_flag, capture_calls_flag, capture_json_flag, capture_trace_flag,
               html_flag, capture_merge_flag, capture_keep_flag, capture_dry_run_flag},
    captured_model_flags);

/// Errors (usage) say which flags do not go together.
CaptureOptions capture_options_of(const Arguments& given);
std::int64_t steps_of(const Arguments& given, const Flag& flag);
/// What is loaded into programs. Errors (environment): it is not there.
std::filesystem::path library_to_inject();
/// Where the result goes.
std::filesystem::path capture_file_of(const Arguments& given);

}  // namespace strata
