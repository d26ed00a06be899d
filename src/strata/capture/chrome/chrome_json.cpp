// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/chrome/chrome_json.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/capture/chrome/chrome_event.hpp"
#include "strata/capture/chrome/json_stream.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <unordered_map>

namespace strata {
namespace {

constexpr std::size_t most_devices = 4096;

/// A value that is neither list nor object, as it is written.
struct Scalar {
  std::string_view text = {};
  bool is_text = false;
  bool is_number = false;

  std::optional<std::int64_t> whole() const;
};

Scalar number_of(std::string_view digits) { return {.text = digits, .is_number = true}; }

/// Numbers also stand in quotes: "size": "2560". What is not whole is rounded towards zero.
std::optional<std::int64_t> Scalar::whole() const {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{}) return std::nullopt;
  if (stop == end) return value;
  if (!is_number) return std::nullopt;
  const double real = std::strtod(std::string(text).c_str(), nullptr);
  return std::fabs(real) < 9e18 ? std::optional(static_cast<std::int64_t>(real)) : std::nullopt;
}

enum class Key : std::uint8_t {
  other,
  name,
  category,
  phase,
  start,
  duration,
  pid,
  tid,
  args,
  device,
  stream,
  correlation,
  bytes,
  registers,
  shared,
  grid,
  block,
  graph_node,
  to_device,
  sequence,
  forward_thread,
  sync_kind,
  hlo_op,
  tf_op,
  kernel_details,
  copy_details,
  fill_details,
  step,
  address,
  total_allocated,
  device_type,
  in_elements,
  out_elements,
  element_type,
  inputs,
  input_types,
  events,
  devices,
  distributed,
  rank,
  base_time,
  host
};

Key key_named(std::string_view text) {
  static const std::unordered_map<std::string_view, Key> keys = {
      {"name", Key::name},
      {"cat", Key::category},
      {"ph", Key::phase},
      {"ts", Key::start},
      {"dur", Key::duration},
      {"pid", Key::pid},
      {"tid", Key::tid},
      {"args", Key::args},
      {"device", Key::device},
      {"Device Id", Key::device},
      {"stream", Key::stream},
      {"correlation", Key::correlation},
      {"bytes", Key::bytes},
      {"Bytes", Key::bytes},
      {"size", Key::bytes},
      {"registers per thread", Key::registers},
      {"shared memory", Key::shared},
      {"grid", Key::grid},
      {"block", Key::block},
      {"graph node id", Key::graph_node},
      {"toDevice", Key::to_device},
      {"Sequence number", Key::sequence},
      {"Fwd thread id", Key::forward_thread},
      {"cuda_sync_kind", Key::sync_kind},
      {"correlation_id", Key::correlation},
      {"hlo_op", Key::hlo_op},
      {"tf_op", Key::tf_op},
      {"kernel_details", Key::kernel_details},
      {"memcpy_details", Key::copy_details},
      {"memset_details", Key::fill_details},
      {"step_num", Key::step},
      {"Addr", Key::address},
      {"Total Allocated", Key::total_allocated},
      {"Device Type", Key::device_type},
      {"In msg nelems", Key::in_elements},
      {"Out msg nelems", Key::out_elements},
      {"dtype", Key::element_type},
      {"Input Dims", Key::inputs},
      {"Input type", Key::input_types},
      {"traceEvents", Key::events},
      {"deviceProperties", Key::devices},
      {"distributedInfo", Key::distributed},
      {"rank", Key::rank},
      {"baseTimeNanoseconds", Key::base_time},
      {"host_name", Key::host}};
  const auto found = keys.find(text);
  return found == keys.end() ? Key::other : found->second;
}

/// Follows the parser. Events lie in a list that is the document itself or its "traceEvents".
class TraceReader {
 public:
  TraceReader(Recording& recording, JsonStream& stream)
      : recording_(recording), filer_(recording), stream_(stream) {}

  void read() {
    for (;;) {
      switch (next_token()) {
        case JsonToken::begin_object: begin_object(); break;
        case JsonToken::end_object: end_object(); break;
        case JsonToken::begin_list: begin_list(); break;
        case JsonToken::end_list: end_list(); break;
        case JsonToken::key: key(stream_.text()); break;
        case JsonToken::text: scalar({.text = stream_.text(), .is_text = true}); break;
        case JsonToken::number: scalar(number_of(stream_.text())); break;
        case JsonToken::literal: break;
        case JsonToken::end: finish(); return;
      }
    }
  }

 private:
  /// The format lets a list of events end without a bracket, as a program that was killed leaves
  /// it.
  JsonToken next_token() {
    try {
      return stream_.next();
    } catch (const Error&) {
      if (is_root_list_ && depth_ == 1 && is_in_events_ && stream_.is_at_end())
        return JsonToken::end;
      throw;
    }
  }

