// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/inject/cupti_source.cuh"

#include "strata/gpu/cupti/launch_calls.cuh"

#include <cstdlib>

namespace strata::inject {
namespace {

CuptiSource* the_source = nullptr;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = the_source->buffers().take();
  *bytes = *buffer == nullptr ? 0 : BufferPool::buffer_bytes;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t, std::size_t valid_bytes) {
  the_source->take_records(context, stream, buffer, valid_bytes);
}

}  // namespace

std::uint8_t* BufferPool::take() {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    std::uint8_t* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  if (made_ >= most_) return nullptr;
  auto* const buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  if (buffer != nullptr) ++made_;
  return buffer;
}

void BufferPool::give_back(std::uint8_t* buffer) {
  const std::lock_guard lock(mutex_);
  if (buffer != nullptr) free_.push_back(buffer);
}

CuptiSource::CuptiSource(const CaptureOptions& options)
    : options_(options), buffers_(options.most_waiting_bytes) {}

std::vector<CUpti_ActivityKind> CuptiSource::kinds() const {
  // CONCURRENT_KERNEL, not KERNEL, which makes kernels wait for each other.
  std::vector<CUpti_ActivityKind> kinds = {
      CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
      CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
      CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,   CUPTI_ACTIVITY_KIND_MARKER,
      CUPTI_ACTIVITY_KIND_OVERHEAD};
  if (options_.traces_calls && !are_calls_dropped_) {
    kinds.push_back(CUPTI_ACTIVITY_KIND_RUNTIME);
    kinds.push_back(CUPTI_ACTIVITY_KIND_DRIVER);
  }
  if (options_.traces_memory && !are_calls_dropped_) kinds.push_back(CUPTI_ACTIVITY_KIND_MEMORY2);
  return kinds;
}

std::string CuptiSource::begin(LogWriter& log) {
  log_ = &log;
  the_source = this;
  cupti().thread_ids(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  const CUptiResult status = cupti().register_callbacks(give_buffer, take_buffer);
  if (status != CUPTI_SUCCESS) return cupti_problem("cuptiActivityRegisterCallbacks", status);
  // Each comes once, when a device or a context appears: a window that opens later would miss it.
  cupti().enable(CUPTI_ACTIVITY_KIND_DEVICE);
  cupti().enable(CUPTI_ACTIVITY_KIND_CONTEXT);
  return {};
}

std::uint64_t CuptiSource::now_ns() {
  std::uint64_t now_ns = 0;
  cupti().timestamp(&now_ns);
  return now_ns;
}

void CuptiSource::start_recording() {
  const std::lock_guard lock(kinds_mutex_);
  if (is_on_ || log_ == nullptr) return;  // counters need no records
  is_on_ = true;
  budget_ = CallBudget(now_ns(), kernels_, calls_);
  for (const CUpti_ActivityKind kind : kinds()) {
    const CUptiResult status = cupti().enable(kind);
    if (status != CUPTI_SUCCESS)
      log_->append_text(LogKind::info, static_cast<std::uint32_t>(LogInfo::note),
                        "records of kind " + std::to_string(static_cast<int>(kind)) +
                            " are not there: " + cupti_problem("cuptiActivityEnable", status));
  }
  record_launches(true);
}

void CuptiSource::stop_recording() {
  const std::lock_guard lock(kinds_mutex_);
  if (!is_on_) return;
  is_on_ = false;
  for (const CUpti_ActivityKind kind : kinds()) cupti().disable(kind);
  record_launches(false);
}

void CuptiSource::flush(bool all) {
  if (log_ == nullptr) return;
  cupti().flush(all ? std::uint32_t{CUPTI_ACTIVITY_FLAG_FLUSH_FORCED} : 0U);
  if (!all && options_.may_drop_calls) drop_calls_if_many();
}

void CuptiSource::record_launches(bool is_wanted) const {
  if (!records_launches_) return;
  const std::uint8_t is_on = is_wanted ? 1 : 0;
  for (const CUpti_CallbackId call : cupti::launch_calls) cupti().enable_driver_call(call, is_on);
  for (const CUpti_CallbackId call :
       {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz})
    cupti().enable_driver_call(call, is_on);
}

/// A range of NVTX owns the kernels that are launched in it, so launches are still recorded where
/// the program has ranges: the driver's, one record each, instead of a dozen calls.
void CuptiSource::drop_calls_if_many() {
  const std::lock_guard lock(kinds_mutex_);
  if (!is_on_ || are_calls_dropped_) return;
  if (!budget_.is_over(kernels_, calls_, now_ns())) return;
  are_calls_dropped_ = true;
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMORY2})
    cupti().disable(kind);
  records_launches_ = markers_ > 0 && cupti().enable_driver_call != nullptr;
  record_launches(true);
  log_->append_text(LogKind::info, static_cast<std::uint32_t>(LogInfo::note),
                    std::string("calls are many and cost time: from here on ") +
                        (records_launches_ ? "of calls only launches are recorded"
                                           : "only kernels, copies and memsets are recorded") +
                        "; --calls records all");
}

void CuptiSource::take_records(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                               std::size_t valid_bytes) {
  ActivityRecords records(*log_);
  records.read(buffer, valid_bytes);
  kernels_ += records.counts().kernels;
  calls_ += records.counts().calls;
  markers_ += records.counts().markers;
  std::size_t dropped = 0;
  if (cupti().dropped(context, stream, &dropped) == CUPTI_SUCCESS) log_->add_lost(dropped, 0);
  buffers_.give_back(buffer);
}

}  // namespace strata::inject
