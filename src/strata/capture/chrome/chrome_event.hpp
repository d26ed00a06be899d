// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// One event of Chrome's trace format, as the PyTorch profiler (Kineto) writes it, and how it
/// becomes a row of a Recording.
namespace strata {

/// Nanoseconds of a number of microseconds as it is written, "1700000000000000.125"; nothing when
/// 64 bits do not hold them.
std::optional<std::int64_t> microseconds_as_ns(std::string_view digits);

/// Which of XLA's arguments the details are.
enum class XlaDetails : std::uint8_t { none, kernel, copy, fill };

struct ChromeEvent {
  std::string name;
  std::string category;
  std::string id_text;                 ///< args: of a metadata event, the name that it gives
  std::string sync_kind;               ///< args
  std::string hlo_op, tf_op, details;  ///< args of XLA's profiler; details: of kernel, copy, memset
  XlaDetails details_of = XlaDetails::none;
  std::string element_type;  ///< args of a collective, or of an operator's first input
  std::string inputs;        ///< args: sizes of an operator's inputs, "32,3,8,8;64,3,3,3"
  char phase = 0;
  std::optional<std::int64_t> start_ns, duration_ns;
  std::optional<std::int64_t> pid, tid;
  // args
  std::optional<std::int64_t> device, stream, correlation, bytes, registers, shared_bytes,
      graph_node, to_device, sequence, step, forward_thread, address, total_allocated, device_type,
      in_elements, out_elements;
  std::array<std::uint32_t, 3> grid = {};
  std::array<std::uint32_t, 3> block = {};
  bool is_time_broken = false;  ///< "ts" or "dur" is no time that can be held

  void clear() { *this = ChromeEvent{}; }
};

/// Files events into a recording, in any order.
class ChromeEventFiler {
 public:
  explicit ChromeEventFiler(Recording& recording) : recording_(recording) {}

  /// Errors (input) say what is wrong with the event; the caller knows its number.
  void add(const ChromeEvent& event);

  /// When all are there: what one event knows of another, times since 1970 where the file has the
  /// offset, notes. Errors (input): the offset does not go with the times.
  void finish(std::optional<std::int64_t> base_ns);

 private:
  void add_slice(const ChromeEvent& event);
  void add_kernel(const ChromeEvent& event, TimeSpan time);
  void add_copy(const ChromeEvent& event, TimeSpan time);
  void add_call(const ChromeEvent& event, TimeSpan time, ApiKind kind);
  void add_range(const ChromeEvent& event, TimeSpan time, RangeKind kind);
  void add_memory(const ChromeEvent& event);
  void add_metadata(const ChromeEvent& event);
  NameId name_of_event(const ChromeEvent& event);
  void keep_message(const ChromeEvent& event, TimeSpan time);
  void give_messages_to_kernels();
  // XLA's profiler (JAX) has no categories: processes are devices, threads are streams.
  void add_xla(const ChromeEvent& event, TimeSpan time);
  void add_xla_kernel(const ChromeEvent& event, TimeSpan time, std::uint32_t device,
                      std::uint32_t stream);
  void add_xla_metadata(const ChromeEvent& event);

  Recording& recording_;
  std::unordered_map<std::uint64_t, std::int64_t> bytes_of_call_;  ///< where calls say, not copies
  std::unordered_map<std::int64_t, std::uint32_t> xla_devices_;    ///< by process
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> xla_streams_;  ///< and thread
  /// Of collectives whose operator says their size, not their kernel.
  struct Message {
    TimeSpan time;
    std::uint32_t thread = 0;
    std::int64_t bytes = 0;
  };
  std::vector<Message> messages_;
  std::int64_t negative_ = 0;
  std::int64_t without_times_ = 0;
};

}  // namespace strata
