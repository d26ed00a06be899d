// SPDX-License-Identifier: Apache-2.0
#include "strata/report/roofline_summary.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/roofline/column_findings.hpp"
#include "strata/roofline/counted_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace strata {
namespace {

constexpr std::size_t most_labels = 6;     // of one series, beside its points
constexpr std::size_t most_labelled = 24;  // rows; of more, names beside a few tell nothing
constexpr std::size_t most_in_note = 3;    // rows that a note names

constexpr std::array<chart::Marker, 5> track_markers = {
    chart::Marker::circle, chart::Marker::square, chart::Marker::triangle, chart::Marker::diamond,
    chart::Marker::inverted};

RooflineSeries series_of(const LabelledProfile& labelled, const Roofs& roofs, RooflineBy by) {
  const Profile& profile = labelled.profile;
  if (profile.rows.empty())
    fail(ErrorKind::input, "{}: it has no row to place under a roof: nothing is computed or moved",
         labelled.label);
  try {
    return {.label = labelled.label,
            .subject = profile.subject,
            .evidence = profile.evidence,
            .columns = profile.columns,
            .mac_is_one = profile.mac_is_one,
            .rows = roofline_of(profile, roofs, by),
            .total = roofline_of(profile, roofs, RooflineBy::all).front(),
            .iteration = iteration_of(profile)};
  } catch (Error& error) {
    error.add_context(labelled.label);
    throw;
  }
}

// The roofs under which all arithmetic of all series is done, the heaviest first.
std::vector<PeakRoof> peaks_of(const std::vector<RooflineSeries>& series, const Roofs& roofs) {
  std::vector<std::pair<double, PeakRoof>> found;
  const auto add = [&](double flop, const PeakRoof& roof) {
    const auto same = std::find_if(found.begin(), found.end(),
                                   [&](const auto& other) { return other.second == roof; });
    if (same == found.end()) {
      found.emplace_back(flop, roof);
    } else {
      same->first += flop;
    }
  };
  for (const RooflineSeries& one : series) {
    const Work& work = one.total.work;
    for (const TypedFlop& part : work.arithmetic)
      add(static_cast<double>(part.flop), peak_for(roofs, part.dtype, part.is_matrix));
    if (work.arithmetic.empty()) add(0, one.total.point.peaks.front());
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<PeakRoof> peaks;
  peaks.reserve(found.size());
  for (auto& [flop, roof] : found) peaks.push_back(std::move(roof));
  return peaks;
}

constexpr std::string_view other_roofs =
    "the roofs are not those that it was predicted under, or an older Strata predicted it";
// In the order of AboveRoof.
constexpr std::array<std::string_view, 3> above_reasons = {
    "Winograd's algorithm and the FFT do fewer operations than are counted",
    "caches keep their bytes",
    "the profile is of another machine, or its counts are not of these rows"};

/// Rows whose counted arithmetic shows another algorithm, the longest first.
void note_algorithm(const RooflineSeries& series, Algorithm algorithm,
                    std::vector<std::string>& notes) {
  std::vector<const RooflineRow*> rows;
  for (const RooflineRow& row : series.rows) {
    if (algorithm_of(row) == algorithm) rows.push_back(&row);
  }
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), [](const RooflineRow* a, const RooflineRow* b) {
    return a->work.time_s > b->work.time_s;
  });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(most_in_note, rows.size()); ++i) {
    const std::string& by = rows[i]->implementation;
    names.push_back(fmt::format("{} {:.2f}×{}", rows[i]->name, *counted_over_defined(*rows[i]),
                                by.empty() ? "" : fmt::format(" ({})", by)));
  }
  const std::size_t more = rows.size() - names.size();
  notes.push_back(fmt::format(
      "{} row{} far {} operations than the definition: {}{}; {}", rows.size(),
      rows.size() == 1 ? " does" : "s do",
      algorithm == Algorithm::fewer_operations ? "fewer" : "more", fmt::join(names, ", "),
      more > 0 ? fmt::format(" and {} more", more) : "",
      algorithm == Algorithm::fewer_operations ? "another algorithm (Winograd's, FFT)"
                                               : "padding, or the same work done twice"));
}

void note_counted(const RooflineSeries& series, std::vector<std::string>& notes) {
  const auto has = [&](auto is_so) {
    return std::any_of(series.rows.begin(), series.rows.end(), is_so);
  };
  if (!has([](const RooflineRow& row) { return row.definition.has_value(); })) return;
  const bool counts_flop = has([](const RooflineRow& row) { return row.work.counts_flop; });
  const bool is_at_most = has([](const RooflineRow& row) { return row.work.is_flop_at_most; });
  notes.push_back(fmt::format(
      "{}: {} as the device counted them{}", series.label, counts_flop ? "FLOP and bytes" : "bytes",
      !counts_flop ? "; FLOP by definition"
      : is_at_most ? "; of the FLOP only an upper bound, which counts where it is below the "
                     "definition"
                   : ""));
  note_algorithm(series, Algorithm::fewer_operations, notes);
  note_algorithm(series, Algorithm::more_operations, notes);
}

