// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/counter_host.hpp"

#include "strata/base/error.hpp"
#include "strata/gpu/cupti/host_object.cuh"

namespace strata::cupti {
namespace {

class CuptiHost final : public CounterHost {
 public:
  explicit CuptiHost(std::string chip) : chip_(std::move(chip)) { const HostObject known(chip_); }

  std::set<std::string> accepted(std::span<const std::string> metrics) const override {
    std::set<std::string> found;
    collect(metrics, found);
    return found;
  }

  int passes(std::span<const std::string> metrics) const override {
    HostObject host(chip_);
    check_cupti(host.add(metrics), "cuptiProfilerHostConfigAddMetrics");
    std::vector<std::uint8_t> config = host.config();
    return passes_of(config);
  }

 private:
  /// All at once, which nearly always succeeds; else by halves, for CUPTI does not say which it
  /// was.
  void collect(std::span<const std::string> metrics, std::set<std::string>& found) const {
    if (metrics.empty()) return;
    HostObject host(chip_);
    if (host.add(metrics) == CUPTI_SUCCESS) {
      found.insert(metrics.begin(), metrics.end());
    } else if (metrics.size() > 1) {
      collect(metrics.first(metrics.size() / 2), found);
      collect(metrics.subspan(metrics.size() / 2), found);
    }
  }

  std::string chip_;
};

}  // namespace
}  // namespace strata::cupti

namespace strata {

std::vector<std::string> countable_chips() {
  STRATA_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetSupportedChips_Params, parameters);
  STRATA_CUPTI_CALL(host_chips, &parameters);
  return {parameters.ppChipNames, parameters.ppChipNames + parameters.numChips};
}

std::unique_ptr<CounterHost> counter_host(const std::string& chip) {
  return std::make_unique<cupti::CuptiHost>(chip);
}

}  // namespace strata
