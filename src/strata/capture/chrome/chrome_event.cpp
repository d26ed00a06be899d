// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/chrome/chrome_event.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/capture/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace strata {
namespace {

constexpr std::size_t most_name_bytes = 16 << 10;
constexpr std::int64_t most_ns = std::int64_t{1} << 62;  // so that no difference overflows

std::uint32_t small_number(std::optional<std::int64_t> number, std::uint32_t otherwise) {
  if (!number || *number < 0 || *number >= std::int64_t{0xffffffff}) return otherwise;
  return static_cast<std::uint32_t>(*number);
}

std::uint64_t key_of(std::optional<std::int64_t> number) {
  return number ? static_cast<std::uint64_t>(*number) : 0;
}

std::int64_t bytes_or_unknown(std::optional<std::int64_t> bytes) {
  return bytes && *bytes >= 0 ? *bytes : unknown_bytes;
}

MemoryKind place_named(std::string_view word) {
  if (word == "Pageable" || word == "Host") return MemoryKind::pageable;
  if (word == "Pinned") return MemoryKind::pinned;
  if (word == "Device") return MemoryKind::device;
  if (word == "Managed") return MemoryKind::managed;
  if (word == "Array") return MemoryKind::array;
  return MemoryKind::unknown;
}

CopyKind copy_kind_in(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (has("HtoD") || has("HtoA")) return CopyKind::host_to_device;
  if (has("DtoH") || has("AtoH")) return CopyKind::device_to_host;
  if (has("PtoP")) return CopyKind::peer_to_peer;
  if (has("DtoD") || has("AtoD") || has("DtoA") || has("AtoA")) return CopyKind::device_to_device;
  if (has("HtoH")) return CopyKind::host_to_host;
  return CopyKind::unknown;
}

/// "Memcpy HtoD (Pageable -> Device)": AMD's says "Host", which does not tell pinned from pageable.
void read_places(std::string_view name, CopyRecord& copy) {
  const std::size_t open = name.find('(');
  const std::size_t arrow = name.find(" -> ");
  const std::size_t close = name.rfind(')');
  if (open == name.npos || arrow == name.npos || close == name.npos || arrow < open ||
      close < arrow + 4) {
    return;
  }
  const std::string_view from = name.substr(open + 1, arrow - open - 1);
  const std::string_view to = name.substr(arrow + 4, close - arrow - 4);
  if (from != "Host") copy.source = place_named(from);
  if (to != "Host") copy.destination = place_named(to);
}

SyncKind sync_kind_of(std::string_view name) {
  if (name.find("Stream Wait") != name.npos) return SyncKind::stream_waits_event;
  if (name.find("Stream") != name.npos) return SyncKind::stream;
  if (name.find("Event") != name.npos) return SyncKind::event;
  if (name.find("Context") != name.npos || name.find("Device") != name.npos)
    return SyncKind::context;
  return SyncKind::unknown;
}

constexpr std::int64_t most_elements = std::int64_t{1} << 48;

/// What a collective moves, as its arguments say; unknown_bytes where they do not.
std::int64_t message_bytes_of(const ChromeEvent& event) {
  const std::int64_t each = bytes_of_torch_type(event.element_type);
  const std::int64_t elements =
      std::max(event.in_elements.value_or(-1), event.out_elements.value_or(-1));
  return each > 0 && elements >= 0 && elements <= most_elements ? elements * each : unknown_bytes;
}

/// "300,10;5" of fp16: 6000.
std::int64_t bytes_of_first_input(const ChromeEvent& event) {
  const std::int64_t each = bytes_of_torch_type(event.element_type);
  if (each == 0 || event.inputs.empty()) return unknown_bytes;
  const std::string_view first = std::string_view(event.inputs).substr(0, event.inputs.find(';'));
  std::int64_t elements = 1;
  for (const std::string_view text : split(first, ',')) {
    std::int64_t extent = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (problem != std::errc{} || extent < 0 || (extent > 0 && elements > most_elements / extent))
      return unknown_bytes;
    elements *= extent;
  }
  return elements * each;
}

std::optional<std::int64_t> within_limits(double ns) {
  if (!(std::fabs(ns) < static_cast<double>(most_ns))) return std::nullopt;
  return std::llround(ns);
}

}  // namespace

std::optional<std::int64_t> microseconds_as_ns(std::string_view digits) {
  if (digits.find_first_of("eE") != digits.npos)
    return within_limits(std::strtod(std::string(digits).c_str(), nullptr) * 1e3);
  const bool is_negative = digits.starts_with('-');
  if (is_negative) digits.remove_prefix(1);
  const std::size_t point = digits.find('.');
  const std::string_view whole_digits = digits.substr(0, point);
  std::int64_t whole = 0;
  const auto [end, problem] =
      std::from_chars(whole_digits.data(), whole_digits.data() + whole_digits.size(), whole);
  if (problem != std::errc{} || end != whole_digits.data() + whole_digits.size() ||
      whole > most_ns / 1000) {
    return std::nullopt;
  }
  std::int64_t ns = whole * 1000;
  if (point != digits.npos) {
    std::int64_t unit = 100;
    for (const char digit : digits.substr(point + 1)) {
      if (digit < '0' || digit > '9') return std::nullopt;
      ns += unit * (digit - '0');
      unit /= 10;
    }
  }
  return is_negative ? -ns : ns;
}