  void begin_object() {
    open(false);
    if (is_in_events_ && depth_ == events_depth_ + 1) {
      event_.clear();
      inputs_seen_ = 0;
      are_inputs_cut_ = false;
    }
    if (is_in_events_ && depth_ == events_depth_ + 2) is_in_args_ = event_key_ == Key::args;
    if (root_key_ == Key::devices && depth_ == 3) {
      if (recording_.process.devices.size() >= most_devices)
        fail(ErrorKind::input, "more than {} devices", most_devices);
      recording_.process.devices.emplace_back();
    }
  }
  void key(std::string_view text) {
    if (is_in_events_) {
      if (depth_ == events_depth_ + 1) event_key_ = key_named(text);
      if (is_in_args_ && depth_ == events_depth_ + 2) arg_key_ = key_named(text);
    } else if (depth_ == 1) {
      root_key_ = key_named(text);
    } else {
      other_key_ = text.substr(0, 256);
    }
  }
  void end_object() {
    if (is_in_events_ && depth_ == events_depth_ + 2) is_in_args_ = false;
    if (is_in_events_ && depth_ == events_depth_ + 1) file_event();
    --depth_;
  }
  void begin_list() {
    open(true);
    position_in_list_ = 0;
    if (is_in_args_ && arg_key_ == Key::inputs && depth_ == events_depth_ + 4) begin_input();
    const bool is_root_list = depth_ == 1;
    if (is_root_list || (depth_ == 2 && root_key_ == Key::events && !is_in_events_)) {
      is_in_events_ = true;
      is_root_list_ = is_root_list;
      has_events_ = true;
      events_depth_ = depth_;
    }
  }
  void end_list() {
    if (is_in_events_ && depth_ == events_depth_) is_in_events_ = false;
    --depth_;
  }

  void finish() {
    if (!has_events_) fail(ErrorKind::input, "no list 'traceEvents', so it is no trace");
    filer_.finish(base_ns_);
  }

  void open(bool is_list) {
    ++depth_;
    if (is_in_events_ && depth_ == events_depth_ + 1 && is_list)
      fail(ErrorKind::input, "traceEvents[{}]: expected an object", event_count_);
  }

  void file_event() {
    try {
      filer_.add(event_);
    } catch (Error& error) {
      error.add_context(fmt::format("traceEvents[{}]", event_count_));
      throw;
    }
    ++event_count_;
  }

  void scalar(const Scalar& value) {
    if (is_in_events_) {
      if (depth_ == events_depth_ + 1) field(value);
      if (is_in_args_ && depth_ == events_depth_ + 2) argument(value);
      if (is_in_args_ && depth_ == events_depth_ + 3) extent(value);
      if (is_in_args_ && depth_ == events_depth_ + 4) input_extent(value);
    } else if (root_key_ == Key::devices && depth_ == 3) {
      device_field(value);
    } else if (root_key_ == Key::distributed && depth_ == 2) {
      if (other_key_ == "rank" && value.whole()) recording_.process.rank = *value.whole();
    } else if (depth_ == 1 && root_key_ == Key::base_time) {
      base_ns_ = value.whole();
    } else if (depth_ == 1 && root_key_ == Key::host && value.is_text) {
      recording_.process.host = printable(value.text.substr(0, 256));
    }
  }

  void field(const Scalar& value) {
    switch (event_key_) {
      case Key::name: event_.name = value.text; break;
      case Key::category: event_.category = value.text; break;
      case Key::phase: event_.phase = value.text.empty() ? '\0' : value.text[0]; break;
      case Key::start: event_.start_ns = time_of(value); break;
      case Key::duration: event_.duration_ns = time_of(value); break;
      case Key::pid: event_.pid = value.whole(); break;
      case Key::tid: event_.tid = value.whole(); break;
      default: break;
    }
  }

  std::optional<std::int64_t> time_of(const Scalar& value) {
    if (!value.is_number) return std::nullopt;
    const std::optional<std::int64_t> ns = microseconds_as_ns(value.text);
    if (!ns) event_.is_time_broken = true;
    return ns;
  }

