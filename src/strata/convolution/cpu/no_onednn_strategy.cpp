// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/convolution/cpu/strategies.hpp"

namespace strata::cpu {
namespace {

constexpr const char* onednn_is_absent = "this strata was built without oneDNN (libdnnl-dev)";

class AbsentOneDnn : public ConvStrategy {
 public:
  explicit AbsentOneDnn(OneDnnAlgorithm algorithm) : algorithm_(algorithm) {}

  std::string_view name() const override { return name_of(algorithm_); }
  bool is_vendor() const override { return true; }
  std::optional<std::string> refusal(const ConvProblem&) const override { return onednn_is_absent; }
  std::int64_t scratch_bytes(const ConvProblem&) const override { return 0; }
  std::optional<std::int64_t> flop(const ConvProblem&) const override { return std::nullopt; }
  double tolerance(const ConvProblem&) const override { return 0; }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem&) const override {
    fail(ErrorKind::environment, "{}", onednn_is_absent);
  }

 private:
  OneDnnAlgorithm algorithm_;
};

}  // namespace

std::string onednn_version() { return ""; }

std::unique_ptr<ConvStrategy> onednn_strategy(OneDnnAlgorithm algorithm) {
  return std::make_unique<AbsentOneDnn>(algorithm);
}

}  // namespace strata::cpu