NameId ChromeEventFiler::name_of_event(const ChromeEvent& event) {
  return recording_.names.id_of(std::string_view(event.name).substr(0, most_name_bytes));
}

void ChromeEventFiler::add(const ChromeEvent& event) {
  if (event.is_time_broken) fail(ErrorKind::input, "'ts' or 'dur' is no time");
  if (event.phase == 'X') {
    add_slice(event);
  } else if (event.phase == 'i' && event.name == "[memory]") {
    add_memory(event);
  } else if (event.phase == 'M') {
    add_metadata(event);
  }
}

void ChromeEventFiler::add_slice(const ChromeEvent& event) {
  const std::string_view category = event.category;
  if (category == "Trace" || category == "gpu_user_annotation") return;
  if (!event.start_ns) {
    ++without_times_;
    return;
  }
  std::int64_t duration = event.duration_ns.value_or(0);
  if (duration < 0) {
    ++negative_;
    duration = 0;
  }
  if (std::abs(*event.start_ns) > most_ns || duration > most_ns)
    fail(ErrorKind::input, "'ts' or 'dur' is out of reach");
  const TimeSpan time{*event.start_ns, *event.start_ns + duration};
  if (category.empty()) add_xla(event, time);
  if (category == "kernel") {
    add_kernel(event, time);
  } else if (category == "gpu_memcpy") {
    add_copy(event, time);
  } else if (category == "gpu_memset") {
    recording_.fills.push_back({.time = time,
                                .bytes = bytes_or_unknown(event.bytes),
                                .correlation = key_of(event.correlation),
                                .graph_node = key_of(event.graph_node),
                                .device = small_number(event.device, unknown_device),
                                .stream = small_number(event.stream, 0)});
  } else if (category == "cuda_runtime" || category == "cuda_driver") {
    add_call(event, time, category == "cuda_driver" ? ApiKind::driver : ApiKind::runtime);
  } else if (category == "cuda_sync") {
    recording_.syncs.push_back(
        {.time = time,
         .correlation = key_of(event.correlation),
         .device = small_number(event.device, unknown_device),
         .stream = small_number(event.stream, 0),
         .kind = sync_kind_of(event.sync_kind.empty() ? event.name : event.sync_kind)});
  } else if (category == "cpu_op" || category == "operator" || category == "Operator") {
    add_range(event, time, RangeKind::framework);
  } else if (category == "user_annotation") {
    add_range(event, time, RangeKind::user);
  } else if (category == "python_function") {
    add_range(event, time, RangeKind::call);
  } else if (category == "overhead") {
    recording_.overheads.push_back(
        {.time = time, .name = name_of_event(event), .thread = small_number(event.tid, 0)});
  }
}

void ChromeEventFiler::add_kernel(const ChromeEvent& event, TimeSpan time) {
  recording_.kernels.push_back(
      {.time = time,
       .correlation = key_of(event.correlation),
       .graph_node = key_of(event.graph_node),
       .name = name_of_event(event),
       .device = small_number(event.device ? event.device : event.pid, unknown_device),
       .stream = small_number(event.stream, 0),
       .grid = event.grid,
       .block = event.block,
       .registers = small_number(event.registers, unknown_count),
       .static_shared_bytes = event.shared_bytes ? 0 : unknown_count,
       .dynamic_shared_bytes = small_number(event.shared_bytes, unknown_count),
       .message_bytes = message_bytes_of(event)});
}

void ChromeEventFiler::add_copy(const ChromeEvent& event, TimeSpan time) {
  CopyRecord copy{.time = time,
                  .bytes = bytes_or_unknown(event.bytes),
                  .correlation = key_of(event.correlation),
                  .graph_node = key_of(event.graph_node),
                  .device = small_number(event.device ? event.device : event.pid, unknown_device),
                  .peer_device = small_number(event.to_device, unknown_device),
                  .stream = small_number(event.stream, 0),
                  .kind = copy_kind_in(event.name)};
  read_places(event.name, copy);
  recording_.copies.push_back(copy);
}

void ChromeEventFiler::add_call(const ChromeEvent& event, TimeSpan time, ApiKind kind) {
  recording_.calls.push_back({.time = time,
                              .correlation = key_of(event.correlation),
                              .name = name_of_event(event),
                              .thread = small_number(event.tid, 0),
                              .kind = kind});
  if (event.bytes && event.correlation)
    bytes_of_call_[key_of(event.correlation)] = bytes_or_unknown(event.bytes);
}

