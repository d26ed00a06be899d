// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/inject/activity_records.cuh"

namespace strata::inject {
namespace {

/// A record as the type that its kind says. CUPTI only ever adds fields at the end of a record:
/// what is read here is in the records of CUDA 12 already.
template <class Record>
const Record& record_as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

const char* or_empty(const char* text) { return text == nullptr ? "" : text; }

const char* overhead_name(CUpti_ActivityOverheadKind kind) {
  switch (static_cast<std::uint32_t>(kind)) {
    case 1: return "compiling in the driver";
    case 1U << 16: return "profiler: handing over buffers";
    case 2U << 16: return "profiler: instrumenting kernels";
    case 3U << 16: return "profiler: resources";
    case 4U << 16: return "loading a module";
    case 5U << 16: return "loading a function when first used";
    case 6U << 16: return "queue of commands full";
    case 7U << 16: return "profiler: asking for a buffer";
    case 8U << 16: return "profiler: starting unified memory";
    default: return "other";
  }
}

template <class Out, class Record>
void fill_times(const Record& record, Out& out) {
  out.start_ns = record.start;
  out.end_ns = record.end;
}

/// What records of work on a device have in common.
template <class Out, class Record>
void fill_work(const Record& record, Out& out) {
  fill_times(record, out);
  out.correlation = record.correlationId;
  out.graph_node = record.graphNodeId;
  out.device = record.deviceId;
  out.stream = record.streamId;
}

template <class Record>
std::uint32_t kinds_of_copy(const Record& copy) {
  return copy.copyKind | std::uint32_t{copy.srcKind} << 8 | std::uint32_t{copy.dstKind} << 16;
}

std::uint32_t thread_of(CUpti_ActivityObjectKind kind, const CUpti_ActivityObjectKindId& id) {
  return kind == CUPTI_ACTIVITY_OBJECT_THREAD ? id.pt.threadId : 0;
}

}  // namespace

void ActivityRecords::read(std::uint8_t* buffer, std::size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  while (valid_bytes > 0 && cupti().next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS &&
         record != nullptr)
    add(*record);
  log_.add_lost(untimed_, 1);
  untimed_ = 0;
}

void ActivityRecords::add(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      ++counts_.kernels;
      return add_kernel(record_as<CUpti_ActivityKernel10>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY: return add_copy(record_as<CUpti_ActivityMemcpy6>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return add_peer_copy(record_as<CUpti_ActivityMemcpyPtoP4>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET: return add_fill(record_as<CUpti_ActivityMemset4>(record));
    case CUPTI_ACTIVITY_KIND_MEMORY2: return add_memory(record_as<CUpti_ActivityMemory4>(record));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      ++counts_.calls;
      return add_call(record_as<CUpti_ActivityAPI>(record),
                      record.kind == CUPTI_ACTIVITY_KIND_RUNTIME);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return add_sync(record_as<CUpti_ActivitySynchronization2>(record));
    case CUPTI_ACTIVITY_KIND_MARKER:
      ++counts_.markers;
      return add_marker(record_as<CUpti_ActivityMarker2>(record));
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return add_overhead(record_as<CUpti_ActivityOverhead3>(record));
    case CUPTI_ACTIVITY_KIND_DEVICE: return add_device(record_as<CUpti_ActivityDevice5>(record));
    case CUPTI_ACTIVITY_KIND_CONTEXT: return add_context(record_as<CUpti_ActivityContext3>(record));
    default: return;
  }
}

bool ActivityRecords::is_timed(std::uint64_t start_ns, std::uint64_t end_ns) {
  const bool is_timed = start_ns != 0 && end_ns >= start_ns;
  if (!is_timed) ++untimed_;
  return is_timed;
}

void ActivityRecords::add_kernel(const CUpti_ActivityKernel10& kernel) {
  if (!is_timed(kernel.start, kernel.end)) return;
  LogKernel out;
  out.head = log_head<LogKernel>(LogKind::kernel, log_.name_id(or_empty(kernel.name)));
  fill_work(kernel, out);
  out.context = kernel.contextId;
  out.grid = {static_cast<std::uint32_t>(kernel.gridX), static_cast<std::uint32_t>(kernel.gridY),
              static_cast<std::uint32_t>(kernel.gridZ)};
  out.block = {static_cast<std::uint32_t>(kernel.blockX), static_cast<std::uint32_t>(kernel.blockY),
               static_cast<std::uint32_t>(kernel.blockZ)};
  out.static_shared_bytes = static_cast<std::uint32_t>(kernel.staticSharedMemory);
  out.dynamic_shared_bytes = static_cast<std::uint32_t>(kernel.dynamicSharedMemory);
  out.registers = kernel.registersPerThread;
  out.graph = kernel.graphId;
  out.cluster = {static_cast<std::uint16_t>(kernel.clusterX),
                 static_cast<std::uint16_t>(kernel.clusterY),
                 static_cast<std::uint16_t>(kernel.clusterZ)};
  out.launch_type = kernel.launchType;
  log_.append(out);
}

void ActivityRecords::add_copy(const CUpti_ActivityMemcpy6& copy) {
  if (!is_timed(copy.start, copy.end)) return;
  LogCopy out;
  out.head = log_head<LogCopy>(LogKind::copy, kinds_of_copy(copy));
  fill_work(copy, out);
  out.bytes = copy.bytes;
  log_.append(out);
}

void ActivityRecords::add_peer_copy(const CUpti_ActivityMemcpyPtoP4& copy) {
  if (!is_timed(copy.start, copy.end)) return;
  LogCopy out;
  out.head = log_head<LogCopy>(LogKind::copy, kinds_of_copy(copy));
  fill_work(copy, out);
  out.bytes = copy.bytes;
  out.device = copy.srcDeviceId;
  out.peer_device = copy.dstDeviceId;
  log_.append(out);
}

void ActivityRecords::add_fill(const CUpti_ActivityMemset4& fill) {
  if (!is_timed(fill.start, fill.end)) return;
  LogFill out;
  out.head = log_head<LogFill>(LogKind::fill, fill.memoryKind);
  fill_work(fill, out);
  out.bytes = fill.bytes;
  log_.append(out);
}

void ActivityRecords::add_memory(const CUpti_ActivityMemory4& memory) {
  LogMemory out;
  out.head =
      log_head<LogMemory>(LogKind::memory, static_cast<std::uint32_t>(memory.memoryOperationType) |
                                               static_cast<std::uint32_t>(memory.memoryKind) << 8);
  out.at_ns = memory.timestamp;
  out.address = memory.address;
  out.bytes = memory.bytes;
  out.device = memory.deviceId;
  out.correlation = memory.correlationId;
  log_.append(out);
}

void ActivityRecords::add_call(const CUpti_ActivityAPI& call, bool is_runtime) {
  if (!is_timed(call.start, call.end)) return;
  const char* name = nullptr;
  cupti().callback_name(is_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API,
                        call.cbid, &name);
  LogCall out;
  out.head = log_head<LogCall>(is_runtime ? LogKind::runtime : LogKind::driver,
                               log_.name_id(or_empty(name)));
  fill_times(call, out);
  out.correlation = call.correlationId;
  out.thread = call.threadId;
  log_.append(out);
}

void ActivityRecords::add_sync(const CUpti_ActivitySynchronization2& sync) {
  if (!is_timed(sync.start, sync.end)) return;
  LogSync out;
  out.head = log_head<LogSync>(LogKind::sync, static_cast<std::uint32_t>(sync.type));
  fill_times(sync, out);
  out.correlation = sync.correlationId;
  out.context = sync.contextId;
  out.stream = sync.streamId;
  out.event = sync.cudaEventId;
  log_.append(out);
}

void ActivityRecords::add_marker(const CUpti_ActivityMarker2& marker) {
  LogMarker out;
  const bool begins = (marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0;
  const bool ends = (marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0;
  if (!begins && !ends && (marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS) == 0) return;
  out.part = begins ? MarkerPart::begin : ends ? MarkerPart::end : MarkerPart::instant;
  const std::uint32_t name = ends ? 0 : log_.name_id(or_empty(marker.name));
  out.head = log_head<LogMarker>(LogKind::marker, name);
  out.at_ns = marker.timestamp;
  out.id = marker.id;
  out.thread = thread_of(marker.objectKind, marker.objectId);
  out.domain = ends || marker.domain == nullptr ? 0 : log_.name_id(marker.domain);
  log_.append(out);
}

void ActivityRecords::add_overhead(const CUpti_ActivityOverhead3& overhead) {
  if (!is_timed(overhead.start, overhead.end)) return;
  LogOverhead out;
  out.head =
      log_head<LogOverhead>(LogKind::overhead, log_.name_id(overhead_name(overhead.overheadKind)));
  fill_times(overhead, out);
  out.thread = thread_of(overhead.objectKind, overhead.objectId);
  log_.append(out);
}

void ActivityRecords::add_device(const CUpti_ActivityDevice5& device) {
  LogDevice out;
  out.head = log_head<LogDevice>(LogKind::device, device.id);
  out.memory_bytes = device.globalMemorySize;
  out.name = log_.name_id(or_empty(device.name));
  out.multiprocessors = device.numMultiprocessors;
  out.compute_major = device.computeCapabilityMajor;
  out.compute_minor = device.computeCapabilityMinor;
  out.warp_size = device.numThreadsPerWarp;
  out.warps_per_multiprocessor = device.maxWarpsPerMultiprocessor;
  out.registers_per_multiprocessor = device.maxRegistersPerMultiprocessor;
  out.shared_bytes_per_multiprocessor = device.maxSharedMemoryPerMultiprocessor;
  log_.append(out);
}

void ActivityRecords::add_context(const CUpti_ActivityContext3& context) {
  log_.append(
      LogContext{log_head<LogContext>(LogKind::context, context.contextId), context.deviceId, 0});
}

}  // namespace strata::inject
