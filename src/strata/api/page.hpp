// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/measure.hpp"
#include "strata/api/stored_profile.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/report/html_page.hpp"
#include "strata/report/parallel_report.hpp"
#include "strata/report/roofline_summary.hpp"
#include "strata/report/scaling_report.hpp"

#include <string>

/// Any result as a part of the report page; html_page makes the file of one or several parts.
///
///     const PageSection part = page_section(summary, provenance);
///     const std::string file = html_page(part.name, {part});
namespace strata {

/// A result of its own: its name, and the document that --json writes, are all it takes.
PageSection page_section(const ModelSummary& summary, const Provenance& provenance);
PageSection page_section(const RooflineSummary& summary, const Provenance& provenance);
PageSection page_section(const ConvResults& results, const ConvView& view,
                         const Provenance& provenance);
/// `answers`: the document of what was asked of the points; empty: nothing was.
PageSection page_section(const SweepTable& table, const Provenance& provenance,
                         const std::string& answers = {});

/// A predicted iteration, its findings, its timeline, its network and its rooflines. The
/// iteration must have its transfers.
PageSection page_section(const PredictedIteration& iteration, const Machine& roofs,
                         const Explanation& explanation, const Provenance& provenance);

/// A measured one. Without a machine it has neither findings nor rooflines, and says so.
PageSection page_section(const MeasuredModel& measured, const Provenance& provenance);

/// Training on many devices: one strategy, or all of them with the best in full. What would change
/// it, and its findings, where they are given.
PageSection page_section(const ParallelSummary& summary, const Explanation* explanation,
                         const Provenance& provenance);
PageSection page_section(const ParallelChoice& choice, const Explanation* explanation,
                         const Provenance& provenance);

/// The best strategy for each of several numbers of devices.
PageSection page_section(const ParallelScaling& scaling, const Provenance& provenance);

/// A profile from a file. Under the roofs that were asked for, else those of its machine; where
/// there are none, a note says why. A prediction that can be made again has its timeline, too.
PageSection page_section(std::string name, StoredProfile stored, const AskedRoofs& asked,
                         const Provenance& provenance);

/// A result as JSON, whatever it is: a profile, a roofline, a model, convolutions, a comparison, an
/// explanation, machines, studies. Errors (input) say what came instead.
PageSection page_section(std::string name, std::string document, const AskedRoofs& asked,
                         const Provenance& provenance);
/// Of a file, which may also be a recording, or the points of a sweep. Errors name the file.
PageSection page_part_of_file(const std::string& path, const AskedRoofs& asked,
                              const Provenance& provenance);

/// Rooflines of a profile under a machine, and their pictures for the plain page. A profile or a
/// machine that lacks what it takes leaves a note instead.
void add_rooflines(PageSection& part, const Profile& profile, const Machine& machine,
                   const Provenance& provenance);

}  // namespace strata
