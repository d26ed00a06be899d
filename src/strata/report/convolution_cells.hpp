// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/advice.hpp"
#include "strata/convolution/lab/result.hpp"
#include "strata/report/text_style.hpp"

#include <cstdint>
#include <string>

/// The parts of which the tables of convolutions are made.
namespace strata {

/// "0.667", "12.4", "1240": milliseconds to three digits, never with an exponent.
std::string milliseconds_text(double seconds);
/// "0", "0.4", "310": for columns of megabytes.
std::string mebibytes_text(std::int64_t bytes);

/// " ± 12 %"; empty below 5 %, which no choice turns on.
std::string spread_text(double spread);

/// "k on b64 c3 128×128 f64 s1 p0", "layers".
std::string series_text(const ConvSeries& series);
/// "forward, fp32, NVIDIA H200: k on b64 c3 128×128 f64 s1 p0   ms (scratch MiB)".
std::string series_title(const ConvResults& results, const ConvSeries& series, ConvPass pass);

/// For each point a row per strategy with rates, memory, error, roles and kernels.
std::string details_text(const ConvResults& results, const ConvIndex& index,
                         const ConvSeries& series, ConvPass pass, const TextStyle& style);

/// The six efficiencies of each point and strategy; why there are none. Empty where no cell has
/// any.
std::string efficiencies_text(const ConvResults& results, const ConvIndex& index,
                              const ConvSeries& series, ConvPass pass, const TextStyle& style);

/// "all: 29.1 ms, cudnn:pick 41.0 ms: 1.41× …".
std::string network_sum_text(const ConvNetworkAdvice& advice);

}  // namespace strata
