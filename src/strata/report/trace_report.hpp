// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/match_layers.hpp"
#include "strata/capture/recording.hpp"
#include "strata/capture/trace_tables.hpp"
#include "strata/explain/finding.hpp"
#include "strata/explain/slower_algorithm.hpp"
#include "strata/machine/recognise_gpu.hpp"
#include "strata/profile/profile.hpp"
#include "strata/report/model_summary.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a recording holds, as text, JSON, CSV and a timeline: pure functions of it.
namespace strata {

/// The network whose layers the profile has, and how its kernels found them.
struct TraceNetwork {
  std::string name;
  std::string title;
  std::string dtype;
  std::vector<Dimension> dims;
  bool is_inference = false;
  bool is_forward_only = false;
  LayerMatch match;
};

/// A kernel of the step that the profile is of: when it ran, and how it was launched.
struct StepKernel {
  std::string name;
  std::size_t row = 0;        ///< in the profile
  std::int64_t begin_ns = 0;  ///< after the first of them
  KernelRecord launch;
  std::optional<Occupancy> occupancy;
};

struct TraceReport {
  std::string file;
  TraceTables tables;
  std::vector<ProfileFinding> findings;
  std::optional<Profile> profile;                    ///< nothing: no kernels
  std::vector<StepKernel> kernels;                   ///< of it; none where nothing says when
  std::optional<TraceNetwork> network;               ///< nothing: none was given
  std::vector<std::optional<double>> copy_ceilings;  ///< per row of tables.by_copy
  std::string machine;          ///< whose links those are, for people; empty: none is known
  std::string missing_machine;  ///< why none is known; empty where one is
};

/// The machine on which the kernels of a recording ran, by what it says of its GPUs.
RecognisedGpu machine_of_recording(const Recording& recording);

/// What to do where a recording's machine is not known: `missing` and how to name one.
std::string without_machine_text(std::string_view missing);

/// Adds up a recording and looks for what stands out. The machine is the one given, else the one
/// that is recognised; what needs its numbers (links, matrix units) is left out where there is
/// none. With a network the profile has its layers.
TraceReport make_trace_report(std::string file, const Recording& recording, const Machine* machine,
                              const BoundGraph* network = nullptr,
                              const TrainingOptions& options = {});

/// Adds the finding that convolutions took longer than others measured, if they did.
void add_slower_algorithms(TraceReport& report, std::span<const MeasuredAlternative> alternatives);

/// How the kernels of a recording found the layers of the network, in lines for people.
std::string to_text(const TraceNetwork& network);

enum class TraceView : std::uint8_t { all, kernel, kernel_class, layer, api, copy };

struct TraceTextOptions {
  TraceView by = TraceView::all;
  std::size_t top = 10;
  std::size_t findings_in_full = 3;
};

std::string to_text(const TraceReport& report, const TraceTextOptions& options,
                    const TextStyle& style);

/// Everything. `layers` are those of the recording with the most kernel time, so that the document
/// is a profile, too. Keys are in docs/cli/trace.md.
std::string to_json(std::span<const TraceReport> reports, const Provenance& provenance);

/// A line per row of one table, all rows.
std::string to_csv(std::span<const TraceReport> reports, TraceView by);

/// Chrome's trace format, which Perfetto opens, piece by piece: a process per device with a track
/// per stream (two where kernels of a stream overlap), one per thread of the host, arrows from
/// launches to kernels, a curve of the memory.
void write_timeline(std::span<const Recording> recordings,
                    const std::function<void(std::string_view)>& write);

}  // namespace strata
