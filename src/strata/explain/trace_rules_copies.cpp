// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/explain/trace_context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr double slow_share = 0.6;        // of the link
constexpr double many_small_share = 0.5;  // of the calls
constexpr std::int64_t many_copies = 20;

bool touches(const CopyRow& row, MemoryKind place) {
  return row.source == place || row.destination == place;
}

bool crosses_link(const CopyRow& row) {
  return row.kind == CopyKind::host_to_device || row.kind == CopyKind::device_to_host;
}

std::string row_text(const CopyRow& row) {
  return fmt::format("copies {} ({} to {})", name_of(row.kind), name_of(row.source),
                     name_of(row.destination));
}

void find_slow(const TraceContext& context, const CopyRow& row, TraceFindings& found) {
  if (context.machine() == nullptr || row.bytes == 0) return;
  const std::optional<double> ceiling = copy_ceiling(row, *context.machine());
  if (!ceiling || row.bytes_per_s() >= slow_share * *ceiling) return;
  const double least_s = static_cast<double>(row.bytes) / *ceiling;
  const double cost_s = trace_seconds(row.known_ns) - least_s;
  if (!context.is_noticeable(cost_s)) return;
  ProfileFinding finding = context.finding(
      FindingCode::slow_copies, cost_s,
      fmt::format("{} reach {}, {} of the link's {}", row_text(row),
                  format_bytes_per_s(row.bytes_per_s()), share_text(row.bytes_per_s(), *ceiling),
                  format_bytes_per_s(*ceiling)),
      touches(row, MemoryKind::pageable)
          ? "pin the host's memory (pin_memory=True), copy larger pieces"
          : "copy larger pieces; look for other traffic on the link");
  finding.evidence.push_back({"throughput", row.bytes_per_s(), Measure::bytes_per_s});
  finding.evidence.push_back({"link", *ceiling, Measure::bytes_per_s});
  finding.evidence.push_back({"bytes", static_cast<double>(row.bytes), Measure::bytes});
  found.push_back(std::move(finding));
}

void find_pageable(const TraceContext& context, TraceFindings& found) {
  double cost_s = 0;
  std::int64_t bytes = 0;
  std::int64_t calls = 0;
  for (const CopyRow& row : context.tables().by_copy) {
    if (!crosses_link(row) || !touches(row, MemoryKind::pageable)) continue;
    cost_s += trace_seconds(row.time.total_ns);
    bytes += row.bytes;
    calls += row.time.calls;
  }
  if (!context.is_noticeable(cost_s)) return;
  ProfileFinding finding = context.finding(
      FindingCode::pageable_copies, cost_s,
      fmt::format("{} copies of {} to or from memory that is not pinned: the driver copies them "
                  "twice and makes the host wait",
                  format_exact(calls), format_bytes(static_cast<double>(bytes))),
      "pin the buffers (pin_memory=True, cudaHostAlloc) and copy with non_blocking");
  finding.evidence.push_back({"copies", static_cast<double>(calls), Measure::count});
  finding.evidence.push_back({"bytes", static_cast<double>(bytes), Measure::bytes});
  found.push_back(std::move(finding));
}

void find_small(const TraceContext& context, TraceFindings& found) {
  double cost_s = 0;
  std::int64_t small = 0;
  std::int64_t all = 0;
  for (const CopyRow& row : context.tables().by_copy) {
    cost_s += trace_seconds(row.small_ns);
    small += row.small_calls;
    all += row.time.calls;
  }
  const bool are_most = static_cast<double>(small) >= many_small_share * static_cast<double>(all);
  if (small < many_copies || !are_most) return;
  ProfileFinding finding = context.finding(
      FindingCode::small_copies, cost_s,
      fmt::format("{} of {} copies move less than 64 KiB; starting one takes longer than moving it",
                  format_exact(small), format_exact(all)),
      "gather small tensors into one buffer and copy that; keep scalars on the device");
  finding.evidence.push_back({"small copies", static_cast<double>(small), Measure::count});
  finding.evidence.push_back({"copies", static_cast<double>(all), Measure::count});
  found.push_back(std::move(finding));
}

void find_overlap(const TraceContext& context, TraceFindings& found) {
  double busy_s = 0;
  double exposed_s = 0;
  double at_once_s = 0;
  for (const DeviceRow& device : context.tables().devices) {
    busy_s += trace_seconds(device.copy_busy_ns);
    exposed_s += trace_seconds(device.copy_exposed_ns);
    at_once_s += trace_seconds(device.copies_at_once_ns);
  }
  if (context.is_noticeable(exposed_s)) {
    ProfileFinding finding = context.finding(
        FindingCode::exposed_copies, exposed_s,
        fmt::format("copies ran {}; for {} of it no kernel ran", format_time(busy_s),
                    share_text(exposed_s, busy_s)),
        "copy the next batch in another stream while this one is computed (pinned memory, "
        "non_blocking, prefetching)");
    finding.evidence.push_back({"copies", busy_s, Measure::seconds});
    finding.evidence.push_back({"without a kernel", exposed_s, Measure::seconds});
    found.push_back(std::move(finding));
  }
  const auto time_of = [&](CopyKind kind) {
    double sum = 0;
    for (const CopyRow& row : context.tables().by_copy)
      sum += row.kind == kind ? trace_seconds(row.time.total_ns) : 0;
    return sum;
  };
  // The two directions have an engine each: what the shorter one takes could be hidden.
  const double could_s =
      std::min(time_of(CopyKind::host_to_device), time_of(CopyKind::device_to_host));
  const double cost_s = could_s - at_once_s;
  if (!context.is_noticeable(cost_s)) return;
  ProfileFinding finding = context.finding(
      FindingCode::serial_copies, cost_s,
      fmt::format("two copies ran at the same time for {}; copies in opposite directions could "
                  "for {}",
                  format_time(at_once_s), format_time(could_s)),
      "use one stream for each direction, with pinned memory");
  finding.evidence.push_back({"at once", at_once_s, Measure::seconds});
  finding.evidence.push_back({"could be at once", could_s, Measure::seconds});
  found.push_back(std::move(finding));
}

}  // namespace

std::optional<double> copy_ceiling(const CopyRow& row, const Machine& machine) {
  if (row.kind == CopyKind::device_to_device) {
    const MemoryLevel* memory = off_chip(machine);
    if (memory == nullptr || !memory->bandwidth_bytes_per_s) return std::nullopt;
    return memory->bandwidth_bytes_per_s->value / 2;  // each byte is read and written
  }
  const bool is_down = row.kind == CopyKind::host_to_device;
  if (!is_down && row.kind != CopyKind::device_to_host) return std::nullopt;
  const LinkKind kind = is_down ? LinkKind::host_to_device : LinkKind::device_to_host;
  std::optional<double> best;
  for (const Link& link : machine.links) {
    if (link.kind == kind) best = std::max(best.value_or(0), link.bandwidth_bytes_per_s.value);
  }
  return best;
}

void find_copies(const TraceContext& context, TraceFindings& found) {
  for (const CopyRow& row : context.tables().by_copy) find_slow(context, row, found);
  find_pageable(context, found);
  find_small(context, found);
  find_overlap(context, found);
}

}  // namespace strata
