// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/reference_device_test.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace strata::reference {

/// Counters of the reference device, by its clock: an instruction per microsecond, in two ordinary
/// sessions and, with `paper`, one that patches kernels.
class ClockCounters final : public RangeCounters {
 public:
  explicit ClockCounters(Device& device) : device_(device) {}

  const std::string& chip() const override { return chip_; }
  CounterPlan plan(std::string_view preset) const override {
    CounterPlan plan{.preset = std::string(preset)};
    const auto session = [&](const char* name, bool is_sass, const char* key, const char* unit) {
      PlannedSession one{.name = name, .is_sass = is_sass, .passes = 1};
      one.columns.push_back({key, unit, "by the clock", {}, {}});
      plan.sessions.push_back(one);
    };
    session("ordinary", false, "instructions", "instructions");
    session("share", false, "time_of_day", "fraction");
    if (preset == "paper") session("patched", true, "fp32_flop", "flop");
    plan.absent.push_back({"dram_read_bytes", "the chip has no dram__bytes_read.sum"});
    return plan;
  }
  CounterCost cost(const CounterPlan& plan) const override {
    CounterCost cost;
    for (const PlannedSession& session : plan.sessions) {
      ++cost.sessions;
      ++cost.passes;
      cost.sass_passes += session.is_sass ? 1 : 0;
    }
    return cost;
  }
  CounterTable count(const CounterPlan& plan, const CountedWork& work) override {
    return counted(plan, work, false);
  }
  CounterTable count_kernels(const CounterPlan& plan, const CountedWork& work) override {
    if (!device_.settings.counts_kernels) return RangeCounters::count_kernels(plan, work);
    return counted(plan, work, true);
  }

 private:
  class Marks final : public RangeMarks {
   public:
    explicit Marks(Device& device) : device_(device) {}
    void push(std::string_view name) override {
      name_ = name;
      begin();
    }
    void pop() override { seconds.push_back(device_.clock_s - begin_s_); }
    void next_kernel(const std::string& kernel) {
      if (!kernels.back().empty()) {
        pop();
        begin();
      }
      kernels.back() = kernel;
    }
    std::vector<std::string> names, kernels;
    std::vector<double> seconds;

   private:
    void begin() {
      names.push_back(name_);
      kernels.emplace_back();
      begin_s_ = device_.clock_s;
    }
    Device& device_;
    std::string name_;
    double begin_s_ = 0;
  };

  CounterTable counted(const CounterPlan& plan, const CountedWork& work, bool by_kernel) {
    if (!device_.settings.refuses_counting.empty())
      fail(ErrorKind::environment, "{}", device_.settings.refuses_counting);
    CounterTable table{.chip = chip_, .preset = plan.preset, .absent = plan.absent};
    for (const PlannedSession& session : plan.sessions) {
      Marks marks(device_);
      if (by_kernel) device_.on_kernel = [&](const std::string& name) { marks.next_kernel(name); };
      work(marks);
      device_.on_kernel = {};
      if (marks.names.size() > device_.settings.most_ranges)
        fail(ErrorKind::environment, "too many ranges");
      const PlannedColumn& column = session.columns.front();
      table.columns.push_back({column.key, column.unit, column.about});
      table.ranges.resize(marks.names.size());
      for (std::size_t i = 0; i < marks.names.size(); ++i) {
        table.ranges[i].range = marks.names[i];
        if (by_kernel) table.ranges[i].kernel = marks.kernels[i];
        table.ranges[i].values.emplace_back(column.unit == "fraction" ? marks.seconds[i]
                                                                      : 1e6 * marks.seconds[i]);
      }
    }
    return table;
  }

  Device& device_;
  std::string chip_ = "clockwork";
};

inline std::unique_ptr<RangeCounters> Device::counters() {
  if (!settings.counts) return TrainingDevice::counters();
  return std::make_unique<ClockCounters>(*this);
}

}  // namespace strata::reference
