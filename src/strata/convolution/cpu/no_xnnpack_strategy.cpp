// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/convolution/cpu/strategies.hpp"

namespace strata::cpu {
namespace {

constexpr const char* xnnpack_is_absent =
    "this strata was built without XNNPACK (libxnnpack-dev, libpthreadpool-dev)";

class AbsentXnnpack : public ConvStrategy {
 public:
  std::string_view name() const override { return "xnnpack"; }
  bool is_vendor() const override { return true; }
  std::optional<std::string> refusal(const ConvProblem&) const override {
    return xnnpack_is_absent;
  }
  std::int64_t scratch_bytes(const ConvProblem&) const override { return 0; }
  std::optional<std::int64_t> flop(const ConvProblem&) const override { return std::nullopt; }
  double tolerance(const ConvProblem&) const override { return 0; }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem&) const override {
    fail(ErrorKind::environment, "{}", xnnpack_is_absent);
  }
};

}  // namespace

std::unique_ptr<ConvStrategy> xnnpack_strategy(const SharedThreads&) {
  return std::make_unique<AbsentXnnpack>();
}

}  // namespace strata::cpu
