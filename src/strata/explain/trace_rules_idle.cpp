// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/explain/trace_context.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

struct IdleRule {
  IdleCause cause;
  FindingCode code;
  std::string_view why;
  std::string_view advice;
};

constexpr IdleRule idle_rules[] = {
    {IdleCause::host, FindingCode::host_gaps,
     "the thread that launched next did something else than launching or waiting",
     "give the host less to do per kernel: larger batches, fused operators (torch.compile), "
     "CUDA graphs; move logging and checks out of the step"},
    {IdleCause::launch, FindingCode::launch_gaps,
     "the call that launches the next kernel was under way or had just been made",
     "launch fewer and larger kernels: a larger batch, fused operators, or a CUDA graph of the "
     "step"},
    {IdleCause::queued, FindingCode::queued_kernels,
     "the next kernel was launched long before, but waited for an event, another stream, another "
     "device, or for work that is not recorded",
     "look at what its stream waits for; order independent work into streams of its own"},
    {IdleCause::sync, FindingCode::sync_gaps,
     "the thread that launched next was waiting for the device and could not launch ahead",
     "take out .item(), .cpu(), printing of tensors and synchronize() from the step; copy with "
     "non_blocking"},
    {IdleCause::input, FindingCode::data_loader,
     "the thread that launched next was waiting for a batch of data",
     "more workers for the data loader, prefetching, data in a format that is cheap to decode"}};

double idle_s(const TraceTables& tables, IdleCause cause) {
  double sum = 0;
  for (const DeviceRow& device : tables.devices)
    sum += trace_seconds(device.idle_ns[static_cast<std::size_t>(cause)]);
  return sum;
}

void find_collectives(const TraceContext& context, TraceFindings& found) {
  double exposed_s = 0;
  double busy_s = 0;
  for (const DeviceRow& device : context.tables().devices) {
    exposed_s += trace_seconds(device.collective_exposed_ns);
    busy_s += trace_seconds(device.collective_busy_ns);
  }
  if (!context.is_noticeable(exposed_s)) return;
  ProfileFinding finding = context.finding(
      FindingCode::exposed_collectives, exposed_s,
      fmt::format("collectives ran {}; for {} of it no other kernel ran", format_time(busy_s),
                  share_text(exposed_s, busy_s)),
      "begin communication earlier (buckets of gradients), let it overlap with backward, send "
      "less (lower precision, accumulation over steps); waiting for a slower rank counts here, "
      "too");
  finding.evidence.push_back({"collectives", busy_s, Measure::seconds});
  finding.evidence.push_back({"alone", exposed_s, Measure::seconds});
  double bytes = 0;
  for (const CollectiveRow& row : context.tables().by_collective)
    bytes += static_cast<double>(row.bytes);
  if (bytes > 0) finding.evidence.push_back({"bytes", bytes, Measure::bytes});
  found.push_back(std::move(finding));
}

}  // namespace

void find_idle(const TraceContext& context, TraceFindings& found) {
  const TraceTables& tables = context.tables();
  std::int64_t gaps = 0;
  double all_s = 0;
  for (const DeviceRow& device : tables.devices) {
    gaps += device.gaps;
    all_s += trace_seconds(device.all_idle_ns());
  }
  for (const IdleRule& rule : idle_rules) {
    const double cost_s = idle_s(tables, rule.cause);
    if (!context.is_noticeable(cost_s)) continue;
    ProfileFinding finding = context.finding(
        rule.code, cost_s,
        fmt::format("no kernel ran for {} ({} of the time): {}", format_time(cost_s),
                    share_text(cost_s, context.whole_s()), rule.why),
        std::string(rule.advice));
    finding.evidence.push_back({"idle for this cause", cost_s, Measure::seconds});
    finding.evidence.push_back({"idle in all", all_s, Measure::seconds});
    finding.evidence.push_back({"gaps", static_cast<double>(gaps), Measure::count});
    found.push_back(std::move(finding));
  }
  find_collectives(context, found);
}

}  // namespace strata
