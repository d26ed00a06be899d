// SPDX-License-Identifier: Apache-2.0
#include "strata/base/text.hpp"
#include "strata/capture/chrome/chrome_event.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

/// Events of XLA's profiler, as jax.profiler writes them (trace.json.gz, perfetto_trace.json.gz): a
/// process "/device:GPU:0" with threads "Stream #13(Compute)", and what is known of a kernel in its
/// arguments: "regs:16 static_shared:0 dynamic_shared:0 grid:1,1,1 block:32,1,1".
namespace strata {
namespace {

/// The number behind the word; nothing where it is not there.
std::optional<std::int64_t> number_behind(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == text.npos) return std::nullopt;
  const std::string_view digits = text.substr(at + word.size());
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (problem != std::errc{} || number < 0) return std::nullopt;
  return number;
}

std::uint32_t count_behind(std::string_view text, std::string_view word) {
  const std::optional<std::int64_t> number = number_behind(text, word);
  return number && *number < unknown_count ? static_cast<std::uint32_t>(*number) : unknown_count;
}

/// "grid:2,3,1"
void read_extents(std::string_view text, std::string_view word,
                  std::array<std::uint32_t, 3>& extents) {
  const std::size_t at = text.find(word);
  if (at == text.npos) return;
  text.remove_prefix(at + word.size());
  for (std::uint32_t& extent : extents) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (problem != std::errc{}) return;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with(',')) return;
    text.remove_prefix(1);
  }
}

MemoryKind place_behind(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == text.npos) return MemoryKind::unknown;
  const std::string_view rest = text.substr(at + word.size());
  const std::string_view place = rest.substr(0, rest.find(' '));
  if (place == "pageable") return MemoryKind::pageable;
  if (place == "pinned") return MemoryKind::pinned;
  if (place == "device") return MemoryKind::device;
  if (place == "managed") return MemoryKind::managed;
  if (place == "array") return MemoryKind::array;
  return MemoryKind::unknown;
}

CopyKind xla_copy_kind(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (has("H2D")) return CopyKind::host_to_device;
  if (has("D2H")) return CopyKind::device_to_host;
  if (has("P2P")) return CopyKind::peer_to_peer;
  if (has("D2D")) return CopyKind::device_to_device;
  return CopyKind::unknown;
}

bool is_cuda_call(std::string_view name) {
  return name.starts_with("cuda") ||
         (name.starts_with("cu") && name.size() > 2 && name[2] >= 'A' && name[2] <= 'Z');
}

}  // namespace

void ChromeEventFiler::add_xla_metadata(const ChromeEvent& event) {
  if (!event.pid) return;
  if (event.name == "process_name") {
    const auto device = number_behind(event.id_text, "/device:GPU:");
    if (!device || *device >= unknown_device) return;
    xla_devices_[*event.pid] = static_cast<std::uint32_t>(*device);
    recording_.process.source_format = "XLA profiler JSON";
  }
  if (event.name == "thread_name" && event.tid) {
    const auto stream = number_behind(event.id_text, "Stream #");
    if (stream && *stream < unknown_device)
      xla_streams_[{*event.pid, *event.tid}] = static_cast<std::uint32_t>(*stream);
  }
}

void ChromeEventFiler::add_xla(const ChromeEvent& event, TimeSpan time) {
  const auto device = xla_devices_.find(event.pid.value_or(-1));
  const auto stream = xla_streams_.find({event.pid.value_or(-1), event.tid.value_or(-1)});
  const bool is_on_stream = device != xla_devices_.end() && stream != xla_streams_.end();
  const std::uint32_t device_number =
      device == xla_devices_.end() ? unknown_device : device->second;
  const std::uint32_t stream_number = stream == xla_streams_.end() ? 0 : stream->second;
  const auto correlation = static_cast<std::uint64_t>(event.correlation.value_or(0));
  const auto is_named = [&](std::string_view word) {
    return is_on_stream && lower_case(event.name).starts_with(word);
  };
  if (event.details_of == XlaDetails::copy || is_named("memcpy")) {
    recording_.copies.push_back(
        {.time = time,
         .bytes = number_behind(event.details, "size:").value_or(unknown_bytes),
         .correlation = correlation,
         .device = device_number,
         .stream = stream_number,
         .kind = xla_copy_kind(event.name),
         .source = place_behind(event.details, "kind_src:"),
         .destination = place_behind(event.details, "kind_dst:")});
  } else if (event.details_of == XlaDetails::fill || is_named("memset")) {
    recording_.fills.push_back(
        {.time = time,
         .bytes = number_behind(event.details, "size:").value_or(unknown_bytes),
         .correlation = correlation,
         .device = device_number,
         .stream = stream_number});
  } else if (event.details_of == XlaDetails::kernel || is_on_stream) {
    add_xla_kernel(event, time, device_number, stream_number);
  } else if (device == xla_devices_.end() && event.correlation && is_cuda_call(event.name)) {
    add_call(event, time, event.name.starts_with("cuda") ? ApiKind::runtime : ApiKind::driver);
  } else if (device == xla_devices_.end() && event.step) {
    // jax.profiler.StepTraceAnnotation
    ChromeEvent named = event;
    named.name = fmt::format("step {}", *event.step);
    add_range(named, time, RangeKind::user);
  }
}

void ChromeEventFiler::add_xla_kernel(const ChromeEvent& event, TimeSpan time, std::uint32_t device,
                                      std::uint32_t stream) {
  KernelRecord kernel{.time = time,
                      .correlation = static_cast<std::uint64_t>(event.correlation.value_or(0)),
                      .name = name_of_event(event),
                      .device = device,
                      .stream = stream,
                      .registers = count_behind(event.details, "regs:"),
                      .static_shared_bytes = count_behind(event.details, "static_shared:"),
                      .dynamic_shared_bytes = count_behind(event.details, "dynamic_shared:")};
  read_extents(event.details, "grid:", kernel.grid);
  read_extents(event.details, "block:", kernel.block);
  if (!event.hlo_op.empty()) {
    const bool has_path = event.id_text.find('/') != event.id_text.npos;
    const std::string_view path = has_path ? event.id_text
                                  : event.tf_op.find('/') == event.tf_op.npos
                                      ? std::string_view()
                                      : std::string_view(event.tf_op);
    const std::string origin = path.empty()
                                   ? fmt::format("Thunk:#hlo_op={}#", event.hlo_op)
                                   : fmt::format("Thunk:#name={},hlo_op={}#", path, event.hlo_op);
    constexpr std::size_t most_origin_bytes = 4096;
    if (origin.size() <= most_origin_bytes) kernel.origin = recording_.names.id_of(origin);
  }
  recording_.kernels.push_back(kernel);
}

}  // namespace strata
