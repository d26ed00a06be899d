// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/explain/trace_findings.hpp"

#include <string>
#include <string_view>

/// What the rules of recordings share.
namespace strata {

class TraceContext {
 public:
  TraceContext(const TraceTables& tables, const Machine* machine);

  const TraceTables& tables() const { return tables_; }
  const Machine* machine() const { return machine_; }
  double whole_s() const { return whole_s_; }
  bool is_noticeable(double cost_s) const;

  /// With its cost and the share of it.
  ProfileFinding finding(FindingCode code, double cost_s, std::string what,
                         std::string advice) const;

 private:
  const TraceTables& tables_;
  const Machine* machine_;
  double whole_s_ = 0;
};

double trace_seconds(std::int64_t ns);
/// "12 %"
std::string share_text(double part, double whole);

using TraceFindings = std::vector<ProfileFinding>;
void find_idle(const TraceContext& context, TraceFindings& found);
void find_copies(const TraceContext& context, TraceFindings& found);
void find_kernels(const TraceContext& context, TraceFindings& found);
void find_counters(const TraceContext& context, TraceFindings& found);

}  // namespace strata
