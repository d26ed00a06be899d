// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cupti/host_object.cuh"

namespace strata::cupti {

std::vector<const char*> c_names(std::span<const std::string> names) {
  std::vector<const char*> pointers;
  pointers.reserve(names.size());
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

HostObject::HostObject(const std::string& chip) {
  STRATA_CUPTI_PARAMETERS(CUpti_Profiler_Host_Initialize_Params, parameters);
  parameters.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  parameters.pChipName = chip.c_str();
  // Without the image of what is available: it takes 70 ms and changes neither passes nor values.
  STRATA_CUPTI_CALL(host_initialize, &parameters);
  object_ = parameters.pHostObject;
}

HostObject::~HostObject() {
  STRATA_CUPTI_PARAMETERS(CUpti_Profiler_Host_Deinitialize_Params, parameters);
  parameters.pHostObject = object_;
  cupti_functions().host_deinitialize(&parameters);
}

CUptiResult HostObject::add(std::span<const std::string> metrics) {
  std::vector<const char*> names = c_names(metrics);
  STRATA_CUPTI_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics_Params, parameters);
  parameters.pHostObject = object_;
  parameters.ppMetricNames = names.data();
  parameters.numMetrics = names.size();
  return cupti_functions().host_add_metrics(&parameters);
}

std::vector<std::uint8_t> HostObject::config() const {
  STRATA_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
  size.pHostObject = object_;
  STRATA_CUPTI_CALL(host_config_size, &size);
  std::vector<std::uint8_t> image(size.configImageSize);
  STRATA_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImage_Params, parameters);
  parameters.pHostObject = object_;
  parameters.configImageSize = image.size();
  parameters.pConfigImage = image.data();
  STRATA_CUPTI_CALL(host_config, &parameters);
  return image;
}

std::map<std::string, double, std::less<>> HostObject::values(
    std::span<const std::uint8_t> counters, std::size_t range,
    std::span<const std::string> metrics) const {
  std::vector<const char*> names = c_names(metrics);
  std::vector<double> numbers(metrics.size());
  STRATA_CUPTI_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, parameters);
  parameters.pHostObject = object_;
  parameters.pCounterDataImage = counters.data();
  parameters.counterDataImageSize = counters.size();
  parameters.rangeIndex = range;
  parameters.ppMetricNames = names.data();
  parameters.numMetrics = names.size();
  parameters.pMetricValues = numbers.data();
  STRATA_CUPTI_CALL(host_evaluate, &parameters);
  std::map<std::string, double, std::less<>> values;
  for (std::size_t i = 0; i < metrics.size(); ++i) values[metrics[i]] = numbers[i];
  return values;
}

int passes_of(std::span<std::uint8_t> config) {
  STRATA_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses_Params, parameters);
  parameters.configImageSize = config.size();
  parameters.pConfigImage = config.data();
  STRATA_CUPTI_CALL(host_passes, &parameters);
  return static_cast<int>(parameters.numOfPasses);
}

}  // namespace strata::cupti