std::vector<std::string> notes_of(const RooflineSummary& summary, const Machine& machine) {
  std::vector<std::string> notes;
  if (!summary.launch_latency_s)
    notes.push_back("the machine says no launch latency: no row is called launch-bound");
  std::map<std::string_view, std::size_t> above;  // rows by why they are
  for (const RooflineSeries& series : summary.series) {
    if (!series.columns.has_launches) {
      notes.push_back(fmt::format(
          "{} does not count launches: none of its rows is called launch-bound", series.label));
    }
    if (series.mac_is_one) {
      notes.push_back(fmt::format(
          "{} counts a multiply-add as 1 operation, in its FLOP as in its times", series.label));
    }
    note_counted(series, notes);
    for (const RooflineRow& row : series.rows) {
      const auto why = why_above_roof(row, machine);
      if (!why) continue;
      const bool is_predicted = series.evidence == Evidence::predicted;
      ++above[is_predicted ? other_roofs : above_reasons[static_cast<std::size_t>(*why)]];
    }
  }
  for (const auto& [reason, rows] : above) {
    notes.push_back(fmt::format("{} row{} above the roof: {}", rows, rows == 1 ? "" : "s", reason));
  }
  return notes;
}

std::string hint_of(const RooflineRow& row) {
  return fmt::format(
      "{}, {}, {}{}", row.name, format_time(row.work.time_s), bound_text(row.point),
      row.point.distance > 0 ? fmt::format(", {:.2f}× from the roof", row.point.distance) : "");
}

TrackPoint point_of(const RooflineRow& row, std::string label) {
  return {.work = row.work,
          .point = row.point,
          .label = std::move(label),
          .hint = hint_of(row),
          .definition = row.definition};
}

// "batch" of "batch=16", "batch=32", …: what is swept; empty when labels are not of that form.
std::string swept_name(const std::vector<RooflineSeries>& series) {
  const std::size_t equals = series.front().label.find('=');
  if (equals == std::string::npos) return "";
  const std::string name = series.front().label.substr(0, equals);
  const bool is_shared = std::all_of(series.begin(), series.end(), [&](const auto& one) {
    return one.label.starts_with(name + "=");
  });
  return is_shared ? name : "";
}

// One track per row name, its points in the order of the profiles.
std::vector<RooflineTrack> trajectories(const RooflineSummary& summary) {
  std::vector<RooflineTrack> tracks;
  std::map<std::string, std::size_t> index;
  const std::string swept = swept_name(summary.series);
  const std::size_t skipped = swept.empty() ? 0 : swept.size() + 1;
  for (const RooflineSeries& series : summary.series) {
    for (const RooflineRow& row : series.rows) {
      const auto [at, is_new] = index.try_emplace(row.name, tracks.size());
      if (is_new) tracks.push_back({.name = row.name, .is_joined = true, .points = {}});
      tracks[at->second].points.push_back(point_of(row, series.label.substr(skipped)));
      tracks[at->second].points.back().hint = fmt::format("{}, {}", series.label, hint_of(row));
    }
  }
  return tracks;
}

// Names beside the points that take longest; the others say theirs when pointed at.
std::vector<std::string> labels_of(const std::vector<RooflineRow>& rows) {
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rows[a].work.time_s > rows[b].work.time_s;
  });
  std::vector<std::string> labels(rows.size());
  if (rows.size() > most_labelled) return labels;
  for (std::size_t i = 0; i < std::min(most_labels, order.size()); ++i)
    labels[order[i]] = rows[order[i]].name;
  return labels;
}

// A single profile is coloured by what bounds its rows.
std::vector<RooflineTrack> tracks_by_bound(const RooflineSeries& series) {
  std::vector<RooflineTrack> tracks;
  const std::vector<std::string> labels = labels_of(series.rows);
  for (const Bound bound : {Bound::compute, Bound::memory, Bound::launch}) {
    RooflineTrack track{.name = fmt::format("{}-bound", name_of(bound)), .points = {}};
    track.color = static_cast<chart::Color>(bound);
    track.marker = track_markers[static_cast<std::size_t>(bound)];
    for (std::size_t i = 0; i < series.rows.size(); ++i) {
      if (series.rows[i].point.bound == bound)
        track.points.push_back(point_of(series.rows[i], labels[i]));
    }
    if (!track.points.empty()) tracks.push_back(std::move(track));
  }
  return tracks;
}

