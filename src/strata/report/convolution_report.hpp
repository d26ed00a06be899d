// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/advice.hpp"
#include "strata/convolution/lab/result.hpp"
#include "strata/report/chart/chart.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Results of the convolution lab as text, JSON, CSV and pictures; and back from JSON. All are
/// functions of what was stored.
namespace strata {

/// Within how much scratch memory advice is wanted, too.
struct ConvView {
  bool wants_details = false;  ///< rates, roles, kernels and efficiencies of every point
  std::vector<std::int64_t> budgets_bytes;
};

/// A table for each series and pass, refusals as notes below it, and the advice.
std::string to_text(const ConvResults& results, const ConvView& view, const TextStyle& style);

/// Every convolution of a network with the strategy to take, and what all would gain.
std::string network_advice_text(const ConvResults& results, const ConvView& view,
                                const TextStyle& style);

/// A line per point, pass and strategy.
std::string to_csv(const ConvResults& results);

/// One document; read_conv_results reads it again.
std::string to_json(const ConvResults& results, const ConvView& view, const Provenance& provenance);

/// The same as lines that a run can write one by one: first what is to be measured, then a line for
/// each cell in order. A file of them that ends early is the beginning of the whole.
std::string conv_lines_head(const ConvResults& plan);
std::string conv_line(std::size_t number, const ConvCell& cell);
std::string conv_line_begin(std::size_t number);

/// Reads either form. Errors (input) say where and what is wrong.
ConvResults read_conv_results(std::string_view text);
/// The same from a file; errors name it.
ConvResults load_conv_results(const std::filesystem::path& path);

/// A picture and what its file is called: "k-forward-time".
struct ConvPicture {
  std::string name;
  chart::ChartGrid grid;
};

/// The colour of a role in every picture.
chart::Color role_color(KernelRole role);

/// For each series and pass: time, memory, the roles of kernels, and of layers the efficiencies
/// where there are some.
std::vector<ConvPicture> conv_pictures(const ConvResults& results);

}  // namespace strata
