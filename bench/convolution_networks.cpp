// SPDX-License-Identifier: Apache-2.0
// Every convolution of AlexNet, VGG-16 and ResNet-50 once, each pass: the fastest of Strata's own
// strategies beside what oneDNN takes, in one run.
//
//   strata_convolution_networks [core|all] [seconds] [batch] [network]
//
// core: one core, by the CPU time of the process, which a busy machine hardly disturbs; all: every
// core, by the clock on the wall. seconds: for each line. All strategies take turns within it, so
// that what else the machine does touches all alike, and the best run of each counts; one that is
// three times slower than the best so far is not looked at again.
#include "strata/convolution/lab/network_points.hpp"
#include "strata/convolution/lab/strategy.hpp"
#include "strata/graph/bind.hpp"
#include "strata/zoo/zoo.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace {

using namespace strata;

clockid_t bench_clock = CLOCK_MONOTONIC;

double now() {
  timespec time{};
  ::clock_gettime(bench_clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class NoMarks : public RoleMarks {
 public:
  void begin(KernelRole) override {}
};

struct Runner {
  const ConvStrategy* strategy = nullptr;
  std::unique_ptr<PreparedConvolution> prepared;
  double best_s = 1e30;

  void run(const ConvTensors& tensors) {
    NoMarks marks;
    const double start = now();
    prepared->run(tensors, marks);
    best_s = std::min(best_s, now() - start);
  }
};

struct Line {
  double own_s = 1e30, vendor_s = 1e30;
  std::string own;
};

class Bench {
 public:
  explicit Bench(double seconds) : seconds_(seconds) {}

  void run(const std::string& network, std::int64_t batch) {
    const Graph graph = build_network(network);
    const BoundGraph bound = bind_graph(graph, Binding{{"batch", batch}});
    const NetworkConvolutions all = network_convolutions(bound);
    fmt::print("{}, batch {}, {}\n", network, batch, device_->name());
    for (const ConvPoint& point : all.series.points) {
      for (const ConvPass pass : all_conv_passes) {
        if (point.counts[static_cast<std::size_t>(pass)] == 0) continue;
        const Line line = measure({point.shape, pass});
        const double gflop = static_cast<double>(direct_flop(point.shape)) / 1e9;
        const double ratio = line.vendor_s / line.own_s;
        fmt::print(
            "{:<40} {:<16}{:>10.3f} ms {:>7.1f} GFLOP/s {:<10}  onednn {:>10.3f} ms {:>6.2f}{}\n",
            to_text(point.shape), name_of(pass), 1e3 * line.own_s, gflop / line.own_s, line.own,
            1e3 * line.vendor_s, ratio, ratio < 1 ? " slower" : "");
        std::fflush(stdout);
        if (line.vendor_s < 1e29) ratios_.push_back(ratio);
      }
    }
  }

  void summarize() const {
    double sum = 0;
    for (const double ratio : ratios_) sum += std::log(ratio);
    const auto slower =
        std::count_if(ratios_.begin(), ratios_.end(), [](double r) { return r < 1; });
    fmt::print("{} of {} not slower than oneDNN; geometric mean of the ratios {:.2f}\n",
               static_cast<long>(ratios_.size()) - slower, ratios_.size(),
               std::exp(sum / static_cast<double>(ratios_.size())));
  }

 private:
  Line measure(const ConvProblem& problem) {
    const ConvShape& s = problem.shape;
    std::vector<std::shared_ptr<void>> parts;
    for (const std::int64_t size : {s.input_elements(), s.weight_elements(), s.output_elements()}) {
      parts.push_back(device_->allocate(size * 4));
      auto* const numbers = static_cast<float*>(parts.back().get());
      for (std::int64_t i = 0; i < size; ++i) {
        numbers[i] = static_cast<float>(i % 251) * 0.008F - 1;
      }
    }
    const ConvTensors tensors{parts[0].get(), parts[1].get(), parts[2].get()};
    std::vector<Runner> runners;
    for (const auto& strategy : device_->strategies()) {
      const bool is_other_vendor = strategy->is_vendor() && strategy->name() != "onednn";
      if (is_other_vendor || strategy->refusal(problem)) continue;
      runners.push_back({strategy.get(), strategy->prepare(problem)});
      runners.back().run(tensors);
    }
    const double start = now();
    for (int round = 0; round < 2 || (round < 200 && now() - start < seconds_); ++round) {
      for (Runner& runner : runners) runner.run(tensors);
      double best = 1e30;
      for (const Runner& runner : runners) best = std::min(best, runner.best_s);
      std::erase_if(runners, [&](const Runner& runner) {
        return !runner.strategy->is_vendor() && runner.best_s > 3 * best;
      });
    }
    Line line;
    for (const Runner& runner : runners) {
      if (runner.strategy->is_vendor()) {
        line.vendor_s = runner.best_s;
      } else if (runner.best_s < line.own_s) {
        line.own_s = runner.best_s;
        line.own = runner.strategy->name();
      }
    }
    return line;
  }

  std::unique_ptr<ConvDevice> device_ = cpu_conv_device();
  double seconds_;
  std::vector<double> ratios_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || std::string_view(arguments[1]) == "core") {  // before libraries count the CPUs
    bench_clock = CLOCK_PROCESS_CPUTIME_ID;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  Bench bench(count > 2 ? std::strtod(arguments[2], nullptr) : 0.3);
  const std::int64_t batch = count > 3 ? std::atoll(arguments[3]) : 1;
  for (const char* network : {"alexnet", "vgg16", "resnet50"}) {
    if (count <= 4 || std::string_view(arguments[4]) == network) bench.run(network, batch);
  }
  bench.summarize();
}
