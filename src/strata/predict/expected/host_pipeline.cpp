// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/host_pipeline.hpp"

#include <algorithm>
#include <unordered_map>

namespace strata {
namespace {

const HostTime& host_time(const Calibration& calibration, const std::string& kind) {
  static const HostTime none;
  const auto found = calibration.host_times.find(kind);
  return found == calibration.host_times.end() ? none : found->second;
}

/// Of one call of an operator; of any other where it was not measured.
const HostTime& call_time(const Calibration& calibration, const OperatorRule* rule) {
  static const std::string any = "relu";
  const bool is_known = rule != nullptr && calibration.host_times.count(rule->host) > 0;
  return host_time(calibration, is_known ? rule->host : any);
}

double pass_time_s(const HostTime& time, bool is_backward, bool is_autocast) {
  if (is_backward) return is_autocast ? time.autocast_backward_s : time.backward_s;
  return is_autocast ? time.autocast_forward_s : time.forward_s;
}

/// Finds the time of a rule once: a program has many calls of few rules.
class CallTimes {
 public:
  explicit CallTimes(const Calibration& calibration) : calibration_(calibration) {}
  const HostTime& of(const OperatorRule* rule) {
    const auto [known, is_new] = times_.try_emplace(rule, nullptr);
    if (is_new) known->second = &call_time(calibration_, rule);
    return *known->second;
  }

 private:
  const Calibration& calibration_;
  std::unordered_map<const OperatorRule*, const HostTime*> times_;
};

/// A recurrent layer is one call with hundreds of kernels; other calls include theirs.
constexpr double many = 16;

/// Of the operations of a recording: what each took where it was measured by itself, "aten::mm".
class OperationTimes {
 public:
  explicit OperationTimes(const Calibration& calibration)
      : calibration_(calibration),
        any_(host_time(calibration, known(calibration, "aten::any", "relu"))),
        launch_(host_time(calibration, known(calibration, "aten::launch", "launch"))),
        list_(host_time(calibration, "update.momentum")) {}

  double call_s(const HostCall& call, double launches) {
    if (call.tensors > 1 && !call.is_backward)  // an update is three of them
      return (list_.forward_s + list_.per_tensor_s * static_cast<double>(call.tensors)) / 3;
    const HostTime& time = of(call.operation);
    return pass_s(time, call) + (launches > many ? launches * pass_s(launch_, call) : 0);
  }

 private:
  /// A calibration may have measured single operators only.
  static const char* known(const Calibration& calibration, const char* kind, const char* other) {
    return calibration.host_times.contains(kind) ? kind : other;
  }

  static double pass_s(const HostTime& time, const HostCall& call) {
    if (call.is_inference && time.inference_s > 0) return time.inference_s;
    return call.is_backward ? time.backward_s : time.forward_s;
  }

  /// By its name without its overload.
  const HostTime& of(std::string_view operation) {
    const std::string_view base = operation.substr(0, operation.find('.'));
    const auto [known, is_new] = times_.try_emplace(base, &any_);
    if (!is_new) return *known->second;
    const auto found = calibration_.host_times.find(std::string(base));
    if (found != calibration_.host_times.end()) known->second = &found->second;
    return *known->second;
  }

  const Calibration& calibration_;
  const HostTime &any_, &launch_, &list_;
  std::unordered_map<std::string_view, const HostTime*> times_;
};

/// An operator that is one call of the framework dispatches all its kernels; one that is written
/// out in several calls pays for each.
double calls_of(const OperatorRule* rule, double launched) {
  if (rule != nullptr && rule->calls > 0) return static_cast<double>(rule->calls);
  if (rule != nullptr && !rule->host.empty()) return 1;
  return std::max(1.0, launched);
}

}  // namespace

HostPipeline::HostPipeline(const FrameworkOperations& operations,
                           const std::vector<KernelTime>& times, bool is_autocast,
                           std::int64_t iteration_calls, const Calibration& calibration) {
  static const std::optional<OperationClass> cast_class = operation_class_named("stream.cast");
  calls_.reserve(operations.calls.size());
  CallTimes call_times(calibration);
  const bool has_whole_calls = calibration.host_times.contains("aten::any");
  const bool has_casts = calibration.host_times.contains("cast");  // else calls include theirs
  const HostTime& cast = host_time(calibration, "cast");
  const double launch_s = host_time(calibration, "launch").forward_s / 2;  // without the dispatch
  // Dropping old gradients and entering forward, before the first kernel.
  start_s_ = call_time(calibration, nullptr).forward_s * static_cast<double>(iteration_calls) *
             calibration.host_factor;
  OperationTimes recorded(calibration);
  const bool is_recorded = !operations.calls.empty() && !operations.calls.front().operation.empty();
  if (is_recorded && calibration.host_times.contains("aten::step")) {
    const HostTime& step = host_time(calibration, "aten::step");
    start_s_ = calibration.host_factor *
               (operations.calls.front().is_inference ? step.inference_s : step.forward_s);
  }
  for (std::size_t i = 0; i < operations.calls.size(); ++i) {
    const HostCall& call = operations.calls[i];
    const std::size_t end =
        i + 1 < operations.calls.size() ? operations.calls[i + 1].first : times.size();
    Call made;
    double kernels = 0, casts = 0;
    for (std::size_t k = call.first; k < end; ++k) {
      if (has_casts && operations.operations[k].kernel_class == cast_class) ++casts;
      made.busy_s += times[k].busy_s + times[k].kernels * calibration.gap_s;
      kernels += times[k].kernels;
    }
    const double launched = static_cast<double>(end - call.first) - casts;
    if (!call.operation.empty()) {
      made.host_s = recorded.call_s(call, kernels);
    } else if (call.is_update) {
      const OperationClass update = operations.operations[call.first].kernel_class;
      const HostTime& time = host_time(calibration, std::string(name_of(update)));
      made.host_s = time.forward_s + time.per_tensor_s * static_cast<double>(call.tensors);
    } else if (call.compiled_calls > 0) {
      made.host_s = call_times.of(nullptr).forward_s * call.compiled_calls;
    } else {
      made.host_s = pass_time_s(call_times.of(call.rule), call.is_backward, is_autocast) *
                        calls_of(call.rule, launched) +
                    pass_time_s(cast, call.is_backward, is_autocast) * casts;
      if (kernels > many || !has_whole_calls)
        made.host_s += launch_s * std::max(0.0, kernels - casts - launched);
      if (call.rule != nullptr && call.rule->views > 0)
        made.host_s += pass_time_s(host_time(calibration, "view"), call.is_backward, is_autocast) *
                       static_cast<double>(call.rule->views);
    }
    made.host_s *= calibration.host_factor * call.share;
    calls_.push_back(made);
  }
}

PipelineTime HostPipeline::run(double slower) const {
  PipelineTime time{.host_s = start_s_ * slower};
  double device_s = 0;
  for (const Call& call : calls_) {
    time.host_s += call.host_s * slower;
    device_s = std::max(device_s, time.host_s) + call.busy_s;
  }
  time.time_s = std::max(time.host_s, device_s);
  return time;
}

}  // namespace strata
