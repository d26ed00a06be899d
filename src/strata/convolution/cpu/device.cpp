// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/convolution/cpu/blas.hpp"
#include "strata/convolution/cpu/fourier.hpp"
#include "strata/convolution/cpu/strategies.hpp"
#include "strata/cpu/allowance.hpp"
#include "strata/cpu/core_model.hpp"
#include "strata/cpu/system_files.hpp"
#include "strata/cpu/vector_unit.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace strata {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class NoMarks : public RoleMarks {
 public:
  void begin(KernelRole) override {}
};

/// Adds up the time between marks by role.
class TimedMarks : public RoleMarks {
 public:
  void begin(KernelRole role) override {
    end();
    const auto same = [&](const RoleTime& time) { return time.role == role; };
    auto found = std::find_if(times_.begin(), times_.end(), same);
    if (found == times_.end()) found = times_.insert(found, {role, 0});
    current_ = found - times_.begin();
    start_ = Clock::now();
  }
  std::vector<RoleTime> finish() {
    end();
    return times_;
  }

 private:
  void end() {
    if (current_ >= 0) times_[static_cast<std::size_t>(current_)].seconds += seconds_since(start_);
  }

  std::vector<RoleTime> times_;
  std::ptrdiff_t current_ = -1;
  Clock::time_point start_;
};

class CpuConvDevice : public ConvDevice {
 public:
  explicit CpuConvDevice(std::filesystem::path root)
      : root_(std::move(root)), threads_(std::make_shared<cpu::Threads>(cpu::allowed_cpus())) {
    strategies_.push_back(cpu::direct_strategy(threads_));
    strategies_.push_back(cpu::unroll_strategy(threads_));
    strategies_.push_back(cpu::fft_strategy(threads_));
    strategies_.push_back(cpu::winograd_strategy(threads_, 2));
    strategies_.push_back(cpu::winograd_strategy(threads_, 4));
    for (const auto algorithm : {cpu::OneDnnAlgorithm::own_pick, cpu::OneDnnAlgorithm::direct,
                                 cpu::OneDnnAlgorithm::winograd}) {
      strategies_.push_back(cpu::onednn_strategy(algorithm));
    }
  }

  std::string name() const override {
    return cpu::core_model_from(cpu::lines_of("/proc/cpuinfo")).name;
  }
  ConvDeviceFacts facts() const override {
    ConvDeviceFacts facts;
    for (auto& [of, version] : std::initializer_list<std::pair<const char*, std::string>>{
             {"OpenBLAS", cpu::blas_version()},
             {"FFTW", cpu::fourier_version()},
             {"oneDNN", cpu::onednn_version()}})
      if (!version.empty()) facts.versions.push_back({of, version});
    facts.versions.push_back({"vector code", cpu::vector_unit().description()});
    facts.versions.push_back({"compiler", __VERSION__});
    return facts;
  }
  std::span<const std::unique_ptr<ConvStrategy>> strategies() const override { return strategies_; }

  std::int64_t free_bytes() const override { return cpu::free_memory_bytes(root_); }

  std::shared_ptr<void> allocate(std::int64_t bytes) override {
    constexpr std::size_t line = 64;
    const std::size_t size = (static_cast<std::size_t>(bytes) + line - 1) / line * line;
    void* const memory = std::aligned_alloc(line, std::max(size, line));
    if (memory == nullptr) {
      fail(ErrorKind::environment, "{} bytes of memory are not there", bytes);
    }
    return {memory, std::free};
  }

  void upload(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  ConvTiming time(PreparedConvolution& prepared, const ConvTensors& tensors,
                  const ConvTimingOptions& options) override {
    constexpr std::size_t least_samples = 3;
    NoMarks no_marks;
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < options.warm_up; ++i) {
      prepared.run(tensors, no_marks);
      if (seconds_since(start) > options.most_seconds) break;
    }
    ConvTiming timing;
    const Clock::time_point first = Clock::now();
    while (timing.samples_s.size() < static_cast<std::size_t>(std::max(1, options.samples))) {
      if (timing.samples_s.size() >= least_samples && seconds_since(first) > options.most_seconds) {
        break;
      }
      const Clock::time_point before = Clock::now();
      prepared.run(tensors, no_marks);
      timing.samples_s.push_back(seconds_since(before));
    }
    TimedMarks marks;
    prepared.run(tensors, marks);
    timing.roles = marks.finish();
    return timing;
  }

 private:
  std::filesystem::path root_;
  cpu::SharedThreads threads_;
  std::vector<std::unique_ptr<ConvStrategy>> strategies_;
};

}  // namespace

std::unique_ptr<ConvDevice> cpu_conv_device(const std::filesystem::path& root) {
  return std::make_unique<CpuConvDevice>(root);
}

namespace cpu {

std::optional<std::string> type_refusal(const ConvProblem& problem) {
  if (problem.dtype == DType::fp32) return std::nullopt;
  return "only fp32 on the CPU";
}

std::string_view name_of(OneDnnAlgorithm algorithm) {
  switch (algorithm) {
    case OneDnnAlgorithm::own_pick: return "onednn";
    case OneDnnAlgorithm::direct: return "onednn:direct";
    case OneDnnAlgorithm::winograd: return "onednn:winograd";
  }
  return "";
}

double rounding_tolerance(const ConvProblem& problem) {
  const ConvShape& s = problem.shape;
  const double terms =
      static_cast<double>(direct_flop(s)) / 2 /
      static_cast<double>(problem.pass == ConvPass::forward          ? s.output_elements()
                          : problem.pass == ConvPass::input_gradient ? s.input_elements()
                                                                     : s.weight_elements());
  return 8 * std::sqrt(std::max(1.0, terms)) * 0x1p-24;
}

}  // namespace cpu
}  // namespace strata
