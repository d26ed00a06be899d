// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/inject/kernel_counters.cuh"

#include "strata/gpu/cupti/launch_calls.cuh"

#include <dlfcn.h>

#include <array>

namespace strata::inject {
namespace {

constexpr std::array<CUpti_CallbackId, 2> graph_calls = {
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};
constexpr std::array<CUpti_CallbackId, 6> capture_begins = {
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz};
constexpr std::array<CUpti_CallbackId, 2> capture_ends = {
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz};

template <std::size_t count>
bool is_one_of(const std::array<CUpti_CallbackId, count>& calls, CUpti_CallbackId call) {
  for (const CUpti_CallbackId one : calls)
    if (one == call) return true;
  return false;
}

/// A function of the driver that is in the process.
template <class Function>
Function driver_function(const char* name) {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(driver, name));
}

void wait_for_device() {
  static const auto synchronize = driver_function<decltype(&cuCtxSynchronize)>("cuCtxSynchronize");
  if (synchronize != nullptr) synchronize();
}

int current_device() {
  const auto ask = driver_function<decltype(&cuCtxGetDevice)>("cuCtxGetDevice");
  CUdevice device = 0;
  return ask != nullptr && ask(&device) == CUDA_SUCCESS ? device : 0;
}

std::string unless_done(const char* call, CUptiResult status) {
  return status == CUPTI_SUCCESS ? std::string() : cupti_problem(call, status);
}

}  // namespace

std::span<const CUpti_CallbackId> KernelCounters::watched_calls() {
  static const std::vector<CUpti_CallbackId>* const all = [] {
    auto* calls =
        new std::vector<CUpti_CallbackId>(cupti::launch_calls.begin(), cupti::launch_calls.end());
    calls->insert(calls->end(), graph_calls.begin(), graph_calls.end());
    calls->insert(calls->end(), capture_begins.begin(), capture_begins.end());
    calls->insert(calls->end(), capture_ends.begin(), capture_ends.end());
    return calls;
  }();
  return *all;
}

std::string KernelCounters::begin() {
  for (const std::string& metric : metrics_) metric_names_.push_back(metric.c_str());
  return cupti().counter_problem;
}

void KernelCounters::see_call(CUpti_CallbackId call, const CUpti_CallbackData& data,
                              bool is_wanted) {
  const std::lock_guard lock(mutex_);
  if (has_failed_) return;
  const bool begins = data.callbackSite == CUPTI_API_ENTER;
  if (is_one_of(cupti::launch_calls, call)) {
    if (begins && graphs_in_work_ == 0) see_launch(data, is_wanted);
    return;
  }
  const bool is_launch = is_one_of(graph_calls, call);
  if (begins && (is_launch || is_one_of(capture_begins, call))) {
    ++graphs_in_work_;
    if (is_launch && is_wanted) ++graph_launches_;
    if (is_on_) give_up(stop());
  }
  if (!begins && graphs_in_work_ > 0 && (is_launch || is_one_of(capture_ends, call))) {
    --graphs_in_work_;
    if (graphs_in_work_ == 0) wait_for_device();  // the next launch starts the profiler again
  }
}

void KernelCounters::see_launch(const CUpti_CallbackData& data, bool is_wanted) {
  if (!is_wanted) {
    if (is_on_) give_up(stop());
    return;
  }
  if (context_ == nullptr) {
    give_up(set_up(data.context));
    if (has_failed_) return;
  }
  if (data.context != context_) {
    ++other_contexts_;
    return;
  }
  if (waiting_.size() == ranges_per_image) give_up(collect());
  if (!has_failed_ && !is_on_) give_up(start());
  if (!has_failed_) waiting_.emplace_back(data.symbolName == nullptr ? "" : data.symbolName);
}

