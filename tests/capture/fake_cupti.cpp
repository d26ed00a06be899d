// SPDX-License-Identifier: Apache-2.0
// A CUPTI without a GPU, for tests of the injected library: it takes the same calls and hands out
// records of launches that a test makes up. Built as libcupti.so.13 into a folder of its own.
//   FAKE_CUPTI_SUBSCRIBE=39   another profiler is attached
#include <cupti.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

struct State {
  std::mutex mutex;
  CUpti_BuffersCallbackRequestFunc give = nullptr;
  CUpti_BuffersCallbackCompleteFunc take = nullptr;
  CUpti_CallbackFunc callback = nullptr;
  void* user = nullptr;
  std::set<int> kinds;
  bool watches_ranges = false;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
  std::size_t dropped = 0;
  std::uint32_t correlation = 0;
  std::vector<std::uint32_t> open_ranges;
  std::uint32_t next_range = 0;
};

State& state() {
  static State* const one = new State;
  return *one;
}

std::uint64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void hand_back(std::unique_lock<std::mutex>& lock) {
  State& s = state();
  std::uint8_t* const buffer = std::exchange(s.buffer, nullptr);
  const std::size_t used = std::exchange(s.used, 0);
  if (buffer == nullptr) return;
  lock.unlock();
  s.take(nullptr, 0, buffer, s.size, used);
  lock.lock();
}

template <class Record>
void add(Record record, CUpti_ActivityKind kind) {
  State& s = state();
  std::unique_lock lock(s.mutex);
  if (!s.kinds.contains(kind)) return;
  record.kind = kind;
  if (s.buffer != nullptr && s.used + sizeof record > s.size) hand_back(lock);
  if (s.buffer == nullptr) {
    std::size_t most = 0;
    s.give(&s.buffer, &s.size, &most);
    s.used = 0;
  }
  if (s.buffer == nullptr) {
    ++s.dropped;
    return;
  }
  std::memcpy(s.buffer + s.used, &record, sizeof record);
  s.used += sizeof record;
}

std::size_t bytes_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MARKER: return sizeof(CUpti_ActivityMarker2);
    default: return 0;
  }
}

void tell_range(CUpti_CallbackId call, const char* name) {
  State& s = state();
  if (!s.watches_ranges || s.callback == nullptr) return;
  CUpti_NvtxData data{};
  const void* parameters[1] = {name};
  data.functionParams = parameters;
  s.callback(s.user, CUPTI_CB_DOMAIN_NVTX, call, &data);
}

}  // namespace

FAKE CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "CUPTI_ERROR_FAKE";
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void* user) {
  state().callback = callback;
  state().user = user;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback,
                                   void* user, CUpti_SubscriberParams* parameters) {
  if (const char* const refusal = std::getenv("FAKE_CUPTI_SUBSCRIBE")) {
    std::strncpy(parameters->oldSubscriberName, "the other one", parameters->oldSubscriberSize);
    return static_cast<CUptiResult>(std::atoi(refusal));
  }
  return cuptiSubscribe(handle, callback, user);
}
FAKE CUptiResult cuptiEnableCallback(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                     CUpti_CallbackId) {
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiEnableDomain(std::uint32_t enable, CUpti_SubscriberHandle,
                                   CUpti_CallbackDomain domain) {
  if (domain == CUPTI_CB_DOMAIN_NVTX) state().watches_ranges = enable != 0;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, std::uint32_t, const char** name) {
  *name = "cudaLaunchKernel_v7000";
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiGetTimestamp(std::uint64_t* now) {
  *now = now_ns();
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc give,
                                                CUpti_BuffersCallbackCompleteFunc take) {
  state().give = give;
  state().take = take;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(state().mutex);
  state().kinds.insert(kind);
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(state().mutex);
  state().kinds.erase(kind);
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  std::unique_lock lock(state().mutex);
  hand_back(lock);
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid,
                                            CUpti_Activity** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr)
    next = reinterpret_cast<std::uint8_t*>(*record) + bytes_of((*record)->kind);
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  const std::lock_guard lock(state().mutex);
  *dropped = std::exchange(state().dropped, 0);
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }

// What a test makes happen.
FAKE void fake_launch(const char* kernel) {
  const std::uint64_t now = now_ns();
  const std::uint32_t correlation = ++state().correlation;
  CUpti_ActivityAPI call{};
  call.start = now;
  call.end = now + 1000;
  call.correlationId = correlation;
  call.threadId = 1;
  add(call, CUPTI_ACTIVITY_KIND_RUNTIME);
  CUpti_ActivityKernel10 record{};
  record.start = now + 2000;
  record.end = now + 4000;
  record.name = kernel;
  record.correlationId = correlation;
  record.gridX = record.gridY = record.gridZ = 2;
  record.blockX = 128;
  record.blockY = record.blockZ = 1;
  record.registersPerThread = 40;
  add(record, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}
FAKE void fake_copy(std::uint64_t bytes) {
  CUpti_ActivityMemcpy6 record{};
  record.start = now_ns();
  record.end = record.start + 500;
  record.bytes = bytes;
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  record.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.correlationId = ++state().correlation;
  add(record, CUPTI_ACTIVITY_KIND_MEMCPY);
}
FAKE void fake_push(const char* name) {
  tell_range(CUPTI_CBID_NVTX_nvtxRangePushA, name);
  CUpti_ActivityMarker2 marker{};
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_START;
  marker.timestamp = now_ns();
  marker.id = ++state().next_range;
  marker.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  marker.objectId.pt.threadId = 1;
  marker.name = name;
  state().open_ranges.push_back(marker.id);
  add(marker, CUPTI_ACTIVITY_KIND_MARKER);
}
FAKE void fake_pop() {
  CUpti_ActivityMarker2 marker{};
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_END;
  marker.timestamp = now_ns();
  marker.id = state().open_ranges.back();
  marker.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  marker.objectId.pt.threadId = 1;
  state().open_ranges.pop_back();
  add(marker, CUPTI_ACTIVITY_KIND_MARKER);
  tell_range(CUPTI_CBID_NVTX_nvtxRangePop, nullptr);
}
