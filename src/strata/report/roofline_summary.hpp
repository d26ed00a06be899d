// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/roofline_picture.hpp"
#include "strata/report/text_style.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// What a roofline says, as plain data that refers to nothing: the one source of the table, the
/// JSON, the CSV and the pictures of `strata roofline`. Base units.
namespace strata {

/// A profile and what it is called in a picture.
struct LabelledProfile {
  std::string label;
  Profile profile;
};

struct RooflineSeries {
  std::string label;
  ProfileSubject subject;
  Evidence evidence = Evidence::predicted;
  ProfileColumns columns;
  bool mac_is_one = false;        ///< its FLOP and times count a multiply-add as 1 operation
  std::vector<RooflineRow> rows;  ///< in the order in which they ran
  RooflineRow total;              ///< all rows together, and the last write-backs of a prediction
  IterationTime iteration;        ///< of which shares are
};

struct RooflineSummary {
  std::string machine;
  std::string machine_title;
  std::string roof;             ///< the choice: "auto"
  std::vector<PeakRoof> peaks;  ///< used by any row, most FLOP first
  std::vector<MemoryRoof> memory;
  std::optional<double> launch_latency_s;
  RooflineBy by = RooflineBy::row;
  bool is_trajectory = false;  ///< the profiles are one work over a swept parameter, in order
  std::vector<RooflineSeries> series;
  std::vector<std::string> notes;  ///< what a reader should know
};

/// Errors (input) name the profile and the column that it lacks.
RooflineSummary summarize_roofline(const std::vector<LabelledProfile>& profiles,
                                   const Machine& machine, const RoofChoice& choice, RooflineBy by,
                                   bool is_trajectory);

/// The picture's data, before its kind is chosen. Errors (input) when the rows have no time and the
/// kind needs it.
chart::Chart roofline_chart(const RooflineSummary& summary, RooflineKind kind);

/// Several in one picture.
chart::ChartGrid roofline_grid(const RooflineSummary& summary,
                               const std::vector<RooflineKind>& kinds);

/// `top`: the rows with most time.
std::string to_text(const RooflineSummary& summary, std::size_t top, const TextStyle& style);
std::string to_csv(const RooflineSummary& summary);
std::string to_json(const RooflineSummary& summary, const Provenance& provenance);

/// "memory (DRAM)", "launch (else compute)": what bounds it, for people.
std::string bound_text(const RooflinePoint& point);

}  // namespace strata
