// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/device_trace.hpp"

#include "strata/base/error.hpp"
#include "strata/gpu/correlation_ranges.hpp"
#include "strata/gpu/cupti/functions.cuh"
#include "strata/gpu/cupti/kernel_name.cuh"
#include "strata/gpu/profiler_reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

namespace strata::cupti {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;  // some five thousand kernels
constexpr CUpti_ActivityKind traced_kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,  // KERNEL would make kernels wait for each other
    CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
constexpr CUpti_CallbackDomain watched_domains[] = {CUPTI_CB_DOMAIN_RUNTIME_API,
                                                    CUPTI_CB_DOMAIN_DRIVER_API};

std::string_view copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD: return "copy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH: return "copy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD: return "copy device to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP: return "copy between devices";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH: return "copy host to host";
    default: return "copy";
  }
}

/// What arrives while a trace is on. CUPTI's callbacks know no object, so there is one place where
/// they find it.
class Recorder {
 public:
  explicit Recorder(const DeviceTraceLimits& limits) : limits_(limits) {}

  CorrelationRanges parts;
  std::uint64_t begin_ns = 0;

  /// Null: what waits to be read has reached its limit, and CUPTI drops records.
  std::uint8_t* buffer() {
    const std::lock_guard lock(mutex_);
    if (waiting_bytes_ + buffer_bytes > limits_.most_buffer_bytes) return nullptr;
    auto* memory = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
    if (memory != nullptr) waiting_bytes_ += buffer_bytes;
    return memory;
  }

  void read(CUcontext context, std::uint32_t stream, std::uint8_t* memory, std::size_t valid) {
    const std::lock_guard lock(mutex_);
    waiting_bytes_ -= std::min(waiting_bytes_, buffer_bytes);
    CUpti_Activity* record = nullptr;
    while (valid > 0 && cupti_functions().activity_next(memory, valid, &record) == CUPTI_SUCCESS)
      add(*record);
    std::size_t dropped = 0;
    if (cupti_functions().activity_dropped(context, stream, &dropped) == CUPTI_SUCCESS)
      activity_.dropped += static_cast<std::int64_t>(dropped);
  }

  DeviceActivity take() {
    const std::lock_guard lock(mutex_);
    for (DeviceRecord& record : activity_.records) record.part = parts.part_of(record.correlation);
    std::stable_sort(activity_.records.begin(), activity_.records.end(),
                     [](const DeviceRecord& left, const DeviceRecord& right) {
                       return left.begin_s < right.begin_s;
                     });
    return std::move(activity_);
  }

 private:
  void add(const CUpti_Activity& record) {
    switch (record.kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
        add_timed(kernel, DeviceWork::kernel, kernel_name(kernel.name), 0, launch_of(kernel));
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
        add_timed(copy, DeviceWork::copy, std::string(copy_name(copy.copyKind)), copy.bytes);
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMSET: {
        const auto& fill = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
        add_timed(fill, DeviceWork::fill, "fill", fill.bytes);
        break;
      }
      default: break;
    }
  }

  static LaunchShape launch_of(const CUpti_ActivityKernel10& kernel) {
    const auto product = [](std::int64_t x, std::int64_t y, std::int64_t z) { return x * y * z; };
    return {.blocks = product(kernel.gridX, kernel.gridY, kernel.gridZ),
            .threads_per_block = product(kernel.blockX, kernel.blockY, kernel.blockZ),
            .registers_per_thread = kernel.registersPerThread,
            .shared_bytes_per_block =
                std::int64_t{kernel.staticSharedMemory} + kernel.dynamicSharedMemory};
  }

  template <class Record>
  void add_timed(const Record& record, DeviceWork work, std::string name, std::uint64_t bytes,
                 const LaunchShape& launch = {}) {
    if (record.start == 0 || record.end < record.start) {
      ++activity_.untimed;
    } else if (activity_.records.size() >= limits_.most_records) {
      ++activity_.dropped;
    } else {
      const auto since_begin_ns = static_cast<std::int64_t>(record.start - begin_ns);
      activity_.records.push_back({.work = work,
                                   .name = std::move(name),
                                   .part = {},
                                   .begin_s = 1e-9 * static_cast<double>(since_begin_ns),
                                   .seconds = 1e-9 * static_cast<double>(record.end - record.start),
                                   .bytes = static_cast<std::int64_t>(bytes),
                                   .device = record.deviceId,
                                   .stream = record.streamId,
                                   .correlation = record.correlationId,
                                   .launch = launch});
    }
  }

