// SPDX-License-Identifier: Apache-2.0
// Stands for cudnn/ in a build without its headers: our own strategies have nobody beside them.
#include "strata/base/error.hpp"
#include "strata/convolution/cuda/context.cuh"

namespace strata::cuda {
namespace {

constexpr const char* built_without = "this strata was built without cuDNN (cudnn.h)";

class BuiltWithoutCudnn final : public ConvStrategy {
 public:
  std::string_view name() const override { return "cudnn"; }
  bool is_vendor() const override { return true; }
  std::optional<std::string> refusal(const ConvProblem&) const override { return built_without; }
  std::int64_t scratch_bytes(const ConvProblem&) const override { return 0; }
  std::optional<std::int64_t> flop(const ConvProblem&) const override { return std::nullopt; }
  double tolerance(const ConvProblem&) const override { return 0; }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem&) const override {
    fail(ErrorKind::environment, "{}", built_without);
  }
};

}  // namespace

std::string cudnn_version() { return ""; }

void add_cudnn(StrategyList& list, const SharedContext&) {
  list.push_back(std::make_unique<BuiltWithoutCudnn>());
}

}  // namespace strata::cuda
