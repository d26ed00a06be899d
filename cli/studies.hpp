// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/studies.hpp"

#include <string_view>

/// The studies that `strata reproduce` computes anew, in one list: the command, its help and the
/// page of all of them take it from here. To add a study: a function that answers a StudyRequest,
/// and a line below.
namespace strata {

struct Study {
  std::string_view name;
  bool takes_results = false;  ///< --from goes with it: it looks at what was measured
  bool measures = false;       ///< and --run: it can measure that itself
  StudyResult (*run)(const StudyRequest& request) = nullptr;
};

StudyResult run_roofline_study(const StudyRequest& request);
StudyResult run_layerwise_study(const StudyRequest& request);
StudyResult run_capture_study(const StudyRequest& request);

inline constexpr Study studies[] = {
    {.name = "analytical", .run = run_analytical_study},
    {.name = "roofline", .takes_results = true, .measures = true, .run = run_roofline_study},
    {.name = "convolution", .takes_results = true, .run = run_convolution_study},
    {.name = "layerwise", .takes_results = true, .measures = true, .run = run_layerwise_study},
    {.name = "capture", .takes_results = true, .measures = true, .run = run_capture_study},
};

}  // namespace strata