  /// The same name comes with thousands of records; it is made readable once.
  const std::string& kernel_name(const char* name) {
    const std::string key = name == nullptr ? "" : name;
    const auto found = names_.find(key);
    if (found != names_.end()) return found->second;
    return names_.emplace(key, readable_kernel_name(name)).first->second;
  }

  DeviceTraceLimits limits_;
  std::mutex mutex_;
  std::size_t waiting_bytes_ = 0;
  std::unordered_map<std::string, std::string> names_;
  DeviceActivity activity_;
};

std::mutex recorder_mutex;
std::shared_ptr<Recorder> current_recorder;

std::shared_ptr<Recorder> recorder_now() {
  const std::lock_guard lock(recorder_mutex);
  return current_recorder;
}

void set_recorder(std::shared_ptr<Recorder> recorder) {
  const std::lock_guard lock(recorder_mutex);
  current_recorder = std::move(recorder);
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  const std::shared_ptr<Recorder> recorder = recorder_now();
  *buffer = recorder == nullptr ? nullptr : recorder->buffer();
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t, std::size_t valid) {
  if (const std::shared_ptr<Recorder> recorder = recorder_now())
    recorder->read(context, stream, buffer, valid);
  std::free(buffer);
}

void CUPTIAPI see_call(void* recorder, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER)
    static_cast<Recorder*>(recorder)->parts.saw_call(call.correlationId);
}

/// Subscribes; says by name who is there already.
CUpti_SubscriberHandle subscribe(Recorder& recorder) {
  std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1> other{};
  STRATA_CUPTI_PARAMETERS(CUpti_SubscriberParams, parameters);
  parameters.subscriberName = "strata";
  parameters.oldSubscriberName = other.data();
  parameters.oldSubscriberSize = other.size() - 1;
  CUpti_SubscriberHandle subscriber = nullptr;
  const CUptiResult status =
      cupti_functions().subscribe(&subscriber, see_call, &recorder, &parameters);
  if (status == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && other[0] != '\0')
    fail(ErrorKind::environment, "{}: {}", other.data(), profiler_advice(status));
  check_cupti(status, "cuptiSubscribe_v2");
  return subscriber;
}

class CuptiTrace final : public DeviceTrace {
 public:
  explicit CuptiTrace(const DeviceTraceLimits& limits)
      : recorder_(std::make_shared<Recorder>(limits)) {
    require_driver();
    cupti_functions();
    claim(Activity::trace);
    try {
      subscriber_ = subscribe(*recorder_);
      set_recorder(recorder_);
      STRATA_CUPTI_CALL(activity_callbacks, give_buffer, take_buffer);
      STRATA_CUPTI_CALL(timestamp, &recorder_->begin_ns);
      for (const CUpti_CallbackDomain domain : watched_domains)
        STRATA_CUPTI_CALL(enable_domain, 1, subscriber_, domain);
      for (const CUpti_ActivityKind kind : traced_kinds) STRATA_CUPTI_CALL(activity_enable, kind);
    } catch (...) {
      stop();
      throw;
    }
  }
  ~CuptiTrace() override { stop(); }
  CuptiTrace(const CuptiTrace&) = delete;
  CuptiTrace& operator=(const CuptiTrace&) = delete;

  void begin_part(std::size_t part) override { recorder_->parts.begin_part(part); }

  DeviceActivity end() override {
    STRATA_CHECK(is_on_, "a trace ends once");
    stop();
    return recorder_->take();
  }

 private:
  /// Says nothing of what goes wrong: the records that did arrive are the result.
  void stop() {
    if (!is_on_) return;
    is_on_ = false;
    const CuptiFunctions& cupti = cupti_functions();
    cupti.activity_flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    for (const CUpti_ActivityKind kind : traced_kinds) cupti.activity_disable(kind);
    if (subscriber_ != nullptr) cupti.unsubscribe(subscriber_);
    set_recorder(nullptr);
    release();
  }

  std::shared_ptr<Recorder> recorder_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool is_on_ = true;
};

}  // namespace
}  // namespace strata::cupti

namespace strata {

std::unique_ptr<DeviceTrace> begin_device_trace(const DeviceTraceLimits& limits) {
  return std::make_unique<cupti::CuptiTrace>(limits);
}

}  // namespace strata
