// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/winograd.hpp"

namespace strata::cpu {
namespace {

class WinogradStrategy : public ConvStrategy {
 public:
  WinogradStrategy(SharedThreads threads, int tile) : threads_(std::move(threads)), tile_(tile) {}

  std::string_view name() const override { return tile_ == 2 ? "winograd2" : "winograd4"; }

  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (auto reason = type_refusal(problem)) return reason;
    const ConvShape& s = problem.shape;
    if (s.kernel_height != 3 || s.kernel_width != 3) return "only 3×3 kernels";
    if (s.stride_height != 1 || s.stride_width != 1) return "only stride 1";
    if (s.dilation_height != 1 || s.dilation_width != 1) return "only dilation 1";
    return vector_refusal();
  }

  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return problem.pass == ConvPass::weight_gradient
               ? winograd_products_bytes(problem, threads_->count(), tile_)
               : winograd_sums_bytes(problem, threads_->count(), tile_);
  }

  /// The products; the transforms, some per cent beside them, are not counted.
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    const ConvShape& s = problem.shape;
    const bool is_input = problem.pass == ConvPass::input_gradient;
    const std::int64_t height = is_input ? s.height : s.output_height();
    const std::int64_t width = is_input ? s.width : s.output_width();
    const std::int64_t tiles =
        checked_mul(s.batch, (height + tile_ - 1) / tile_, (width + tile_ - 1) / tile_);
    return checked_mul(2, (tile_ + 2) * (tile_ + 2), tiles, s.channels / s.groups, s.filters);
  }

  /// The transforms add and subtract numbers of different size: with tiles of 4 the factors reach 8
  /// and 1/24, and errors are an order of magnitude above those of the plain sum (Lavin and Gray,
  /// table 4).
  double tolerance(const ConvProblem& problem) const override {
    return rounding_tolerance(problem) * (tile_ == 2 ? 4 : 40);
  }

  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return problem.pass == ConvPass::weight_gradient
               ? prepare_winograd_products(problem, threads_, tile_)
               : prepare_winograd_sums(problem, threads_, tile_);
  }

 private:
  SharedThreads threads_;
  int tile_;
};

}  // namespace

std::unique_ptr<ConvStrategy> winograd_strategy(const SharedThreads& threads, int tile) {
  return std::make_unique<WinogradStrategy>(threads, tile);
}

}  // namespace strata::cpu