  void argument(const Scalar& value) {
    switch (arg_key_) {
      case Key::name: event_.id_text = printable(value.text.substr(0, 4096)); break;
      case Key::device: event_.device = value.whole(); break;
      case Key::stream: event_.stream = value.whole(); break;
      case Key::correlation: event_.correlation = value.whole(); break;
      case Key::bytes: event_.bytes = value.whole(); break;
      case Key::registers: event_.registers = value.whole(); break;
      case Key::shared: event_.shared_bytes = value.whole(); break;
      case Key::graph_node: event_.graph_node = value.whole(); break;
      case Key::to_device: event_.to_device = value.whole(); break;
      case Key::sequence: event_.sequence = value.whole(); break;
      case Key::forward_thread: event_.forward_thread = value.whole(); break;
      case Key::sync_kind: event_.sync_kind = value.text; break;
      case Key::hlo_op: event_.hlo_op = value.text; break;
      case Key::tf_op: event_.tf_op = value.text; break;
      case Key::kernel_details: add_details(value, XlaDetails::kernel); break;
      case Key::copy_details: add_details(value, XlaDetails::copy); break;
      case Key::fill_details: add_details(value, XlaDetails::fill); break;
      case Key::step: event_.step = value.whole(); break;
      case Key::address: event_.address = value.whole(); break;
      case Key::total_allocated: event_.total_allocated = value.whole(); break;
      case Key::device_type: event_.device_type = value.whole(); break;
      case Key::in_elements: event_.in_elements = value.whole(); break;
      case Key::out_elements: event_.out_elements = value.whole(); break;
      case Key::element_type: event_.element_type = value.text.substr(0, 64); break;
      default: break;
    }
  }

  void add_details(const Scalar& value, XlaDetails of) {
    event_.details = value.text;
    event_.details_of = of;
  }

  /// Sizes of the inputs of an operator are lists in a list; what is longer than a line is cut off
  /// as a whole, for half of it says nothing.
  void begin_input() {
    if (inputs_seen_++ > 0) add_input_text(";");
  }
  void input_extent(const Scalar& value) {
    if (arg_key_ != Key::inputs || !value.is_number) return;
    if (position_in_list_++ > 0) add_input_text(",");
    add_input_text(value.text);
  }
  void add_input_text(std::string_view text) {
    constexpr std::size_t most_input_text = 256;
    if (event_.inputs.size() + text.size() > most_input_text) are_inputs_cut_ = true;
    if (are_inputs_cut_) {
      event_.inputs.clear();
    } else {
      event_.inputs += text;
    }
  }

  void extent(const Scalar& value) {
    if (arg_key_ == Key::input_types && event_.element_type.empty() && value.is_text)
      event_.element_type = value.text.substr(0, 64);
    if (arg_key_ != Key::grid && arg_key_ != Key::block) return;
    const std::optional<std::int64_t> whole = value.whole();
    auto& extents = arg_key_ == Key::grid ? event_.grid : event_.block;
    if (position_in_list_ < extents.size() && whole && *whole >= 0 && *whole <= 0x7fffffff)
      extents[position_in_list_] = static_cast<std::uint32_t>(*whole);
    ++position_in_list_;
  }

  void device_field(const Scalar& value) {
    RecordedDevice& device = recording_.process.devices.back();
    if (other_key_ == "name") device.name = printable(value.text.substr(0, 256));
    const std::optional<std::int64_t> whole = value.whole();
    if (!whole || *whole < 0) return;
    const auto small = static_cast<std::int32_t>(std::min<std::int64_t>(*whole, INT32_MAX));
    if (other_key_ == "id") device.id = static_cast<std::uint32_t>(small);
    if (other_key_ == "totalGlobalMem") device.memory_bytes = *whole;
    if (other_key_ == "numSms") device.multiprocessors = small;
    if (other_key_ == "computeMajor") device.compute_major = small;
    if (other_key_ == "computeMinor") device.compute_minor = small;
    if (other_key_ == "warpSize") device.warp_size = small;
    if (other_key_ == "maxThreadsPerMultiprocessor") device.max_threads_per_multiprocessor = small;
    if (other_key_ == "regsPerMultiprocessor") device.registers_per_multiprocessor = small;
    if (other_key_ == "sharedMemPerMultiprocessor" ||
        other_key_ == "maxSharedMemoryPerMultiProcessor")
      device.shared_bytes_per_multiprocessor = *whole;
  }

  Recording& recording_;
  ChromeEventFiler filer_;
  JsonStream& stream_;
  ChromeEvent event_;
  Key root_key_ = Key::other;
  Key event_key_ = Key::other;
  Key arg_key_ = Key::other;
  std::string other_key_;
  std::optional<std::int64_t> base_ns_;
  std::size_t event_count_ = 0;
  std::size_t position_in_list_ = 0;
  std::size_t inputs_seen_ = 0;
  bool are_inputs_cut_ = false;
  int depth_ = 0;
  int events_depth_ = 0;
  bool is_in_events_ = false;
  bool is_root_list_ = false;
  bool has_events_ = false;
  bool is_in_args_ = false;
};

}  // namespace

Recording read_chrome_json(ByteSource& source) {
  Recording recording;
  recording.process.source_format = "Kineto JSON";
  JsonStream stream(source);
  TraceReader(recording, stream).read();
  check_recording(recording);
  sort_by_start(recording);
  return recording;
}

}  // namespace strata
