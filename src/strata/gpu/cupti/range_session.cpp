// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cupti/range_session.cuh"

#include "strata/base/error.hpp"
#include "strata/gpu/cupti/host_object.cuh"

#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>

namespace strata::cupti {
namespace {

/// Ranges are known to CUPTI by their number: it would add up those that have the same name.
class ProfiledMarks final : public RangeMarks {
 public:
  ProfiledMarks(CUpti_RangeProfiler_Object* profiler, std::span<const std::string> expected)
      : profiler_(profiler), expected_(expected) {}

  void push(std::string_view name) override {
    STRATA_CHECK(next_ < expected_.size() && expected_[next_] == name,
                 "counted work has the same ranges in each run");
    const std::string number = std::to_string(next_++);
    STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_PushRange_Params, parameters);
    parameters.pRangeProfilerObject = profiler_;
    parameters.pRangeName = number.c_str();
    STRATA_CUPTI_CALL(range_push, &parameters);
  }

  void pop() override {
    STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_PopRange_Params, parameters);
    parameters.pRangeProfilerObject = profiler_;
    STRATA_CUPTI_CALL(range_pop, &parameters);
  }

  bool is_complete() const { return next_ == expected_.size(); }

 private:
  CUpti_RangeProfiler_Object* profiler_;
  std::span<const std::string> expected_;
  std::size_t next_ = 0;
};

/// Started; stopped at the latest when it goes.
class Pass {
 public:
  explicit Pass(CUpti_RangeProfiler_Object* profiler) : profiler_(profiler) {
    STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_Start_Params, parameters);
    parameters.pRangeProfilerObject = profiler;
    STRATA_CUPTI_CALL(range_start, &parameters);
    is_on_ = true;
  }
  ~Pass() {
    STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_Stop_Params, parameters);
    parameters.pRangeProfilerObject = profiler_;
    if (is_on_) cupti_functions().range_stop(&parameters);
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  /// Whether this was the last that is needed.
  bool stop() {
    is_on_ = false;
    STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_Stop_Params, parameters);
    parameters.pRangeProfilerObject = profiler_;
    STRATA_CUPTI_CALL(range_stop, &parameters);
    return parameters.isAllPassSubmitted != 0;
  }

 private:
  CUpti_RangeProfiler_Object* profiler_;
  bool is_on_ = false;
};

std::vector<std::uint8_t> counter_image(CUpti_RangeProfiler_Object* profiler,
                                        std::span<const std::string> metrics, std::size_t ranges) {
  std::vector<const char*> names = c_names(metrics);
  STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
  size.pRangeProfilerObject = profiler;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = ranges;
  size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges);
  STRATA_CUPTI_CALL(range_data_size, &size);
  std::vector<std::uint8_t> image(size.counterDataSize);
  STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, parameters);
  parameters.pRangeProfilerObject = profiler;
  parameters.counterDataSize = image.size();
  parameters.pCounterData = image.data();
  STRATA_CUPTI_CALL(range_data_initialize, &parameters);
  return image;
}

void configure(CUpti_RangeProfiler_Object* profiler, SessionImages& images, std::size_t ranges) {
  STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_SetConfig_Params, parameters);
  parameters.pRangeProfilerObject = profiler;
  parameters.configSize = images.config.size();
  parameters.pConfig = images.config.data();
  parameters.counterDataImageSize = images.counters.size();
  parameters.pCounterDataImage = images.counters.data();
  parameters.range = CUPTI_UserRange;
  parameters.replayMode = CUPTI_UserReplay;
  parameters.maxRangesPerPass = ranges;
  parameters.numNestingLevels = 1;
  parameters.minNestingLevel = 1;
  parameters.passIndex = 0;
  parameters.targetNestingLevel = 1;
  STRATA_CUPTI_CALL(range_set_config, &parameters);
}

