// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/capture_study.hpp"

#include "strata/base/text.hpp"
#include "strata/capture/counter_columns.hpp"
#include "strata/capture/log_reader.hpp"
#include "strata/capture/log_windows.hpp"
#include "strata/capture/trace_tables.hpp"
#include "strata/gpu/metrics.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace strata {
namespace {

constexpr double ns = 1e-9;

/// "study:pytorch:lstm:16:forward:fp32" into a case; an empty network: it is none of ours.
CaptureCase named_case(std::string_view name) {
  CaptureCase made;
  const std::vector<std::string_view> words = split(name, ':');
  if (words.size() < 4 || words[0] != "study") return made;
  std::int64_t batch = 0;
  std::from_chars(words[3].data(), words[3].data() + words[3].size(), batch);
  if (batch <= 0) return made;
  made.framework = words[1];
  made.network = words[2];
  made.batch = batch;
  made.part = words.size() > 4 ? std::string(words[4]) : "iteration";
  if (words.size() > 5) made.dtype = words[5];
  return made;
}

struct NamedSpans {
  CaptureCase named;
  std::vector<TimeSpan> spans;
};

/// Spans of the same name together, in the order of their first.
std::vector<NamedSpans> spans_by_case(const Recording& recording) {
  std::vector<NamedSpans> all;
  const auto add = [&](const CaptureCase& named, const TimeSpan& span) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const NamedSpans& one) {
      return one.named.framework == named.framework && one.named.network == named.network &&
             one.named.batch == named.batch && one.named.part == named.part &&
             one.named.dtype == named.dtype;
    });
    if (same != all.end()) {
      same->spans.push_back(span);
    } else {
      all.push_back({named, {span}});
    }
  };
  for (const RangeRecord& range : recording.ranges) {
    CaptureCase named = named_case(recording.names.text(range.name));
    if (named.network.empty()) continue;
    add(named, range.time);
    for (const RangeRecord& inner : recording.ranges) {
      if (recording.names.text(inner.name) != "backward part" || inner.thread != range.thread ||
          inner.time.start_ns < range.time.start_ns || inner.time.end_ns > range.time.end_ns)
        continue;
      named.part = "backward";
      add(named, inner.time);
    }
  }
  return all;
}

void keep_name(CaptureCase& made, const CaptureCase& named) {
  made.framework = named.framework;
  made.network = named.network;
  made.batch = named.batch;
  made.part = named.part;
  made.dtype = named.dtype;
}

}  // namespace

std::map<std::string, double> counted_columns(const Recording& recording) {
  std::map<std::string, double> sums;
  const CounterColumns columns(recording);
  if (columns.is_empty()) return sums;
  for (const MetricColumn& column : metrics_of_chip("GH100").columns) {
    if ((column.unit != "bytes" && column.unit != "flop") || !columns.has(column.key)) continue;
    double sum = 0;
    for (std::size_t kernel = 0; kernel < recording.kernels.size(); ++kernel)
      sum += columns.value(kernel, column.key).value_or(std::nan(""));
    if (!std::isnan(sum)) sums[column.key] = sum;
  }
  return sums;
}

CaptureCase capture_case(Recording recording, std::span<const TimeSpan> spans, std::int64_t steps) {
  CaptureCase made;
  made.steps = steps;
  const double per_step = steps > 0 ? ns / static_cast<double>(steps) : 0;
  for (const TimeSpan& span : spans)
    made.wall_s += per_step * static_cast<double>(span.length_ns());
  keep_windows(recording, spans);
  const TraceTables tables = make_trace_tables(recording);
  made.launches =
      steps > 0 ? static_cast<double>(tables.kernels.calls) / static_cast<double>(steps) : 0;
  made.kernel_s = per_step * static_cast<double>(tables.kernels.total_ns);
  for (const DeviceRow& device : tables.devices) {
    made.busy_s += per_step * static_cast<double>(device.kernel_busy_ns);
    made.concurrent_s += per_step * static_cast<double>(device.concurrent_ns);
  }
  for (const ClassRow& row : tables.by_class) {
    const std::string name = row.algorithm.empty() ? row.name : row.name + " " + row.algorithm;
    made.class_s[name] += per_step * static_cast<double>(row.time.total_ns);
  }
  for (const KernelRow& row : tables.by_kernel) {
    const bool is_backward = row.kernel_class.pass.starts_with("backward");
    if (row.kernel_class.name == "pooling" && is_backward)
      made.pool_backward_s += per_step * static_cast<double>(row.time.total_ns);
  }
  for (const CopyRow& row : tables.by_copy) {
    made.copy_s += per_step * static_cast<double>(row.time.total_ns);
    made.copy_bytes += per_step / ns * static_cast<double>(row.bytes);
  }
  for (const ApiRow& row : tables.by_api) {
    // The driver's calls are inside the runtime's, except for what libraries launch by themselves.
    const bool is_launch = row.name.find("Launch") != std::string::npos;
    if (row.kind == ApiKind::driver && !is_launch) continue;
    const double seconds = per_step * static_cast<double>(row.time.total_ns);
    made.api_s += seconds;
    made.call_s[row.name] += seconds;
    if (is_launch) made.launch_api_s += seconds;
  }
  if (steps > 0) {
    for (const auto& [key, sum] : counted_columns(recording))
      made.counted[key] = sum / static_cast<double>(steps);
  }
  return made;
}

std::vector<CaptureCase> cases_of_ranges(const std::function<Recording()>& read) {
  std::vector<CaptureCase> cases;
  for (const NamedSpans& one : spans_by_case(read())) {
    std::vector<TimeSpan> spans = one.spans;
    std::sort(spans.begin(), spans.end(),
              [](const TimeSpan& a, const TimeSpan& b) { return a.start_ns < b.start_ns; });
    CaptureCase made = capture_case(read(), spans, static_cast<std::int64_t>(spans.size()));
    keep_name(made, one.named);
    cases.push_back(std::move(made));
  }
  return cases;
}

double overhead_of(const CaptureOverhead& overhead) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(overhead.plain_ms.size(), overhead.watched_ms.size()); ++i)
    if (overhead.plain_ms[i] > 0) ratios.push_back(overhead.watched_ms[i] / overhead.plain_ms[i]);
  if (ratios.empty()) return 0;
  std::sort(ratios.begin(), ratios.end());
  const std::size_t middle = ratios.size() / 2;
  const double median =
      ratios.size() % 2 == 1 ? ratios[middle] : (ratios[middle - 1] + ratios[middle]) / 2;
  return median - 1;
}

}  // namespace strata
