// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cupti/launch_ranges.cuh"

#include "strata/base/error.hpp"
#include "strata/gpu/cupti/kernel_name.cuh"
#include "strata/gpu/cupti/launch_calls.cuh"

#include <cuda.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <utility>

namespace strata::cupti {
namespace {

void wait_for_context() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto wait =
      driver == nullptr
          ? nullptr
          : reinterpret_cast<decltype(&cuCtxSynchronize)>(::dlsym(driver, "cuCtxSynchronize"));
  if (wait == nullptr || wait() != CUDA_SUCCESS)
    fail(ErrorKind::environment, "the device could not be waited for between two kernels");
}

}  // namespace

/// What the work sees: ranges as it knows them, handed on cut.
class LaunchRanges::SplitMarks final : public RangeMarks {
 public:
  SplitMarks(RangeMarks& marks, std::vector<Range>& ranges) : marks_(marks), ranges_(ranges) {}

  void push(std::string_view name) override {
    name_ = name;
    begin();
    is_open_ = true;
  }
  void pop() override {
    is_open_ = false;
    marks_.pop();
  }
  void launch(const char* kernel) {
    if (!is_open_) return;
    if (!ranges_.back().kernel.empty()) {
      wait_for_context();
      marks_.pop();
      begin();
    }
    ranges_.back().kernel = readable_kernel_name(kernel);
  }

 private:
  void begin() {
    ranges_.push_back({name_, {}});
    marks_.push(fmt::format("{}", ranges_.size()));
  }

  RangeMarks& marks_;
  std::vector<Range>& ranges_;
  std::string name_;
  bool is_open_ = false;
};

LaunchRanges::LaunchRanges() {
  STRATA_CUPTI_PARAMETERS(CUpti_SubscriberParams, parameters);
  parameters.subscriberName = "strata";
  STRATA_CUPTI_CALL(subscribe, &subscriber_, see_launch, this, &parameters);
  for (const CUpti_CallbackId call : launch_calls) {
    const CUptiResult status =
        cupti_functions().enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, call);
    if (status == CUPTI_SUCCESS) continue;
    cupti_functions().unsubscribe(subscriber_);
    check_cupti(status, CuptiNames::enable_callback);
  }
}

LaunchRanges::~LaunchRanges() { cupti_functions().unsubscribe(subscriber_); }

void LaunchRanges::split(RangeMarks& marks, const CountedWork& work) {
  ranges_.clear();
  problem_ = nullptr;
  SplitMarks split_marks(marks, ranges_);
  current_ = &split_marks;
  try {
    work(split_marks);
  } catch (...) {
    current_ = nullptr;
    throw;
  }
  current_ = nullptr;
  if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
}

void LaunchRanges::launch(const char* kernel) {
  SplitMarks* const marks = std::exchange(current_, nullptr);  // not again from within
  if (marks == nullptr || problem_) return;
  try {
    marks->launch(kernel);
  } catch (...) {
    problem_ = std::current_exception();
  }
  current_ = marks;
}

void CUPTIAPI LaunchRanges::see_launch(void* self, CUpti_CallbackDomain, CUpti_CallbackId,
                                       const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER)
    static_cast<LaunchRanges*>(self)->launch(call.symbolName);
}

}  // namespace strata::cupti
