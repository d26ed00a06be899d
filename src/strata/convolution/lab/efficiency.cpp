// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/efficiency.hpp"

#include "strata/base/error.hpp"
#include "strata/convolution/lab/result.hpp"

#include <algorithm>

namespace strata {
namespace {

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

}  // namespace

std::vector<ConvEfficiency> efficiencies_by_role(const CounterTable& table,
                                                 std::span<const KernelRole> roles) {
  STRATA_CHECK(roles.size() == table.ranges.size(), "every range has a role");
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

}  // namespace strata
