// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/api/request.hpp"
#include "strata/report/plot.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// What `strata plot` draws, from what was typed.
namespace strata {

inline constexpr Flag plot_label_flag{
    .name = "label", .value = "TEXT", .help = "One per profile, as batch=16.", .repeats = true};

/// What a word is: a file of results by its content, or else a network.
enum class PlotFile { model, profile, sweep, convolutions };
std::string_view text_of(PlotFile file);
PlotFile sniffed(const std::string& word);

/// What each input is called: as --label says, or the name of its file without its ending.
std::vector<std::string> labels_of_plot(const Arguments& given);
/// Profiles as they are, networks predicted. Errors name the word.
std::vector<PlottedProfile> plotted_profiles(const Arguments& given);
/// What --on names, else the machine of the first profile.
Machine machine_of_plot(const Arguments& given, const std::vector<PlottedProfile>& profiles);

/// A prediction with its transfers, and what it refers to.
struct PlottedPrediction {
  std::unique_ptr<RecordedRequest> request;
  PredictedIteration iteration;
};
/// Of a network, or of a stored prediction by its recorded command.
PlottedPrediction plotted_prediction(const Arguments& given, const std::string& word);

/// "42.1 ms"
std::string time_text(double seconds);

}  // namespace strata
