// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/convolution/efficiencies.cuh"

#include "strata/base/error.hpp"
#include "strata/measure/convolution/result.hpp"

#include <algorithm>

namespace strata::cuda {
namespace {

/// A range for each role. The stream is empty where one ends, so that its kernels are all its own.
class RangesByRole final : public RoleMarks {
 public:
  RangesByRole(RangeMarks& ranges, cudaStream_t stream) : ranges_(ranges), stream_(stream) {}
  void begin(KernelRole role) override {
    end();
    roles.push_back(role);
    ranges_.push(name_of(role));
    is_open_ = true;
  }
  void end() {
    STRATA_CUDA_CALL(cudaStreamSynchronize(stream_));
    if (is_open_) ranges_.pop();
    is_open_ = false;
  }
  std::vector<KernelRole> roles;

 private:
  RangeMarks& ranges_;
  cudaStream_t stream_;
  bool is_open_ = false;
};

/// A role that comes several times is one, each time weighted with the instructions executed in it.
class WeightedEfficiency {
 public:
  explicit WeightedEfficiency(KernelRole role) : role_(role) {}
  KernelRole role() const { return role_; }
  void add(const std::vector<std::optional<double>>& values, double weight) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i]) continue;
      sums_[i] += weight * *values[i];
      weights_[i] += weight;
    }
  }
  ConvEfficiency mean() const {
    ConvEfficiency mean{.role = role_};
    const auto names = conv_efficiency_names();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (weights_[i] > 0) mean.*names[i].value = sums_[i] / weights_[i];
    }
    return mean;
  }

 private:
  KernelRole role_;
  std::vector<double> sums_ = std::vector<double>(conv_efficiency_names().size());
  std::vector<double> weights_ = sums_;
};

std::optional<double> value_of(const CounterTable& table, const RangeCounts& range,
                               std::string_view key) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == key) return range.values[i];
  }
  return std::nullopt;
}

std::vector<ConvEfficiency> by_role(const CounterTable& table,
                                    const std::vector<KernelRole>& roles) {
  std::vector<WeightedEfficiency> weighted;
  for (std::size_t i = 0; i < table.ranges.size(); ++i) {
    const auto found =
        std::find_if(weighted.begin(), weighted.end(),
                     [&](const WeightedEfficiency& each) { return each.role() == roles[i]; });
    WeightedEfficiency& role = found != weighted.end() ? *found : weighted.emplace_back(roles[i]);
    std::vector<std::optional<double>> values;
    for (const ConvEfficiencyName& name : conv_efficiency_names())
      values.push_back(value_of(table, table.ranges[i], name.key));
    role.add(values, value_of(table, table.ranges[i], "instructions").value_or(0));
  }
  std::vector<ConvEfficiency> all;
  for (const WeightedEfficiency& role : weighted) all.push_back(role.mean());
  return all;
}

}  // namespace

void EfficiencyCounter::open() {
  if (counters_ != nullptr || !problem_.empty()) return;
  try {
    counters_ = open_range_counters(device_);
    plan_ = counters_->plan("efficiency");
  } catch (const Error& error) {
    counters_.reset();
    problem_ = error.what();
  }
}

ConvEfficiencies EfficiencyCounter::of(PreparedConvolution& prepared, const ConvTensors& tensors) {
  open();
  if (counters_ == nullptr) return {{}, problem_};
  try {
    std::vector<KernelRole> roles;
    const CounterTable table = counters_->count(plan_, [&](RangeMarks& ranges) {
      RangesByRole marks(ranges, stream_);
      prepared.run(tensors, marks);
      marks.end();
      roles = marks.roles;
    });
    return {by_role(table, roles), table.ranges.empty() ? "it has no kernels" : ""};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return {{}, error.what()};
  }
}

}  // namespace strata::cuda
