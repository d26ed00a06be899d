// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/device.hpp"

#include "strata/base/error.hpp"
#include "strata/cpu/allowance.hpp"
#include "strata/cpu/core_model.hpp"
#include "strata/cpu/event_ranges.hpp"
#include "strata/cpu/system_files.hpp"
#include "strata/measure/cpu/lab_convolutions.hpp"
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/threads.hpp"
#include "strata/measure/cpu/update.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace strata {
namespace cpu_training {
namespace {

class SteadyStopwatch : public Stopwatch {
 public:
  explicit SteadyStopwatch(std::size_t marks) : marks_(marks) {}

  void mark(std::size_t index) override { marks_.at(index) = Clock::now(); }

  std::vector<double> seconds() override {
    std::vector<double> result;
    for (const Clock::time_point mark : marks_) {
      result.push_back(std::chrono::duration<double>(mark - marks_.front()).count());
    }
    return result;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<Clock::time_point> marks_;
};

/// Large blocks begin on a large page, so that walking through them costs fewer translations.
std::shared_ptr<void> aligned_memory(std::int64_t bytes) {
  constexpr std::size_t small_alignment = 256, large_page = std::size_t{2} << 20U;
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  const std::size_t alignment = wanted >= large_page ? large_page : small_alignment;
  const std::size_t size = (wanted + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, size);
  if (memory == nullptr) {
    fail(ErrorKind::environment, "{} bytes of memory are not there", bytes);
  }
  // Advice only: without large pages everything works, a little slower.
  if (alignment == large_page) ::madvise(memory, size, MADV_HUGEPAGE);
  return {memory, std::free};
}

class CpuTrainingDevice : public TrainingDevice {
 public:
  CpuTrainingDevice(const DeviceChoices& choices, bool uses_onednn)
      : uses_onednn_(uses_onednn), threads_(use_allowed_threads()) {
    if (choices.dtype != DType::fp32 && choices.dtype != DType::fp64) {
      fail(ErrorKind::unsupported, "the CPU computes in fp32 and fp64, not {}",
           strata::name_of(choices.dtype));
    }
    if (!choices.convolution.empty()) lab_ = std::make_unique<LabConvolutions>(choices.convolution);
  }

  std::string name() const override {
    return cpu::core_model_from(cpu::lines_of("/proc/cpuinfo")).name;
  }
  std::vector<std::string> versions() const override {
    std::vector<std::string> versions;
    if (const std::string onednn = onednn::version(); uses_onednn_ && !onednn.empty()) {
      versions.push_back(onednn);
    }
    if (lab_ != nullptr) {
      for (const std::string& each : lab_->versions()) {
        if (std::find(versions.begin(), versions.end(), each) == versions.end()) {
          versions.push_back(each);
        }
      }
    }
    versions.push_back(fmt::format("{} OpenMP thread{}", threads_, threads_ == 1 ? "" : "s"));
    return versions;
  }

  std::int64_t free_bytes() const override { return cpu::free_memory_bytes(); }
  std::shared_ptr<void> allocate(std::int64_t bytes) override {
    // The system promises memory that it does not have; what is not free would end the process.
    if (bytes > free_bytes()) {
      fail(ErrorKind::environment, "{} bytes of memory are not there, {} are free", bytes,
           free_bytes());
    }
    return aligned_memory(bytes);
  }
  void upload(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void wait() override {}

  KernelsOrReason kernels(const BoundGraph& bound, NodeId node, bool training) override {
    return kernels_of({bound, node, training, uses_onednn_, lab_.get()});
  }

  void fill_zero(void* to, std::int64_t bytes) override {
    std::memset(to, 0, static_cast<std::size_t>(bytes));
  }
  void add(void* sum, const void* a, const void* b, std::int64_t elements, DType dtype) override {
    add_numbers(sum, a, b, elements, dtype);
  }
  void update(const UpdateRule& rule, const UpdateMemory& memory) override {
    update_parameter(rule, memory);
  }

  std::unique_ptr<Stopwatch> stopwatch(std::size_t marks) override {
    return std::make_unique<SteadyStopwatch>(marks);
  }
  std::unique_ptr<RangeCounters> counters() override { return cpu::open_event_ranges(); }

 private:
  bool uses_onednn_;
  int threads_;
  std::unique_ptr<LabConvolutions> lab_;  // null: no strategy was asked for
};

}  // namespace

std::unique_ptr<TrainingDevice> plain_cpu_device() {
  return std::make_unique<CpuTrainingDevice>(DeviceChoices{}, false);
}

}  // namespace cpu_training

std::unique_ptr<TrainingDevice> cpu_training_device(const DeviceChoices& choices) {
  return std::make_unique<cpu_training::CpuTrainingDevice>(choices, true);
}

}  // namespace strata
