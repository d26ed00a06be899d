// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/figures.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the studies that `strata reproduce` computes anew have in common. Their list is in
/// cli/studies.hpp, because some of them can measure, and what opens devices is there.
namespace strata {

struct StudyRequest {
  bool wants_figures = false;
  std::optional<std::string> from = {};     ///< a file of results; else what ships
  std::optional<std::string> run = {};      ///< measure anew, and keep it in this file
  std::optional<std::string> device = {};   ///< where to measure
  std::optional<std::string> machine = {};  ///< whose roofs what was measured is under
  std::optional<std::string> out = {};      ///< the folder that figures go to
  std::string command = {};                 ///< as it was typed, for what is written
  /// What is at work, and the share of it that is done; may be empty.
  std::function<void(std::string_view what, double share)> progress = {};
};

struct StudyResult {
  std::string title;       ///< of the publication
  std::string published;   ///< when and about what: "2016, Tesla K40c"
  std::string basis;       ///< what stands beside it: "predicted for a V100", "measured on …"
  std::string_view place;  ///< what the findings are of: "network"
  std::string_view rule;   ///< what "holds" means
  std::vector<Finding> findings;
  std::vector<Figure> figures = {};  ///< none when nobody wants them
  std::string measured = {};         ///< on which device it was measured, too; empty: on none
  std::string notes = {};            ///< lines for people below the table
  bool is_interrupted = false;

  std::string heading() const;  ///< "Title (2016, Tesla K40c), measured on NVIDIA H200"
};

/// Progress of one part of a study, as request.progress has it.
std::function<void(double)> study_progress(const StudyRequest& request, std::string_view what);

StudyResult run_analytical_study(const StudyRequest& request);
StudyResult run_convolution_study(const StudyRequest& request);

}  // namespace strata
