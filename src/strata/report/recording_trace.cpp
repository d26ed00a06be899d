// SPDX-License-Identifier: Apache-2.0
#include "strata/report/recording_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace strata {
namespace {

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      // Bytes of UTF-8 one by one would be wrong, and names of kernels have none.
      quoted += byte < 0x20 ? fmt::format("\\u{:04x}", byte) : std::string(1, '?');
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

/// The number in the trace of one process.
class TraceProcess {
 public:
  TraceProcess(std::ostream& out, const Recording& recording, int number, std::int64_t base_ns,
               bool& is_first)
      : out_(out), recording_(recording), number_(number), base_ns_(base_ns), is_first_(is_first) {}

  void write() {
    const ProcessInfo& process = recording_.process;
    name_process(process.rank >= 0 ? fmt::format("process {} rank {}", process.pid, process.rank)
                                   : fmt::format("process {}", process.pid));
    write_host();
    write_device();
    write_memory();
  }

 private:
  double microseconds(std::int64_t at_ns) const {
    return static_cast<double>(at_ns - base_ns_) * 1e-3;
  }

  void event(const std::string& body) {
    out_ << (is_first_ ? "" : ",\n") << '{' << body << '}';
    is_first_ = false;
  }

  void name_process(const std::string& name) {
    event(fmt::format(R"("name":"process_name","ph":"M","pid":{},"args":{{"name":{}}})", number_,
                      json_string(name)));
  }

  void name_track(std::int64_t track, const std::string& name) {
    if (!named_.insert(track).second) return;
    event(fmt::format(R"("name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":{}}})",
                      number_, track, json_string(name)));
    event(fmt::format(R"("name":"thread_sort_index","ph":"M","pid":{},"tid":{},"args":{{"sort_index":{}}})",
                      number_, track, track));
  }