std::string KernelCounters::set_up(CUcontext context) {
  context_ = context;
  STRATA_PARAMETERS(CUpti_Profiler_Initialize_Params, initialize);
  if (auto problem =
          unless_done("cuptiProfilerInitialize", cupti().profiler_initialize(&initialize));
      !problem.empty())
    return problem;
  STRATA_PARAMETERS(CUpti_Device_GetChipName_Params, chip);
  chip.deviceIndex = static_cast<std::size_t>(current_device());
  if (auto problem = unless_done("cuptiDeviceGetChipName", cupti().chip_name(&chip));
      !problem.empty())
    return problem;
  STRATA_PARAMETERS(CUpti_Profiler_Host_Initialize_Params, host);
  host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  host.pChipName = chip.pChipName;
  if (auto problem = unless_done("cuptiProfilerHostInitialize", cupti().host_initialize(&host));
      !problem.empty())
    return problem;
  host_ = host.pHostObject;
  STRATA_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
  add.pHostObject = host_;
  add.ppMetricNames = metric_names_.data();
  add.numMetrics = metric_names_.size();
  if (auto problem =
          unless_done("cuptiProfilerHostConfigAddMetrics", cupti().host_add_metrics(&add));
      !problem.empty())
    return problem;
  return make_images();
}

std::string KernelCounters::make_images() {
  STRATA_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
  size.pHostObject = host_;
  if (auto problem =
          unless_done("cuptiProfilerHostGetConfigImageSize", cupti().host_config_size(&size));
      !problem.empty())
    return problem;
  config_.resize(size.configImageSize);
  STRATA_PARAMETERS(CUpti_Profiler_Host_GetConfigImage_Params, config);
  config.pHostObject = host_;
  config.configImageSize = config_.size();
  config.pConfigImage = config_.data();
  if (auto problem = unless_done("cuptiProfilerHostGetConfigImage", cupti().host_config(&config));
      !problem.empty())
    return problem;
  return configure();
}

/// A profiler for the context with an empty image. Anew for every image: CUPTI 13.0.1 goes on with
/// the first one when it is only set up again.
std::string KernelCounters::configure() {
  STRATA_PARAMETERS(CUpti_RangeProfiler_Enable_Params, enable);
  enable.ctx = context_;
  if (auto problem = unless_done("cuptiRangeProfilerEnable", cupti().range_enable(&enable));
      !problem.empty())
    return problem;
  profiler_ = enable.pRangeProfilerObject;
  STRATA_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
  size.pRangeProfilerObject = profiler_;
  size.pMetricNames = metric_names_.data();
  size.numMetrics = metric_names_.size();
  size.maxNumOfRanges = ranges_per_image;
  size.maxNumRangeTreeNodes = ranges_per_image;
  if (auto problem =
          unless_done("cuptiRangeProfilerGetCounterDataSize", cupti().range_data_size(&size));
      !problem.empty())
    return problem;
  counters_.assign(size.counterDataSize, 0);
  STRATA_PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image);
  image.pRangeProfilerObject = profiler_;
  image.counterDataSize = counters_.size();
  image.pCounterData = counters_.data();
  if (auto problem = unless_done("cuptiRangeProfilerCounterDataImageInitialize",
                                 cupti().range_data_initialize(&image));
      !problem.empty())
    return problem;
  STRATA_PARAMETERS(CUpti_RangeProfiler_SetConfig_Params, config);
  config.pRangeProfilerObject = profiler_;
  config.configSize = config_.size();
  config.pConfig = config_.data();
  config.counterDataImageSize = counters_.size();
  config.pCounterDataImage = counters_.data();
  config.range = CUPTI_AutoRange;
  config.replayMode = CUPTI_KernelReplay;
  config.maxRangesPerPass = ranges_per_image;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  config.targetNestingLevel = 1;
  return unless_done("cuptiRangeProfilerSetConfig", cupti().range_set_config(&config));
}

