// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/call_budget.hpp"

namespace strata {

bool CallBudget::is_over(std::uint64_t kernels, std::uint64_t calls, std::uint64_t now_ns) {
  const double elapsed_s = now_ns > last_ns_ ? 1e-9 * static_cast<double>(now_ns - last_ns_) : 0;
  const double cost_s = kernel_record_s * static_cast<double>(kernels - kernels_) +
                        call_record_s * static_cast<double>(calls - calls_);
  const bool has_calls = calls > calls_;
  kernels_ = kernels;
  calls_ = calls;
  last_ns_ = now_ns;
  return has_calls && elapsed_s > 0 && cost_s > most_share * elapsed_s;
}

}  // namespace strata
