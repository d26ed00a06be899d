// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/predict.hpp"
#include "strata/sweep/answers_sensitivity.hpp"
#include "strata/sweep/run_points.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Every combination of networks, machines and options, predicted. The façade of sweep/, which
/// knows axes and points but neither networks nor the names of options.
///
///     const Sweep sweep({.models = {"resnet50"}, .parameters = {{"capacity",
///     "24MiB:1000MiB:2MiB"}}}); const std::unique_ptr<PointWorker> worker = sweep.worker(); for
///     (std::int64_t point = 0; point < sweep.grid().size(); ++point) … worker->at(point) …
namespace strata {

/// One parameter and its values as people type them: {"capacity", "24MiB:1000MiB:2MiB"}. Names are
/// those of the flags of `strata predict` ("batch", "policy", …), "on" for machines, "dim.NAME"
/// for other sizes of a network, and "machine.FIELD" for any number of a machine.
struct SweepValues {
  std::string name;
  std::string values;
  std::string place = {};  ///< how errors name it: "--capacity", "big.toml: line 4"; empty: --name
};

struct SweepRequest {
  std::vector<std::string> models;
  ImportOptions import;
  std::string preset;  ///< "thesis", or empty
  std::vector<SweepValues> parameters;
  std::vector<std::string> columns = {};  ///< derived ones: "cost=area_mm2*0.2"
  std::vector<std::string> where = {};    ///< formulas; points for which one fails are left out
  bool wants_limit = true;  ///< false: expected times alone, which take a fraction of the time
};

/// Reads a sweep file, TOML or JSON (docs/sweeps.md). Errors (input) name the file and the line.
SweepRequest read_sweep_file(const std::filesystem::path& path);
/// Whether a file says of itself that it is a sweep file; whatever else it is, false.
bool is_sweep_file(const std::filesystem::path& path);

/// The names of parameters that need no further explanation, for messages and completions.
std::vector<std::string> sweep_parameters();

/// A sweep whose networks and machines are loaded and whose every value was checked.
class Sweep {
 public:
  /// Errors (usage, input) say what of the request is wrong, before anything is computed.
  explicit Sweep(const SweepRequest& request);
  ~Sweep();
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  const Grid& grid() const;
  const SweepColumns& columns() const;
  /// Equal for requests that mean the same points; differs when a file that is read has changed.
  const SweepIdentity& identity() const;
  std::int64_t program_count() const;
  bool has_limit() const;    ///< false: expected times alone
  bool is_parallel() const;  ///< points are strategies over many devices (docs/sweeps.md)
  /// All points from `first` on.
  PointRange range(std::int64_t first = 0) const;
  const std::vector<Graph>& graphs() const;
  /// Computes points on one thread. Several may be at work at once; they share programs.
  std::unique_ptr<PointWorker> worker() const;

  /// Derived columns and constraints, as they were asked for.
  const std::vector<std::string>& derived_columns() const;
  const std::vector<std::string>& constraints() const;
  /// Which network a point is of, as it was asked for.
  std::string model_at(std::int64_t point) const;
  /// What a tenth more of each resource buys there. An error (input) when the point fails.
  SensitivityAnswer sensitivity_at(std::int64_t point) const;
  /// The capacity that each scope of reuse of its network needs; nothing is captured.
  std::vector<ScopeReuse> reuse_at(std::int64_t point) const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace strata
