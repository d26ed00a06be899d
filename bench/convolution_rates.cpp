// SPDX-License-Identifier: Apache-2.0
// The strategies of the CPU head to head, in GFLOP/s of the direct count:
//
//   strata_convolution_rates [forward|backward_input|backward_weight] [core|all] [seconds] [name]
//
// core: one core, by the CPU time of the process, which a busy machine hardly disturbs; all: every
// core, by the clock on the wall. seconds: for each figure, which is the best of what fits into it.
// name: only the points whose name has it in it.
//
// The suite is the paper's five layers and the ends of its sweeps at a batch of 4, the 3×3 and 1×1
// layers of ResNet-50 and VGG-16, and those of MobileNet v2 and EfficientNet whose channels do not
// mix. "product" is what OpenBLAS alone reaches on the matrix
// product behind `unroll`, the unrolled matrix given.
#include "strata/convolution/cpu/matrix/product.hpp"
#include "strata/convolution/lab/strategy.hpp"
#include "strata/cpu/threads.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace strata;

/// Whose kernels are also looked at alone, without turning tensors into their layout and back.
constexpr const char* libraries[] = {"onednn", "xnnpack"};

struct Point {
  const char* name;
  ConvShape shape;
};

/// Batch, channels, side, filters, kernel side, stride, padding.
ConvShape square(std::int64_t b, std::int64_t c, std::int64_t i, std::int64_t f, std::int64_t k,
                 std::int64_t s, std::int64_t p) {
  return {.batch = b,
          .channels = c,
          .height = i,
          .width = i,
          .filters = f,
          .kernel_height = k,
          .kernel_width = k,
          .stride_height = s,
          .stride_width = s,
          .pad_height = p,
          .pad_width = p};
}

/// Every channel by itself: batch, channels, side, kernel side, stride.
ConvShape depthwise(std::int64_t b, std::int64_t c, std::int64_t i, std::int64_t k,
                    std::int64_t s) {
  ConvShape shape = square(b, c, i, c, k, s, k / 2);
  shape.groups = c;
  return shape;
}

std::vector<Point> cpu_suite() {
  return {{"conv1", square(4, 3, 128, 96, 11, 1, 0)},
          {"conv2", square(4, 3, 128, 96, 3, 1, 0)},
          {"conv3", square(4, 128, 32, 128, 9, 1, 0)},
          {"conv4", square(4, 128, 16, 128, 7, 1, 0)},
          {"conv5", square(4, 384, 13, 384, 3, 1, 0)},
          {"base", square(4, 3, 128, 64, 11, 1, 0)},
          {"i=32", square(4, 3, 32, 64, 11, 1, 0)},
          {"i=256", square(4, 3, 256, 64, 11, 1, 0)},
          {"f=256", square(4, 3, 128, 256, 11, 1, 0)},
          {"k=2", square(4, 3, 128, 64, 2, 1, 0)},
          {"k=5", square(4, 3, 128, 64, 5, 1, 0)},
          {"k=7", square(4, 3, 128, 64, 7, 1, 0)},
          {"s=2", square(4, 3, 128, 64, 11, 2, 0)},
          {"s=4", square(4, 3, 128, 64, 11, 4, 0)},
          {"vgg 1", square(4, 64, 224, 64, 3, 1, 1)},
          {"vgg 3", square(4, 256, 56, 256, 3, 1, 1)},
          {"vgg 5", square(4, 512, 14, 512, 3, 1, 1)},
          {"resnet 3x3 56", square(4, 64, 56, 64, 3, 1, 1)},
          {"resnet 3x3 28", square(4, 128, 28, 128, 3, 1, 1)},
          {"resnet 3x3 14", square(4, 256, 14, 256, 3, 1, 1)},
          {"resnet 3x3 7", square(4, 512, 7, 512, 3, 1, 1)},
          {"resnet 3x3 /2", square(4, 128, 56, 128, 3, 2, 1)},
          {"resnet 7x7 /2", square(4, 3, 224, 64, 7, 2, 3)},
          {"resnet 1x1 56", square(4, 64, 56, 256, 1, 1, 0)},
          {"resnet 1x1 28", square(4, 512, 28, 128, 1, 1, 0)},
          {"resnet 1x1 14", square(4, 256, 14, 1024, 1, 1, 0)},
          {"resnet 1x1 7", square(4, 512, 7, 2048, 1, 1, 0)},
          {"channels 112/2", depthwise(4, 96, 112, 3, 2)},
          {"channels 56", depthwise(4, 144, 56, 3, 1)},
          {"channels 28", depthwise(4, 192, 28, 3, 1)},
          {"channels 14", depthwise(4, 576, 14, 3, 1)},
          {"channels 7", depthwise(4, 960, 7, 3, 1)},
          {"channels 5x5", depthwise(4, 240, 28, 5, 1)}};
}

