// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/range_counters.hpp"

#include "strata/base/error.hpp"
#include "strata/gpu/counter_host.hpp"
#include "strata/gpu/cupti/host_object.cuh"
#include "strata/gpu/cupti/launch_ranges.cuh"
#include "strata/gpu/cupti/range_session.cuh"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace strata::cupti {
namespace {

/// Keeps the names; profiles nothing.
class NamesOnly final : public RangeMarks {
 public:
  std::vector<std::string> names;
  void push(std::string_view name) override {
    STRATA_CHECK(!is_open_, "ranges do not nest");
    is_open_ = true;
    names.emplace_back(name);
  }
  void pop() override {
    STRATA_CHECK(is_open_, "a range is open");
    is_open_ = false;
  }

 private:
  bool is_open_ = false;
};

void check_device(int device) {
  STRATA_CUPTI_PARAMETERS(CUpti_Profiler_DeviceSupported_Params, parameters);
  parameters.cuDevice = device;
  parameters.api = CUPTI_PROFILER_RANGE_PROFILING;
  STRATA_CUPTI_CALL(device_supported, &parameters);
  if (parameters.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return;
  const std::array<std::pair<CUpti_Profiler_Support_Level, const char*>, 6> flags = {{
      {parameters.architecture, "the GPU is older than compute capability 7.0"},
      {parameters.sli, "GPUs are joined by SLI"},
      {parameters.vGpu, "a virtual GPU without profiling; its host can switch it on"},
      {parameters.confidentialCompute, "confidential computing is on"},
      {parameters.cmp, "it is a mining processor"},
      {parameters.wsl, "Windows' subsystem for Linux"},
  }};
  std::string reasons;
  for (const auto& [level, reason] : flags) {
    if (level == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) continue;
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", reason);
  }
  fail(ErrorKind::environment, "counters cannot be read on this device: {}",
       reasons.empty() ? "CUPTI does not say why" : reasons);
}

std::string chip_of(int device) {
  STRATA_CUPTI_PARAMETERS(CUpti_Device_GetChipName_Params, parameters);
  parameters.deviceIndex = static_cast<std::size_t>(device);
  STRATA_CUPTI_CALL(chip_name, &parameters);
  return parameters.pChipName == nullptr ? "" : parameters.pChipName;
}

/// One user of CUPTI at a time, for as long as this lives.
class Claim {
 public:
  Claim() { claim(Activity::counters); }
  ~Claim() { release(); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
};

class CuptiRangeCounters final : public RangeCounters {
 public:
  explicit CuptiRangeCounters(int device) {
    STRATA_CUPTI_PARAMETERS(CUpti_Profiler_Initialize_Params, parameters);
    STRATA_CUPTI_CALL(profiler_initialize, &parameters);
    check_device(device);
    chip_ = chip_of(device);
    host_ = counter_host(chip_);
    const RangeProfiler allowed(current_context());  // errors when we may not
  }

  const std::string& chip() const override { return chip_; }

  CounterPlan plan(std::string_view preset) const override {
    return plan_counters(metrics_of_chip(chip_), preset, [&](std::span<const std::string> metrics) {
      return host_->accepted(metrics);
    });
  }

  CounterCost cost(const CounterPlan& plan) const override {
    CounterCost cost;
    for (const PlannedSession& session : plan.sessions) {
      const int passes = host_->passes(session.metrics);
      ++cost.sessions;
      cost.passes += passes;
      if (session.is_sass) cost.sass_passes += passes;
    }
    return cost;
  }

  CounterTable count(const CounterPlan& plan, const CountedWork& work) override {
    NamesOnly names;
    work(names);
    CounterTable table{.chip = chip_, .preset = plan.preset, .absent = plan.absent};
    for (const std::string& name : names.names) table.ranges.push_back({name, {}, {}});
    if (table.ranges.empty()) return table;
    for (const PlannedSession& session : plan.sessions) {
      // One of its own for each: CUPTI 13.0.1 goes on with the counters of the first session when
      // it is set up anew, and reads that session's memory.
      RangeProfiler profiler(current_context());
      const RangeValues values = count_session(profiler, chip_, session.metrics, names.names, work);
      for (const PlannedColumn& column : session.columns) {
        table.columns.push_back({column.key, column.unit, column.about});
        for (std::size_t i = 0; i < values.size(); ++i)
          table.ranges[i].values.push_back(column_value(column, values[i]));
      }
    }
    return table;
  }

  CounterTable count_kernels(const CounterPlan& plan, const CountedWork& work) override {
    LaunchRanges launches;
    CounterTable table = count(plan, [&](RangeMarks& marks) { launches.split(marks, work); });
    const std::vector<LaunchRanges::Range>& ranges = launches.ranges();
    STRATA_CHECK(ranges.size() == table.ranges.size(), "every range was split");
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      table.ranges[i].range = ranges[i].name;
      table.ranges[i].kernel = ranges[i].kernel;
    }
    return table;
  }

 private:
  Claim claim_;
  std::string chip_;
  std::unique_ptr<CounterHost> host_;
};

}  // namespace
}  // namespace strata::cupti

namespace strata {

std::unique_ptr<RangeCounters> open_range_counters(int device) {
  cupti::require_driver();
  cupti::cupti_functions();
  return std::make_unique<cupti::CuptiRangeCounters>(device);
}

}  // namespace strata
