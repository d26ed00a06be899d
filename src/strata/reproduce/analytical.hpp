// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The printed results of "A Performance Analytical Model for DNN Training with Focus on Memory
/// Subsystem" (master thesis, National Taiwan University, 2021), computed anew: its 14
/// observations, and the comparisons of its figures 4.1 and 4.2.
namespace strata {

/// What was measured beside a finding, on another machine than the one it was predicted for.
struct MeasuredAnswer {
  std::string found;
  std::optional<bool> holds;  ///< nothing: a number of that machine, about which nothing is claimed
};

/// Where a printed number stands in a figure of ours that shows the same quantity.
struct PrintedPoint {
  std::string figure;       ///< its name: "figure-5.3-time"
  std::string panel = {};   ///< title of the panel, or of its y axis; empty: every panel
  std::optional<double> x;  ///< as in the figure; nothing: the same everywhere, a line
  double y = 0;
  std::string label = {};  ///< what is printed; beside a line, else when pointed at
};

/// One printed number or statement of a study beside what we get.
struct Finding {
  std::string observation;  ///< "8", "figure 4.1"
  std::string network;      ///< as the zoo calls it
  std::string what;         ///< "time, 24 → 500 MiB"
  std::string printed;      ///< what the study prints: "−48.1 %"
  std::string found;        ///< what we get, in the same form
  bool is_printed = true;   ///< false: it is not judged, or not printed at all
  bool holds = false;       ///< within 3 percentage points or 0.05×, or in the direction it claims
  std::string note;         ///< why not, where that is known
  std::optional<MeasuredAnswer> measured = {};
  std::vector<PrintedPoint> drawn = {};  ///< what is printed, in figures
  /// What the study says, in our words, and where: "… (observation 8)". Rows with the same sentence
  /// test one claim; empty: a number of ours, of which the study says nothing.
  std::string sentence = {};
  /// Why the row is in no count of the study: it is about kernels or networks that the study does
  /// not have. Empty: it is counted.
  std::string apart = {};
};

/// Calls `progress` with a share between 0 and 1 now and then.
std::vector<Finding> reproduce_analytical(const std::function<void(double)>& progress = {});

}  // namespace strata