std::string KernelCounters::start() {
  STRATA_PARAMETERS(CUpti_RangeProfiler_Start_Params, parameters);
  parameters.pRangeProfilerObject = profiler_;
  is_on_ = true;
  return unless_done("cuptiRangeProfilerStart", cupti().range_start(&parameters));
}

std::string KernelCounters::stop() {
  STRATA_PARAMETERS(CUpti_RangeProfiler_Stop_Params, parameters);
  parameters.pRangeProfilerObject = profiler_;
  is_on_ = false;
  return unless_done("cuptiRangeProfilerStop", cupti().range_stop(&parameters));
}

std::string KernelCounters::collect() {
  if (is_on_) {
    if (auto problem = stop(); !problem.empty()) return problem;
  }
  STRATA_PARAMETERS(CUpti_RangeProfiler_DecodeData_Params, decode);
  decode.pRangeProfilerObject = profiler_;
  if (auto problem = unless_done("cuptiRangeProfilerDecodeData", cupti().range_decode(&decode));
      !problem.empty())
    return problem;
  STRATA_PARAMETERS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
  info.pCounterDataImage = counters_.data();
  info.counterDataImageSize = counters_.size();
  if (auto problem =
          unless_done("cuptiRangeProfilerGetCounterDataInfo", cupti().range_count(&info));
      !problem.empty())
    return problem;
  if (decode.numOfRangeDropped == 0 && info.numTotalRanges == waiting_.size()) {
    for (std::size_t range = 0; range < waiting_.size(); ++range) write_down(range);
  } else {
    note("the profiler counted " + std::to_string(info.numTotalRanges) + " kernels where " +
         std::to_string(waiting_.size()) +
         " were launched; which is which is not known, and their counters are left out");
    log_.add_lost(waiting_.size(), 0);
  }
  launches_ += waiting_.size();
  waiting_.clear();
  log_.hand_over();
  STRATA_PARAMETERS(CUpti_RangeProfiler_Disable_Params, disable);
  disable.pRangeProfilerObject = profiler_;
  if (auto problem = unless_done("cuptiRangeProfilerDisable", cupti().range_disable(&disable));
      !problem.empty())
    return problem;
  return configure();
}

void KernelCounters::write_down(std::size_t range) {
  std::vector<double> values(metric_names_.size());
  STRATA_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, evaluate);
  evaluate.pHostObject = host_;
  evaluate.pCounterDataImage = counters_.data();
  evaluate.counterDataImageSize = counters_.size();
  evaluate.rangeIndex = range;
  evaluate.ppMetricNames = metric_names_.data();
  evaluate.numMetrics = metric_names_.size();
  evaluate.pMetricValues = values.data();
  if (cupti().host_evaluate(&evaluate) != CUPTI_SUCCESS) {
    log_.add_lost(1, 0);
    return;
  }
  LogCounted counted;
  counted.head = log_head<LogCounted>(LogKind::counted, log_.name_id(waiting_[range]));
  counted.head.words =
      static_cast<std::uint16_t>(counted.head.words + values.size());  // a double is a word
  counted.launch = launches_ + range;
  counted.values = static_cast<std::uint32_t>(values.size());
  log_.append_with(&counted, sizeof counted, values.data(), values.size() * sizeof(double));
}

void KernelCounters::end() {
  const std::lock_guard lock(mutex_);
  if (!has_failed_ && !waiting_.empty()) give_up(collect());
  if (graph_launches_ > 0)
    note(std::to_string(graph_launches_) +
         " launches of CUDA graphs were not counted: kernels cannot be replayed inside a graph");
  if (other_contexts_ > 0)
    note(std::to_string(other_contexts_) +
         " launches in other contexts than the first were not counted");
}

void KernelCounters::give_up(const std::string& problem) {
  if (problem.empty()) return;
  has_failed_ = true;
  note("counters ended: " + problem);
}

void KernelCounters::note(const std::string& text) {
  log_.append_text(LogKind::info, static_cast<std::uint32_t>(LogInfo::note), text);
}

}  // namespace strata::inject