/// Notes when roles begin, by the clock of the bench.
class Stopwatch : public RoleMarks {
 public:
  explicit Stopwatch(clockid_t clock) : clock_(clock) {}

  double now() const {
    timespec time{};
    ::clock_gettime(clock_, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  void begin(KernelRole role) override {
    end();
    role_ = role;
    start_ = now();
  }
  void end() {
    if (role_ == KernelRole::direct) direct_s += now() - start_;
    role_ = KernelRole::other;
  }
  double direct_s = 0;

 private:
  clockid_t clock_;
  KernelRole role_ = KernelRole::other;
  double start_ = 0;
};

class Bench {
 public:
  Bench(ConvPass pass, bool is_one_core, double seconds)
      : pass_(pass),
        clock_(is_one_core ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC),
        seconds_(seconds) {}

  void run(std::string_view part_of_name) {
    std::vector<Point> suite = cpu_suite();
    std::erase_if(suite, [&](const Point& point) {
      return std::string_view(point.name).find(part_of_name) == std::string_view::npos;
    });
    fmt::print("{}, {}; GFLOP/s of the direct count\n{:<15}", name_of(pass_), device_->name(), "");
    for (const auto& strategy : device_->strategies()) fmt::print("{:>16}", strategy->name());
    for (const char* library : libraries) fmt::print("{:>16}", fmt::format("({} alone)", library));
    fmt::print("{:>10}{:>10}\n", "product", "best own");
    for (const Point& point : suite) measure(point);
    summarize(suite.size());
  }

 private:
  double rate_of(const ConvStrategy& strategy, const ConvShape& shape, const ConvTensors& tensors) {
    const ConvProblem problem{shape, pass_};
    if (strategy.refusal(problem)) return 0;
    const auto prepared = strategy.prepare(problem);
    Stopwatch watch(clock_);
    prepared->run(tensors, watch);
    double best = 1e30;
    double best_direct = 1e30;
    const double start = watch.now();
    for (int i = 0; i < 3 || (i < 50 && watch.now() - start < seconds_); ++i) {
      watch.direct_s = 0;
      const double before = watch.now();
      prepared->run(tensors, watch);
      watch.end();
      best = std::min(best, watch.now() - before);
      best_direct = std::min(best_direct, watch.direct_s);
    }
    const double gflop = static_cast<double>(direct_flop(shape)) / 1e9;
    if (strategy.is_vendor() && best_direct > 0)
      kernel_alone_[std::string(strategy.name())] = gflop / best_direct;
    return gflop / best;
  }

  /// The matrix product of the forward pass, the unrolled matrix given, by OpenBLAS: every thread
  /// takes a share of the columns.
  double product_rate(const ConvShape& s) {
    if (cpu::blas_refusal()) return 0;
    const std::int64_t rows = s.channels * s.kernel_height * s.kernel_width;
    const std::int64_t columns = s.batch * s.output_height() * s.output_width();
    const ConvShape product{
        .channels = rows, .width = columns, .filters = s.filters};  // 1×1: the matrices as tensors
    const Memory memory(*device_, product);
    const ConvTensors t = memory.tensors();
    const std::int64_t parts = threads_.count();
    const auto multiply = [&] {
      threads_.for_each(parts, [&](std::int64_t i, int) {
        const std::int64_t begin = columns * i / parts;
        cpu::multiply_by_blas(cpu::Product<float>{.m = s.filters,
                                                  .n = columns * (i + 1) / parts - begin,
                                                  .k = rows,
                                                  .a = static_cast<const float*>(t.weights),
                                                  .a_step = rows,
                                                  .b = static_cast<const float*>(t.input) + begin,
                                                  .b_step = columns,
                                                  .result = static_cast<float*>(t.output) + begin,
                                                  .result_step = columns});
      });
    };
    Stopwatch watch(clock_);
    double best = 1e30;
    const double start = watch.now();
    for (int i = 0; i < 4 || (i < 50 && watch.now() - start < seconds_); ++i) {
      const double before = watch.now();
      multiply();
      best = std::min(best, watch.now() - before);
    }
    return static_cast<double>(direct_flop(s)) / 1e9 / best;
  }

  struct Memory {
    Memory(ConvDevice& device, const ConvShape& shape) {
      std::mt19937 random(1);
      std::normal_distribution<float> normal;
      const std::int64_t sizes[] = {shape.input_elements(), shape.weight_elements(),
                                    shape.output_elements()};
      for (const std::int64_t size : sizes) {
        parts.push_back(device.allocate(size * 4));
        auto* const values = static_cast<float*>(parts.back().get());
        for (std::int64_t i = 0; i < size; ++i)
          values[i] = i < 4096 ? normal(random) : values[i % 4096];
      }
    }
    ConvTensors tensors() const { return {parts[0].get(), parts[1].get(), parts[2].get()}; }
    std::vector<std::shared_ptr<void>> parts;
  };

  void measure(const Point& point) {
    const Memory memory(*device_, point.shape);
    fmt::print("{:<15}", point.name);
    double best_own = 0;
    kernel_alone_.clear();
    for (const auto& strategy : device_->strategies()) {
      const double rate = rate_of(*strategy, point.shape, memory.tensors());
      add(std::string(strategy->name()), rate);
      fmt::print("{:>16}", rate > 0 ? fmt::format("{:.1f}", rate) : "-");
      if (!strategy->is_vendor()) best_own = std::max(best_own, rate);
    }
    const double product = product_rate(point.shape);
    for (const char* library : libraries) {
      const double alone = kernel_alone_[library];
      add(fmt::format("{} alone", library), alone);
      fmt::print("{:>16}", alone > 0 ? fmt::format("{:.1f}", alone) : "-");
    }
    add("product", product);
    add("best own", best_own);
    fmt::print("{:>10.1f}{:>10.1f}\n", product, best_own);
    std::fflush(stdout);
  }

  void add(const std::string& name, double rate) { rates_[name].push_back(rate); }

  /// Geometric mean of a / b over the points that both can do.
  double ratio(const std::string& a, const std::string& b) {
    double sum = 0;
    int count = 0;
    for (std::size_t i = 0; i < rates_[a].size(); ++i) {
      if (rates_[a][i] <= 0 || rates_[b][i] <= 0) continue;
      sum += std::log(rates_[a][i] / rates_[b][i]);
      ++count;
    }
    return count > 0 ? std::exp(sum / count) : 0;
  }

  void summarize(std::size_t points) {
    fmt::print("\ngeometric means over {} points\n", points);
    for (const char* vendor :
         {"onednn", "onednn alone", "xnnpack", "xnnpack alone", "unroll", "product"}) {
      const auto& own = rates_["best own"];
      const auto& other = rates_[vendor];
      if (ratio("best own", vendor) == 0) continue;  // it has not this pass
      int wins = 0;
      for (std::size_t i = 0; i < own.size(); ++i) wins += own[i] > other[i] ? 1 : 0;
      fmt::print("best own / {:<16}{:.2f}, faster on {} points\n", vendor,
                 ratio("best own", vendor), wins);
    }
    fmt::print("unroll / product {:>19.2f}\n", ratio("unroll", "product"));
  }

  std::unique_ptr<ConvDevice> device_ = cpu_conv_device();
  cpu::Threads threads_{cpu::allowed_cpus()};
  ConvPass pass_;
  clockid_t clock_;
  double seconds_;
  std::map<std::string, double> kernel_alone_;  ///< of a library, without turning tensors around
  std::map<std::string, std::vector<double>> rates_;
};

}  // namespace

int main(int count, char** arguments) {
  const auto pass = conv_pass_named(count > 1 ? arguments[1] : "forward");
  if (!pass) {
    fmt::print(stderr, "the pass is forward, backward_input or backward_weight\n");
    return 2;
  }
  const bool is_one_core = count < 3 || std::string_view(arguments[2]) == "core";
  if (is_one_core) {  // before libraries count the CPUs
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  Bench(*pass, is_one_core, count > 3 ? std::strtod(arguments[3], nullptr) : 0.3)
      .run(count > 4 ? arguments[4] : "");
}
