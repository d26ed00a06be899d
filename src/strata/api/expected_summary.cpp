// SPDX-License-Identifier: Apache-2.0
// The expected time of a prediction: in its rows and groups, beside what a user can change.
#include "strata/api/predict.hpp"
#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace strata {
namespace {

/// The rows of a profile get what the steps of the same layer and pass are expected to take.
void add_expected_rows(Profile& profile, const ExpectedTime& expected) {
  std::map<std::pair<std::string_view, std::string_view>, ExpectedRow> rows;
  for (const ExpectedLayer& layer : expected.layers) {
    ExpectedRow& row = rows[{layer.layer, layer.pass}];
    row.busy_s += layer.step.busy_s;
    row.kernels_s += layer.step.kernels_s;
    row.host_s += layer.step.host_s;
    row.launches += layer.step.launches;
  }
  for (ProfileRow& row : profile.rows) {
    const auto found = rows.find({row.layer, row.pass});
    row.expected = found == rows.end() ? ExpectedRow{} : found->second;
    if (found != rows.end()) rows.erase(found);  // of several rows with one key, the first
  }
}

void add_expected_groups(std::vector<ProfileGroup>& groups, const Profile& profile,
                         std::string ProfileRow::*key) {
  std::map<std::string_view, double> sums;
  for (const ProfileRow& row : profile.rows) {
    if (row.expected) sums[row.*key] += row.expected->busy_s;
  }
  for (ProfileGroup& group : groups) group.expected_s = sums[group.name];
}

std::int64_t largest_batch(const Graph& graph, const ExpectedTimes& times,
                           const PredictRequest& request, const BoundGraph& bound,
                           std::int64_t needed_bytes, double device_bytes) {
  const auto batch = bound.binding.find("batch");
  if (batch == bound.binding.end() || batch->second < 2) return 0;
  PredictRequest one = request;
  set_batch(one.sizes, 1);
  const double least =
      static_cast<double>(times.of(bind_model(graph, one.sizes), request.training).memory_bytes);
  const double per_sample =
      (static_cast<double>(needed_bytes) - least) / static_cast<double>(batch->second - 1);
  if (least > device_bytes || per_sample <= 0) return 0;
  return 1 + static_cast<std::int64_t>((device_bytes - least) / per_sample);
}

/// What a user can change, predicted again.
class UserChanges {
 public:
  UserChanges(const Graph& graph, const Machine& machine, const PredictRequest& request,
              const ExpectedTime& now, std::int64_t samples)
      : graph_(graph), machine_(machine), request_(request), now_(now), samples_(samples) {}

  std::vector<Alternative> all() {
    const bool is_autocast = request_.framework_options.autocast.has_value();
    const DType dtype = request_.sizes.dtype.value_or(DType::fp32);
    if (dtype == DType::fp32 && !is_autocast &&
        find_peak(machine_, DType::tf32, ComputeUnit::matrix))
      try_change("--dtype tf32", [](PredictRequest& to) { to.sizes.dtype = DType::tf32; });
    if ((dtype == DType::fp32 || dtype == DType::tf32) && !is_autocast &&
        find_peak(machine_, DType::bf16, ComputeUnit::matrix))
      try_change("--amp bf16", [](PredictRequest& to) {
        to.sizes.dtype = std::nullopt;
        to.framework_options.autocast = DType::bf16;
      });
    if (request_.framework_options.attention == AttentionKernels::eager)
      try_change("--attention sdpa", [](PredictRequest& to) {
        to.framework_options.attention = AttentionKernels::fused;
      });
    const std::int64_t twice = 2 * samples_;
    if (samples_ > 0)
      try_change(
          fmt::format("batch {}", twice), [&](PredictRequest& to) { set_batch(to.sizes, twice); },
          twice);
    return std::move(found_);
  }

 private:
  template <class Change>
  void try_change(std::string text, Change change, std::int64_t samples = 0) {
    PredictRequest changed = request_;
    change(changed);
    const ExpectedRequest wanted{now_.framework, changed.framework_options};
    const ExpectedTime time = ExpectedTimes(with_overrides(machine_, changed.hardware), wanted)
                                  .of(bind_model(graph_, changed.sizes), changed.training);
    const double ratio = time.time_s / now_.time_s;
    const double more =
        samples > 0 ? static_cast<double>(samples) / static_cast<double>(samples_) : 1;
    found_.push_back({.change = std::move(text),
                      .time_ratio = ratio,
                      .speed_ratio = more / ratio,
                      .changes_samples = samples > 0,
                      .is_expected = true});
  }

  const Graph& graph_;
  const Machine& machine_;
  const PredictRequest& request_;
  const ExpectedTime& now_;
  std::int64_t samples_;
  std::vector<Alternative> found_;
};

}  // namespace

namespace {

/// What a user can change stands before what only another chip has. The limit of another batch or
/// data type says little of what would happen.
void add_user_changes(PredictionSummary& summary, const Graph& graph, const Machine& machine,
                      const PredictRequest& request, const BoundGraph& bound) {
  const auto batch = bound.binding.find("batch");
  const std::int64_t samples = batch == bound.binding.end() ? 0 : batch->second;
  std::vector<Alternative> all =
      UserChanges(graph, machine, request, *summary.expected, samples).all();
  for (Alternative& one : summary.alternatives) {
    if (one.is_of_chip) all.push_back(std::move(one));
  }
  summary.alternatives = std::move(all);
}

}  // namespace

std::optional<ExpectedRequest> expected_request(const PredictRequest& request) {
  const std::string framework = request.framework.value_or("pytorch-eager");
  if (framework == "none") return std::nullopt;
  return ExpectedRequest{framework, request.framework_options};
}

std::optional<std::string> reason_against_expected(const Machine& machine,
                                                   const PredictRequest& request) {
  const auto wanted = expected_request(request);
  if (!wanted) return "not asked for";
  if (auto reason = ExpectedTimes::reason_against(machine, *wanted)) return reason;
  if (request.training.inference) return "expected times are of training";
  return std::nullopt;
}

void add_expected(PredictionSummary& summary, const Graph& graph, const Machine& machine,
                  const PredictRequest& request) {
  const auto wanted = expected_request(request);
  if (const auto reason = reason_against_expected(machine, request)) {
    if (wanted && request.framework) fail(ErrorKind::unsupported, "no expected time: {}", *reason);
    summary.no_expected_reason = *reason;
    return;
  }
  const ExpectedTimes times(with_overrides(machine, request.hardware), *wanted);
  const BoundGraph bound = bind_model(graph, request.sizes);
  summary.expected = times.of(bound, request.training);
  if (summary.expected->launches == 0) {
    summary.expected.reset();
    summary.no_expected_reason = "the network launches nothing";
    return;
  }
  add_expected_rows(summary.profile, *summary.expected);
  add_expected_groups(summary.by_type, summary.profile, &ProfileRow::op);
  add_expected_groups(summary.by_pass, summary.profile, &ProfileRow::pass);
  add_expected_groups(summary.by_block, summary.profile, &ProfileRow::block);
  add_expected_groups(summary.by_class, summary.profile, &ProfileRow::layer_class);
  if (request.wants_alternatives) add_user_changes(summary, graph, machine, request, bound);
  if (!summary.fits_device())
    summary.largest_batch = largest_batch(
        graph, times, request, bound, summary.expected->memory_bytes, *summary.device_memory_bytes);
}

}  // namespace strata
