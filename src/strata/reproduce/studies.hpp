// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/figures.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The studies that `strata reproduce` computes anew, in one list: the command, its help and the
/// page of all of them take it from here. To add a study: a function that answers a StudyRequest,
/// and a line in `studies` below.
namespace strata {

struct StudyRequest {
  bool wants_figures = false;
  std::optional<std::string> from;  ///< a file of results; else what ships
  /// What is at work, and the share of it that is done; may be empty.
  std::function<void(std::string_view what, double share)> progress = {};
};

struct StudyResult {
  std::string title;       ///< who published it, and beside what it stands here
  std::string_view place;  ///< what the findings are of: "network"
  std::string_view rule;   ///< what "holds" means
  std::vector<Finding> findings;
  std::vector<Figure> figures = {};  ///< none when nobody wants them

  std::size_t printed() const;  ///< findings with a number or a claim of the study
  std::size_t held() const;     ///< those of them that hold
};

struct Study {
  std::string_view name;
  bool takes_results;  ///< --from goes with it: it looks at what was measured
  StudyResult (*run)(const StudyRequest& request);
};

// Each lives in its own file, or in studies.cpp.
StudyResult run_analytical_study(const StudyRequest& request);
StudyResult run_roofline_study(const StudyRequest& request);
StudyResult run_convolution_study(const StudyRequest& request);

inline constexpr Study studies[] = {
    {.name = "analytical", .takes_results = false, .run = run_analytical_study},
    {.name = "roofline", .takes_results = false, .run = run_roofline_study},
    {.name = "convolution", .takes_results = true, .run = run_convolution_study},
};

}  // namespace strata
