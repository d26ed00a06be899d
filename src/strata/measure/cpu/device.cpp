// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/device.hpp"

#include "strata/base/error.hpp"
#include "strata/cpu/event_ranges.hpp"
#include "strata/measure/ceilings/cpu/kernels.hpp"
#include "strata/measure/cpu/moving/copy_into_zeros.hpp"
#include "strata/measure/cpu/products/convolution_choice.hpp"
#include "strata/measure/cpu/products/gemm.hpp"
#include "strata/measure/cpu/setting.hpp"
#include "strata/measure/cpu/update.hpp"

#include <sys/mman.h>

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
  explicit CpuTrainingDevice(const DeviceChoices& choices)
      : workers_(cpu::allowed_cpus()), convolutions_(choices) {
    if (choices.dtype != DType::fp32 && choices.dtype != DType::fp64) {
      fail(ErrorKind::unsupported, "the CPU computes in fp32 and fp64, not {}",
           strata::name_of(choices.dtype));
    }
  }

  std::string name() const override { return convolutions_.device().name(); }
  std::vector<std::string> versions() const override {
    std::vector<std::string> versions = {"vector code " + cpu::vector_unit().description()};
    if (const std::string blas = cpu::blas_version(); !blas.empty()) {
      versions.insert(versions.begin(), "OpenBLAS " + blas);
    }
    return versions;
  }

  std::int64_t free_bytes() const override { return convolutions_.device().free_bytes(); }
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
    return kernels_of({bound, node, training, workers_, convolutions_});
  }

  void fill_zero(void* to, std::int64_t bytes) override {
    fill_bytes_with_zero(workers_, to, bytes);
  }
  void add(void* sum, const void* a, const void* b, std::int64_t elements, DType dtype) override {
    add_numbers(workers_, sum, a, b, elements, dtype);
  }
  void update(const UpdateRule& rule, const UpdateMemory& memory) override {
    update_parameter(workers_, rule, memory);
  }

  std::unique_ptr<Stopwatch> stopwatch(std::size_t marks) override {
    return std::make_unique<SteadyStopwatch>(marks);
  }
  std::unique_ptr<RangeCounters> counters() override { return cpu::open_event_ranges(); }

 private:
  Workers workers_;
  ConvolutionChoice convolutions_;
};

}  // namespace
}  // namespace cpu_training

std::unique_ptr<TrainingDevice> cpu_training_device(const DeviceChoices& choices) {
  return std::make_unique<cpu_training::CpuTrainingDevice>(choices);
}

}  // namespace strata