std::vector<RooflineTrack> tracks_of(const RooflineSummary& summary) {
  if (!summary.is_trajectory && summary.series.size() == 1)
    return tracks_by_bound(summary.series.front());
  std::vector<RooflineTrack> tracks;
  if (summary.is_trajectory) {
    tracks = trajectories(summary);
  } else {
    for (const RooflineSeries& series : summary.series) {
      RooflineTrack track{.name = series.label, .points = {}};
      const std::vector<std::string> labels = labels_of(series.rows);
      for (std::size_t i = 0; i < series.rows.size(); ++i)
        track.points.push_back(point_of(series.rows[i], labels[i]));
      tracks.push_back(std::move(track));
    }
  }
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    tracks[i].color = i;
    tracks[i].marker = track_markers[i % track_markers.size()];
  }
  return tracks;
}

std::string subject_text(const RooflineSummary& summary) {
  const RooflineSeries& first = summary.series.front();
  if (summary.series.size() == 1 || summary.is_trajectory)
    return first.subject.title.empty() ? first.label : first.subject.title;
  return fmt::format("{} profiles", summary.series.size());
}

constexpr std::array<std::string_view, 4> picture_titles = {"Roofline", "Complexity", "Time",
                                                            "Complexity and time"};
constexpr std::array<std::string_view, 4> panel_titles = {"Classic", "Complexity", "Time",
                                                          "Combined"};

}  // namespace

std::string bound_text(const RooflinePoint& point) {
  const auto named = [&](Bound bound) {
    return bound == Bound::memory ? fmt::format("memory ({})", point.memory_level)
                                  : std::string(name_of(bound));
  };
  if (point.bound == point.complexity_bound) return named(point.bound);
  return fmt::format("{}, else {}", named(point.bound), named(point.complexity_bound));
}

RooflineSummary summarize_roofline(const std::vector<LabelledProfile>& profiles,
                                   const Machine& machine, const RoofChoice& choice, RooflineBy by,
                                   bool is_trajectory) {
  STRATA_CHECK(!profiles.empty(), "a roofline needs a profile");
  const Roofs roofs = roofs_of(machine, choice);
  RooflineSummary summary{.machine = machine.name,
                          .machine_title = machine.title,
                          .roof = name_of(choice),
                          .peaks = {},
                          .memory = roofs.memory,
                          .launch_latency_s = roofs.launch_latency_s,
                          .by = by,
                          .is_trajectory = is_trajectory};
  for (const LabelledProfile& labelled : profiles)
    summary.series.push_back(series_of(labelled, roofs, by));
  summary.peaks = peaks_of(summary.series, roofs);
  summary.notes = notes_of(summary, machine);
  std::vector<NamedProfile> named;
  named.reserve(profiles.size());
  for (const LabelledProfile& labelled : profiles)
    named.push_back({labelled.label, &labelled.profile});
  for (std::string& finding : column_findings(named, machine))
    summary.notes.push_back(std::move(finding));
  return summary;
}

chart::Chart roofline_chart(const RooflineSummary& summary, RooflineKind kind) {
  for (const RooflineSeries& series : summary.series) {
    if (series.columns.has_time || kind == RooflineKind::complexity) continue;
    fail(ErrorKind::input,
         "{}: its rows have no time ('time_s'); of the pictures only complexity works without it",
         series.label);
  }
  const std::string swept = summary.is_trajectory ? swept_name(summary.series) : "";
  RooflinePicture picture{
      .title = fmt::format("{}: {}, {}", picture_titles[static_cast<std::size_t>(kind)],
                           subject_text(summary), summary.machine_title),
      .subtitle = swept.empty() ? "" : fmt::format("joined over {}", swept),
      .peaks = summary.peaks,
      .memory = summary.memory,
      .launch_latency_s = summary.launch_latency_s,
      .tracks = tracks_of(summary)};
  return roofline_chart(picture, kind);
}

chart::ChartGrid roofline_grid(const RooflineSummary& summary,
                               const std::vector<RooflineKind>& kinds) {
  const bool is_counted =
      std::any_of(summary.series.begin(), summary.series.end(),
                  [](const RooflineSeries& one) { return one.total.definition.has_value(); });
  chart::ChartGrid grid{
      .title = fmt::format("Rooflines: {}, {}", subject_text(summary), summary.machine_title),
      .subtitle = fmt::format(
          "{}Combined: closed symbols are FLOP and bytes, open ones the time taken × peak and "
          "× bandwidth; grey boxes: launches take longer",
          is_counted ? "Classic and complexity: closed as counted, open by definition. " : ""),
      .panels = {},
      .width = 1200,
      .plot_height = 340};
  for (const RooflineKind kind : kinds) {
    grid.panels.push_back(roofline_chart(summary, kind));
    grid.panels.back().title = panel_titles[static_cast<std::size_t>(kind)];
  }
  return grid;
}

}  // namespace strata
