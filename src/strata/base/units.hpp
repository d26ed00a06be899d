// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Numbers as people write and read them. Inside Strata everything is in base units (bytes, FLOP,
/// seconds); this is the only place that knows what "ms" or "GB" means.
///
/// Units mean what SI and IEC say: kB, MB, GB are powers of 1000, KiB, MiB, GiB powers of 1024.
/// Traffic, tensors, files and rates are printed in MB and GB/s; what a chip or a device holds, and
/// what is compared with that, in MiB and GiB. Formatted numbers have `digits` significant digits
/// and a space before the unit: "98.0 MB".
namespace strata {

std::string format_bytes(double bytes, int digits = 3);              ///< "98.0 MB", "512 B"
std::string format_capacity(double bytes, int digits = 3);           ///< "128 MiB", "80.0 GiB"
std::string format_bytes_per_s(double bytes_per_s, int digits = 3);  ///< "616 GB/s"
std::string format_count(double count, int digits = 3);              ///< "25.6 M", "9.41 K", "750"
std::string format_flop(double flop, int digits = 3);                ///< "7.55 GFLOP"
std::string format_flop_per_s(double flop_per_s, int digits = 3);    ///< "13.4 TFLOP/s"
std::string format_time(double seconds, int digits = 3);             ///< "42.1 ms", "2.10 µs"
std::string format_exact(std::int64_t number);                       ///< "25,557,032"

/// The unit in which a number of that size is written, where many numbers share one unit: on an
/// axis, in the head of a column. {"MB", 1e6}, {"MiB", 2^20}, {"GB/s", 1e9}, {"ms", 1e-3}.
struct ScaledUnit {
  std::string name;
  double size = 1;
};
ScaledUnit bytes_unit(double bytes);
ScaledUnit capacity_unit(double bytes);
ScaledUnit count_unit(double count, std::string_view suffix = {});  ///< suffix: "B/s", "FLOP/s"
ScaledUnit time_unit(double seconds);

/// Whether a number of bytes with that name is printed by format_capacity: "capacity_bytes",
/// "footprint_bytes", "peak_memory_bytes", "scratch_bytes", "occupied_bytes".
bool is_capacity_name(std::string_view name);

/// Readers for what people type. White space around and before the unit is ignored, and so is the
/// case of the unit. A size or a rate other than 0 needs its unit, because 128M may mean two
/// numbers. An error (usage) quotes the text and says what to write; `what` names the thing:
/// "--capacity".
std::int64_t parse_bytes(std::string_view text,
                         std::string_view what);  ///< "128MB", "1.5GiB", "4096B"
double parse_bytes_per_s(std::string_view text, std::string_view what);  ///< "616GB/s", "1GiB/s"
double parse_flop_per_s(std::string_view text, std::string_view what);   ///< "13.45TFLOP/s"
std::int64_t parse_count(std::string_view text, std::string_view what);  ///< "32", "1.5K", "2M"
double parse_number(std::string_view text, std::string_view what);       ///< "1.25", "13.45T"
double parse_time(std::string_view text, std::string_view what);         ///< "2.1us", "10ms", "3 s"

/// A whole number in plain digits between `least` and `most`; nothing else is accepted.
std::int64_t parse_whole_number(std::string_view text, std::string_view what,
                                std::int64_t least = 1, std::int64_t most = INT64_MAX);

}  // namespace strata