void decode(CUpti_RangeProfiler_Object* profiler) {
  STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_DecodeData_Params, parameters);
  parameters.pRangeProfilerObject = profiler;
  STRATA_CUPTI_CALL(range_decode, &parameters);
  if (parameters.numOfRangeDropped != 0) {
    fail(ErrorKind::environment, "the profiler lost {} ranges; count fewer layers at a time",
         parameters.numOfRangeDropped);
  }
}

std::size_t ranges_in(std::span<const std::uint8_t> counters) {
  STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataInfo_Params, parameters);
  parameters.pCounterDataImage = counters.data();
  parameters.counterDataImageSize = counters.size();
  STRATA_CUPTI_CALL(range_count, &parameters);
  return parameters.numTotalRanges;
}

std::size_t number_of(std::span<const std::uint8_t> counters, std::size_t index,
                      std::size_t ranges) {
  STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, parameters);
  parameters.pCounterDataImage = counters.data();
  parameters.counterDataImageSize = counters.size();
  parameters.rangeIndex = index;
  parameters.rangeDelimiter = "/";
  STRATA_CUPTI_CALL(range_info, &parameters);
  const std::string_view name = parameters.rangeName == nullptr ? "" : parameters.rangeName;
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (problem != std::errc() || end != name.data() + name.size() || number >= ranges)
    fail(ErrorKind::environment, "the profiler returned a range '{}' that nobody pushed", name);
  return number;
}

}  // namespace

CUcontext current_context() {
  // The driver is in the process already; it is not linked, so that Strata starts without it.
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto current =
      driver == nullptr
          ? nullptr
          : reinterpret_cast<decltype(&cuCtxGetCurrent)>(::dlsym(driver, "cuCtxGetCurrent"));
  CUcontext context = nullptr;
  if (current == nullptr || current(&context) != CUDA_SUCCESS || context == nullptr)
    fail(ErrorKind::environment, "no CUDA context is current: the device has not been used yet");
  return context;
}

RangeProfiler::RangeProfiler(CUcontext context) {
  STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_Enable_Params, parameters);
  parameters.ctx = context;
  STRATA_CUPTI_CALL(range_enable, &parameters);
  object_ = parameters.pRangeProfilerObject;
}

RangeProfiler::~RangeProfiler() {
  STRATA_CUPTI_PARAMETERS(CUpti_RangeProfiler_Disable_Params, parameters);
  parameters.pRangeProfilerObject = object_;
  cupti_functions().range_disable(&parameters);
}

RangeValues count_session(RangeProfiler& profiler, const std::string& chip,
                          std::span<const std::string> metrics, std::span<const std::string> ranges,
                          const CountedWork& work) {
  HostObject host(chip);
  check_cupti(host.add(metrics), "cuptiProfilerHostConfigAddMetrics");
  SessionImages& images = profiler.images;
  images.config = host.config();
  images.counters = counter_image(profiler.get(), metrics, ranges.size());
  const int expected_passes = passes_of(images.config);
  configure(profiler.get(), images, ranges.size());
  bool is_done = false;
  // One more than it said: a profiler that never ends must not take us with it.
  for (int pass = 0; pass <= expected_passes && !is_done; ++pass) {
    Pass one(profiler.get());
    ProfiledMarks marks(profiler.get(), ranges);
    work(marks);
    STRATA_CHECK(marks.is_complete(), "counted work has the same ranges in each run");
    is_done = one.stop();
  }
  if (!is_done)
    fail(ErrorKind::environment, "the profiler wants more than the {} runs it said",
         expected_passes);
  decode(profiler.get());
  if (const std::size_t count = ranges_in(images.counters); count != ranges.size()) {
    fail(ErrorKind::environment, "the profiler returned {} ranges of {}", count, ranges.size());
  }
  RangeValues values(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i)
    values[number_of(images.counters, i, ranges.size())] = host.values(images.counters, i, metrics);
  return values;
}

}  // namespace strata::cupti