void ChromeEventFiler::add_range(const ChromeEvent& event, TimeSpan time, RangeKind kind) {
  const std::uint64_t sequence = event.sequence && *event.sequence > 0 ? key_of(event.sequence) : 0;
  recording_.ranges.push_back(
      {.time = time,
       .id = sequence,
       .name = name_of_event(event),
       .thread = small_number(event.tid, 0),
       .kind = kind,
       .is_backward = event.forward_thread.value_or(0) > 0 ||
                      std::string_view(event.name).starts_with("autograd::engine::"),
       .inputs = event.inputs.empty() ? 0 : recording_.names.id_of(event.inputs)});
  keep_message(event, time);
}

// Device types of PyTorch: 0 is the host, 1 CUDA.
void ChromeEventFiler::add_memory(const ChromeEvent& event) {
  if (!event.start_ns || !event.bytes) return;
  if (*event.bytes == std::numeric_limits<std::int64_t>::min())
    fail(ErrorKind::input, "'Bytes' is out of reach");
  const bool is_host = event.device_type.value_or(1) == 0;
  recording_.memory.push_back(
      {.at_ns = *event.start_ns,
       .address = key_of(event.address),
       .bytes = std::abs(*event.bytes),
       .total_bytes = bytes_or_unknown(event.total_allocated),
       .device = is_host ? unknown_device : small_number(event.device, unknown_device),
       .place = is_host ? MemoryKind::pageable : MemoryKind::device,
       .is_allocation = *event.bytes >= 0,
       .is_framework = true});
}

/// Which process ran the program: the first that is named and is no device.
void ChromeEventFiler::add_metadata(const ChromeEvent& event) {
  add_xla_metadata(event);
  if (event.name != "process_name" || !event.pid || !recording_.process.command.empty()) return;
  if (event.id_text.starts_with('/')) return;  // XLA's: "/host:CPU", no program
  constexpr std::int64_t least_pid = 64;       // smaller numbers are devices
  if (*event.pid < least_pid) return;
  recording_.process.command = event.id_text;
  recording_.process.pid = *event.pid;
}

void ChromeEventFiler::keep_message(const ChromeEvent& event, TimeSpan time) {
  std::int64_t bytes = message_bytes_of(event);
  if (bytes < 0 && event.name.starts_with("nccl:") && !event.name.ends_with("all_gather_base"))
    bytes = bytes_of_first_input(event);
  if (bytes >= 0)
    messages_.push_back({.time = time, .thread = small_number(event.tid, 0), .bytes = bytes});
}

/// An operator whose kernel does not say the size of its message gives it the size: to the first
/// kernel that is launched in it, for further ones exchange parts of the same.
void ChromeEventFiler::give_messages_to_kernels() {
  if (messages_.empty()) return;
  std::unordered_map<std::uint64_t, std::size_t> kernels;  // by correlation
  for (std::size_t i = 0; i < recording_.kernels.size(); ++i)
    if (recording_.kernels[i].message_bytes < 0) kernels[recording_.kernels[i].correlation] = i;
  const auto place = [](std::uint32_t thread, std::int64_t at) { return std::pair(thread, at); };
  std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> launches;  // thread and time
  for (const ApiRecord& call : recording_.calls) {
    const auto kernel = kernels.find(call.correlation);
    if (call.correlation != 0 && kernel != kernels.end())
      launches.emplace(place(call.thread, call.time.start_ns), kernel->second);
  }
  for (const Message& message : messages_) {
    const auto first = launches.lower_bound(place(message.thread, message.time.start_ns));
    if (first == launches.end() || first->first > place(message.thread, message.time.end_ns))
      continue;
    std::int64_t& bytes = recording_.kernels[first->second].message_bytes;
    if (bytes < 0) bytes = message.bytes;
  }
}

void ChromeEventFiler::finish(std::optional<std::int64_t> base_ns) {
  give_messages_to_kernels();
  for (CopyRecord& copy : recording_.copies) {
    if (copy.bytes != unknown_bytes) continue;
    const auto known = bytes_of_call_.find(copy.correlation);
    if (known != bytes_of_call_.end()) copy.bytes = known->second;
  }
  if (base_ns && std::abs(*base_ns) > most_ns)
    fail(ErrorKind::input, "'baseTimeNanoseconds' is out of reach");
  // Differences are what counts, and adding 1970 could leave the range: the clock stays as it is.
  recording_.process.clock_is_unix = false;
  if (negative_ > 0)
    recording_.notes.push_back(
        fmt::format("{} events with a negative duration were taken as having none", negative_));
  if (without_times_ > 0)
    recording_.notes.push_back(
        fmt::format("{} events without a time were left out", without_times_));
}

}  // namespace strata
