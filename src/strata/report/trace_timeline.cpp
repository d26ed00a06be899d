// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/capture/kernel_origins.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/report/trace_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

namespace strata {
namespace {

constexpr std::size_t piece_bytes = std::size_t{64} << 10;
constexpr int processes_apart = 1000;  // numbers between the processes of two recordings

/// Printable text has no control characters; quotes and backslashes remain.
std::string timeline_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

class TimelineText {
 public:
  explicit TimelineText(const std::function<void(std::string_view)>& write) : write_(write) {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  }

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    text_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    if (text_.size() < piece_bytes) return;
    write_(text_);
    text_.clear();
  }

  void name_track(int process, std::int64_t track, std::string_view name) {
    add(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", process,
        track, timeline_quoted(name));
  }
  void name_process(int process, std::string_view name) {
    add(R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":{}}}}})", process,
        timeline_quoted(name));
  }
  /// `args` is the inside of an object.
  void slice(int process, std::int64_t track, std::string_view category, std::string_view name,
             TimeSpan time, std::string_view args) {
    add(R"({{"name":{},"cat":"{}","ph":"X","pid":{},"tid":{},"ts":{}.{:03},"dur":{}.{:03},)"
        R"("args":{{{}}}}})",
        timeline_quoted(name), category, process, track, time.start_ns / 1000, time.start_ns % 1000,
        time.length_ns() / 1000, time.length_ns() % 1000, args);
  }
  void arrow(char phase, int process, std::int64_t track, std::uint64_t id, std::int64_t at_ns) {
    add(R"({{"name":"launch","cat":"ac2g","ph":"{}","id":{},"pid":{},"tid":{},"ts":{}.{:03}{}}})",
        phase, id, process, track, at_ns / 1000, at_ns % 1000, phase == 'f' ? R"(,"bp":"e")" : "");
  }

  void finish() {
    text_ += "\n]}\n";
    write_(text_);
  }

 private:
  const std::function<void(std::string_view)>& write_;
  std::string text_;
  bool is_first_ = true;
};

/// Slices of a track must not overlap: what would, goes to the next track of the stream.
class StreamLanes {
 public:
  std::size_t lane_of(TimeSpan time) {
    std::size_t lane = 0;
    while (lane < ends_.size() && ends_[lane] > time.start_ns) ++lane;
    if (lane == ends_.size()) ends_.push_back(0);
    ends_[lane] = time.end_ns;
    return lane;
  }
  std::size_t count() const { return ends_.size(); }

 private:
  std::vector<std::int64_t> ends_;
};

class RecordingTimeline {
 public:
  RecordingTimeline(const Recording& recording, int host, TimelineText& text)
      : recording_(recording), host_(host), text_(text), calls_(recording) {
    start_ns_ = std::numeric_limits<std::int64_t>::max();
    const auto see = [&](const auto& rows) {
      for (const auto& row : rows) start_ns_ = std::min(start_ns_, row.time.start_ns);
    };
    see(recording.kernels);
    see(recording.copies);
    see(recording.fills);
    see(recording.calls);
    see(recording.ranges);
    for (const MemoryEvent& event : recording.memory) start_ns_ = std::min(start_ns_, event.at_ns);
  }

  void write() {
    text_.name_process(host_,
                       recording_.process.command.empty() ? "host" : recording_.process.command);
    for (const RangeRecord& range : recording_.ranges)
      text_.slice(host_, range.thread, "range", recording_.names.text(range.name),
                  shifted(range.time), "");
    for (const ApiRecord& call : recording_.calls)
      text_.slice(host_, call.thread, "cuda_runtime", recording_.names.text(call.name),
                  shifted(call.time), fmt::format("\"correlation\":{}", call.correlation));
    for (const KernelRecord& kernel : recording_.kernels) write_kernel(kernel);
    for (const CopyRecord& copy : recording_.copies) {
      write_work(copy.device, copy.stream, "gpu_memcpy", fmt::format("copy {}", name_of(copy.kind)),
                 copy.time, copy.correlation, fmt::format("\"bytes\":{}", copy.bytes));
    }
    for (const FillRecord& fill : recording_.fills) {
      write_work(fill.device, fill.stream, "gpu_memset", "fill", fill.time, fill.correlation,
                 fmt::format("\"bytes\":{}", fill.bytes));
    }
    write_memory();
    write_names();
  }

