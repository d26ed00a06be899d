// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/profile_words.hpp"
#include "strata/explain/explain.hpp"
#include "strata/report/html_page.hpp"
#include "strata/report/measurement_summary.hpp"
#include "strata/strata.hpp"

#include <optional>
#include <string>

/// Profiles as parts of a page: with what limits them, their rooflines and, where it is known,
/// their network and their timeline.
namespace strata {

/// A predicted iteration, its findings, its timeline, its network and its rooflines. The
/// iteration must have its transfers.
HtmlPart page_part(const PredictedIteration& iteration, const Machine& machine,
                   const Explanation& explanation, const Provenance& provenance);

/// A measured one. Without a machine it has neither findings nor rooflines, and says so.
HtmlPart page_part(const MeasurementSummary& summary, const BoundGraph& bound,
                   const std::optional<Machine>& machine, const Provenance& provenance);

/// A profile from a file. Under the roofs that were asked for, else those of its machine; where
/// there are none, a note says why. A prediction that can be made again has its timeline, too.
HtmlPart page_part(std::string name, StoredProfile stored, const AskedRoofs& asked,
                   const Provenance& provenance);

}  // namespace strata
