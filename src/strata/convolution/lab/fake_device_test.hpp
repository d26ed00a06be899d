// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/convolution/lab/encoded_numbers.hpp"
#include "strata/convolution/lab/reference.hpp"
#include "strata/convolution/lab/strategy.hpp"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// A device without hardware: strategies compute with the reference, and time is what the test
/// says.
namespace strata::test {

enum class Fault { none, wrong_last, unwritten_last, throws };

struct FakeStrategyFacts {
  std::string name;
  std::function<double(const ConvProblem&)> seconds = [](const ConvProblem&) { return 1.0; };
  std::function<std::int64_t(const ConvProblem&)> scratch = [](const ConvProblem&) { return 0; };
  std::function<std::optional<std::string>(const ConvProblem&)> refusal = [](const ConvProblem&) {
    return std::nullopt;
  };
  bool is_vendor = false;
  Fault fault = Fault::none;
};

class FakeStrategy final : public ConvStrategy {
 public:
  explicit FakeStrategy(FakeStrategyFacts facts) : facts_(std::move(facts)) {}

  class Prepared final : public PreparedConvolution {
   public:
    Prepared(const FakeStrategyFacts& facts, const ConvProblem& problem)
        : seconds(facts.seconds(problem)), facts_(facts), problem_(problem) {}

    std::int64_t scratch_bytes() const override { return facts_.scratch(problem_); }

    void run(const ConvTensors& tensors, RoleMarks& marks) override {
      if (facts_.fault == Fault::throws) fail(ErrorKind::environment, "the kernel did not start");
      marks.begin(KernelRole::direct);
      const ConvShape& shape = problem_.shape;
      const auto in = numbers(tensors.input, shape.input_elements());
      const auto weights = numbers(tensors.weights, shape.weight_elements());
      const auto out = numbers(tensors.output, shape.output_elements());
      auto result = reference_result(shape, problem_.pass, {in, weights, out});
      std::vector<float> floats(result.begin(), result.end());
      if (facts_.fault == Fault::wrong_last) floats.back() += 1;
      if (facts_.fault == Fault::unwritten_last) floats.pop_back();
      const auto bytes = encoded(floats, problem_.dtype);
      void* const places[] = {tensors.output, tensors.input, tensors.weights};
      std::memcpy(places[static_cast<std::size_t>(problem_.pass)], bytes.data(), bytes.size());
    }

    double seconds;

   private:
    std::vector<float> numbers(const void* memory, std::int64_t count) const {
      const auto bytes = static_cast<std::size_t>(count * bytes_per_element(problem_.dtype));
      return decoded({static_cast<const std::byte*>(memory), bytes}, problem_.dtype);
    }
    const FakeStrategyFacts& facts_;
    ConvProblem problem_;
  };

  std::string_view name() const override { return facts_.name; }
  bool is_vendor() const override { return facts_.is_vendor; }
  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    return facts_.refusal(problem);
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return facts_.scratch(problem);
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    return direct_flop(problem.shape);
  }
  double tolerance(const ConvProblem& problem) const override {
    return problem.dtype == DType::bf16 ? 1e-2 : problem.dtype == DType::fp16 ? 1e-3 : 1e-6;
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<Prepared>(facts_, problem);
  }
  std::vector<KernelFacts> kernels(const ConvProblem&) const override {
    return {{"fake_kernel", KernelRole::direct, 42, 1024}};
  }

 private:
  FakeStrategyFacts facts_;
};

class FakeDevice final : public ConvDevice {
 public:
  explicit FakeDevice(std::vector<FakeStrategyFacts> facts, std::int64_t memory = 1 << 30)
      : memory_bytes(memory) {
    for (FakeStrategyFacts& each : facts)
      strategies_.push_back(std::make_unique<FakeStrategy>(std::move(each)));
  }

  std::string name() const override { return "Imagined 1"; }
  std::span<const std::unique_ptr<ConvStrategy>> strategies() const override { return strategies_; }
  std::int64_t free_bytes() const override { return memory_bytes - *used_bytes; }

  std::shared_ptr<void> allocate(std::int64_t bytes) override {
    if (bytes > free_bytes()) fail(ErrorKind::environment, "no memory left");
    *used_bytes += bytes;
    // Exact sizes, so that the address sanitizer sees what writes beside them.
    return {std::malloc(static_cast<std::size_t>(bytes)), [used = used_bytes, bytes](void* memory) {
              *used -= bytes;
              std::free(memory);
            }};
  }
  void upload(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  ConvTiming time(PreparedConvolution& prepared, const ConvTensors&,
                  const ConvTimingOptions& options) override {
    const double seconds = dynamic_cast<FakeStrategy::Prepared&>(prepared).seconds;
    ++timed;
    return {std::vector<double>(static_cast<std::size_t>(options.samples), seconds),
            {{KernelRole::transform, seconds / 4}, {KernelRole::gemm, seconds / 2}}};
  }
  std::optional<HostTransfers> host_transfers(std::int64_t bytes) override {
    return HostTransfers{static_cast<double>(bytes) * 1e-6, static_cast<double>(bytes) * 2e-6};
  }

  ConvEfficiencies efficiencies(PreparedConvolution& prepared,
                                const ConvTensors& tensors) override {
    has_counted = true;
    return ConvDevice::efficiencies(prepared, tensors);
  }
  /// As on a GPU, counters first would be the end of tracing.
  std::vector<KernelFacts> traced_kernels(PreparedConvolution&, const ConvTensors&) override {
    if (has_counted) fail(ErrorKind::environment, "traced after counting");
    if (!trace_problem.empty()) fail(ErrorKind::environment, "{}", trace_problem);
    return traced;
  }

  std::vector<KernelFacts> traced = {};  ///< what tracing shows of every run
  std::string trace_problem;             ///< why it shows nothing
  bool has_counted = false;
  std::int64_t memory_bytes;
  std::shared_ptr<std::int64_t> used_bytes = std::make_shared<std::int64_t>(0);
  int timed = 0;

 private:
  std::vector<std::unique_ptr<ConvStrategy>> strategies_;
};

}  // namespace strata::test