 private:
  TimeSpan shifted(TimeSpan time) const {
    return {time.start_ns - start_ns_, time.end_ns - start_ns_};
  }

  int process_of(std::uint32_t device) {
    const auto [at, is_new] =
        processes_.emplace(device, host_ + 1 + static_cast<int>(processes_.size()));
    return at->second;
  }

  void write_kernel(const KernelRecord& kernel) {
    write_work(kernel.device, kernel.stream, "kernel", recording_.names.text(kernel.name),
               kernel.time, kernel.correlation,
               fmt::format("\"device\":{},\"stream\":{},\"correlation\":{},\"grid\":[{},{},{}],"
                           "\"block\":[{},{},{}]{}",
                           kernel.device, kernel.stream, kernel.correlation, kernel.grid[0],
                           kernel.grid[1], kernel.grid[2], kernel.block[0], kernel.block[1],
                           kernel.block[2],
                           kernel.registers == unknown_count
                               ? ""
                               : fmt::format(",\"registers per thread\":{}", kernel.registers)));
  }

  void write_work(std::uint32_t device, std::uint32_t stream, std::string_view category,
                  std::string_view name, TimeSpan time, std::uint64_t correlation,
                  std::string_view args) {
    const int process = process_of(device);
    const std::size_t lane = lanes_[{process, stream}].lane_of(time);
    const std::int64_t track = track_of(stream, lane);
    text_.slice(process, track, category, name, shifted(time), args);
    const std::size_t call = calls_.call_of(correlation);
    if (call == no_index) return;
    const ApiRecord& launch = recording_.calls[call];
    const std::uint64_t id = (static_cast<std::uint64_t>(host_) << 40U) + ++arrows_;
    text_.arrow('s', host_, launch.thread, id, shifted(launch.time).start_ns);
    text_.arrow('f', process, track, id, shifted(time).start_ns);
  }

  static std::int64_t track_of(std::uint32_t stream, std::size_t lane) {
    return std::int64_t{stream} * 100 + static_cast<std::int64_t>(std::min<std::size_t>(lane, 99));
  }

  void write_memory() {
    for (const MemoryEvent& event : recording_.memory) {
      std::int64_t& now = allocated_[{event.device, event.is_framework}];
      now += event.is_allocation ? event.bytes : -std::max<std::int64_t>(0, event.bytes);
      if (event.total_bytes != unknown_bytes) now = event.total_bytes;
      const int process = event.device == unknown_device ? host_ : process_of(event.device);
      const std::int64_t at = event.at_ns - start_ns_;
      text_.add(R"({{"name":"memory{}","ph":"C","pid":{},"ts":{}.{:03},"args":{{"bytes":{}}}}})",
                event.is_framework ? " by the framework" : "", process, at / 1000, at % 1000, now);
    }
  }

  void write_names() {
    for (const auto& [device, process] : processes_) {
      const RecordedDevice* info = device_of(recording_.process, device);
      text_.name_process(
          process, device == unknown_device
                       ? std::string("device")
                       : fmt::format("device {} {}", device, info == nullptr ? "" : info->name));
    }
    for (const auto& [key, lanes] : lanes_) {
      for (std::size_t lane = 0; lane < std::min<std::size_t>(lanes.count(), 100); ++lane) {
        text_.name_track(key.first, track_of(key.second, lane),
                         fmt::format("stream {}{}", key.second, lane == 0 ? "" : ", at once"));
      }
    }
  }

  const Recording& recording_;
  int host_;
  TimelineText& text_;
  LaunchCalls calls_;
  std::int64_t start_ns_ = 0;
  std::uint64_t arrows_ = 0;
  std::map<std::uint32_t, int> processes_;  ///< by device
  std::map<std::pair<int, std::uint32_t>, StreamLanes> lanes_;
  std::map<std::pair<std::uint32_t, bool>, std::int64_t> allocated_;
};

}  // namespace

void write_timeline(std::span<const Recording> recordings,
                    const std::function<void(std::string_view)>& write) {
  TimelineText text(write);
  int host = processes_apart;
  for (const Recording& recording : recordings) {
    RecordingTimeline(recording, host, text).write();
    host += processes_apart;
  }
  text.finish();
}

}  // namespace strata