  void span(std::int64_t track, std::string_view name, const char* category, const TimeSpan& time,
            const std::string& more) {
    event(fmt::format(R"("name":{},"cat":"{}","ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}{})",
                      json_string(name), category, number_, track, microseconds(time.start_ns),
                      static_cast<double>(std::max<std::int64_t>(time.length_ns(), 0)) * 1e-3,
                      more));
  }

  /// A track of a stream on which the span does not overlap what is there.
  std::int64_t free_track(std::uint32_t device, std::uint32_t stream, const TimeSpan& time) {
    std::vector<std::int64_t>& ends = stream_ends_[{device, stream}];
    std::size_t lane = 0;
    while (lane < ends.size() && ends[lane] > time.start_ns) ++lane;
    if (lane == ends.size()) ends.push_back(0);
    ends[lane] = time.end_ns;
    const auto base = stream_tracks_.try_emplace({device, stream, lane},
                                                 1000 + static_cast<std::int64_t>(stream_tracks_.size()));
    name_track(base.first->second,
               fmt::format("device {} stream {}{}", device, stream,
                           lane == 0 ? "" : fmt::format(" (overlap {})", lane)));
    return base.first->second;
  }

  std::int64_t thread_track(std::uint32_t thread, bool is_range) {
    const auto entry = thread_tracks_.try_emplace(
        {thread, is_range}, 1 + static_cast<std::int64_t>(thread_tracks_.size()));
    name_track(entry.first->second,
               fmt::format("thread {} {}", thread, is_range ? "ranges" : "calls"));
    return entry.first->second;
  }

  void write_host() {
    for (const RangeRecord& range : recording_.ranges)
      span(thread_track(range.thread, true), recording_.names.text(range.name), "range",
           range.time, "");
    std::set<std::uint64_t> launches;
    for (const KernelRecord& kernel : recording_.kernels) launches.insert(kernel.correlation);
    for (const ApiRecord& call : recording_.calls) {
      const std::int64_t track = thread_track(call.thread, false);
      span(track, recording_.names.text(call.name),
           call.kind == ApiKind::runtime ? "cuda_runtime" : "cuda_driver", call.time,
           fmt::format(R"(,"args":{{"correlation":{}}})", call.correlation));
      if (call.correlation != 0 && launches.erase(call.correlation) > 0)
        event(fmt::format(
            R"("name":"launch","cat":"launch","ph":"s","pid":{},"tid":{},"ts":{:.3f},"id":"{}.{}")",
            number_, track, microseconds(call.time.start_ns), number_, call.correlation));
    }
  }

  /// Rows of every kind in one order: tracks are given out by what ends when.
  struct DeviceRow {
    std::int64_t start_ns;
    std::uint32_t index;
    char kind;
  };
  template <class Rows>
  static void add_rows(const Rows& rows, char kind, std::vector<DeviceRow>& all) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      all.push_back({rows[i].time.start_ns, static_cast<std::uint32_t>(i), kind});
  }

  void write_device() {
    std::vector<DeviceRow> rows;
    add_rows(recording_.kernels, 'k', rows);
    add_rows(recording_.copies, 'c', rows);
    add_rows(recording_.fills, 'f', rows);
    std::sort(rows.begin(), rows.end(),
              [](const DeviceRow& a, const DeviceRow& b) { return a.start_ns < b.start_ns; });
    for (const ApiRecord& call : recording_.calls) known_.insert(call.correlation);
    for (const DeviceRow& row : rows) {
      if (row.kind == 'k') write_kernel(recording_.kernels[row.index]);
      if (row.kind == 'c') write_move(recording_.copies[row.index], "copy");
      if (row.kind == 'f') write_move(recording_.fills[row.index], "fill");
    }
  }

  void write_kernel(const KernelRecord& kernel) {
    const std::int64_t track = free_track(kernel.device, kernel.stream, kernel.time);
    span(track, recording_.names.text(kernel.name), "kernel", kernel.time,
         fmt::format(R"(,"args":{{"correlation":{},"grid":"{}","block":"{}","registers":{}}})",
                     kernel.correlation, fmt::join(kernel.grid, "x"), fmt::join(kernel.block, "x"),
                     kernel.registers));
    if (known_.erase(kernel.correlation) == 0) return;
    event(fmt::format(
        R"("name":"launch","cat":"launch","ph":"f","bp":"e","pid":{},"tid":{},"ts":{:.3f},"id":"{}.{}")",
        number_, track, microseconds(kernel.time.start_ns), number_, kernel.correlation));
  }

  template <class Row>
  void write_move(const Row& row, const char* name) {
    span(free_track(row.device, row.stream, row.time), name, name, row.time,
         fmt::format(R"(,"args":{{"bytes":{}}})", row.bytes));
  }

  void write_memory() {
    std::unordered_map<std::uint64_t, std::int64_t> sizes;
    std::int64_t total = 0;
    for (const MemoryEvent& memory : recording_.memory) {
      if (memory.place != MemoryPlace::device || memory.is_framework) continue;
      if (memory.is_allocation) {
        sizes[memory.address] = memory.bytes;
        total += std::max<std::int64_t>(memory.bytes, 0);
      } else if (const auto entry = sizes.find(memory.address); entry != sizes.end()) {
        total -= std::max<std::int64_t>(entry->second, 0);
        sizes.erase(entry);
      }
      event(fmt::format(
          R"("name":"device memory","ph":"C","pid":{},"ts":{:.3f},"args":{{"bytes":{}}})", number_,
          microseconds(memory.at_ns), total));
    }
  }

  std::ostream& out_;
  const Recording& recording_;
  int number_;
  std::int64_t base_ns_;
  bool& is_first_;
  std::set<std::int64_t> named_;
  std::set<std::uint64_t> known_;  ///< calls that no kernel has been tied to yet
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> stream_ends_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::size_t>, std::int64_t> stream_tracks_;
  std::map<std::pair<std::uint32_t, bool>, std::int64_t> thread_tracks_;
};

}  // namespace

void write_chrome_trace(std::ostream& out, std::span<const Recording> recordings) {
  std::int64_t base_ns = 0;
  for (const Recording& recording : recordings) {
    const std::int64_t start = device_span(recording).start_ns;
    for (const std::int64_t at :
         {recording.calls.empty() ? start : recording.calls.front().time.start_ns,
          recording.ranges.empty() ? start : recording.ranges.front().time.start_ns, start})
      if (base_ns == 0 || at < base_ns) base_ns = at;
  }
  out << "{\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":" << base_ns
      << ",\"traceEvents\":[\n";
  bool is_first = true;
  int number = 0;
  for (const Recording& recording : recordings)
    TraceProcess(out, recording, ++number, base_ns, is_first).write();
  out << "\n]}\n";
}

}  // namespace strata
