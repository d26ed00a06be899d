// SPDX-License-Identifier: Apache-2.0
// Convolution by spectra: transforms of tiles, a complex matrix product per frequency, and the way
// back. With few channels the products are cheap, and one kernel does them on the way back.
#include "strata/convolution/cuda/fft.cuh"

#include "strata/base/error.hpp"
#include "strata/convolution/cuda/context.cuh"
#include "strata/convolution/cuda/shared_kernels.cuh"

#include <algorithm>
#include <cmath>
#include <optional>

namespace strata::cuda {
namespace {

constexpr int most_fused_planes = 8;
constexpr int most_inner_of_few_rows = 1024;

/// Tiles, spectra and scratch memory of one problem.
struct FftPlan {
  int n = 32;
  bool is_fused = false;
  TileGrid in, out, kernels;
  std::int64_t flipped_at = 0, in_at = 0, out_at = 0, kernels_at = 0, pairs_at = 0, bytes = 0;
  double cost = 0;  ///< about seconds; to compare plans of one problem
};

int tiles_for(int numbers, int stride, int step) {
  return ((numbers - 1) * stride + 1 + step - 1) / step;
}

/// The window cut into blocks_y × blocks_x blocks of about the same size.
struct WindowBlocks {
  int count_y = 1, count_x = 1;
  int height = 1, width = 1;                ///< numbers of a block
  int extent_height = 1, extent_width = 1;  ///< with the dilation between them
  WindowBlocks(const ConvView& view, int wanted_y, int wanted_x)
      : height((view.kernel_height + wanted_y - 1) / wanted_y),
        width((view.kernel_width + wanted_x - 1) / wanted_x) {
    count_y = (view.kernel_height + height - 1) / height;
    count_x = (view.kernel_width + width - 1) / width;
    extent_height = (height - 1) * view.dilation_height + 1;
    extent_width = (width - 1) * view.dilation_width + 1;
  }
};

void place_grids(const ConvView& view, const WindowBlocks& blocks, FftPlan& plan) {
  const int step_h = plan.n - blocks.extent_height + 1, step_w = plan.n - blocks.extent_width + 1;
  TileGrid grid;
  grid.images = view.batch;
  grid.tiles_y = tiles_for(view.out_height, view.stride_height, step_h);
  grid.tiles_x = tiles_for(view.out_width, view.stride_width, step_w);
  grid.step_height = step_h, grid.step_width = step_w;
  plan.in = plan.out = grid;
  plan.in.channels = view.in_channels;
  plan.in.height = view.in_height, plan.in.width = view.in_width;
  plan.in.gap_height = view.gap_height, plan.in.gap_width = view.gap_width;
  plan.in.origin_height = view.pad_height, plan.in.origin_width = view.pad_width;
  plan.in.limit_height = plan.in.limit_width = plan.n;
  plan.out.channels = view.out_channels;
  plan.out.height = view.out_height, plan.out.width = view.out_width;
  plan.out.gap_height = view.stride_height, plan.out.gap_width = view.stride_width;
  plan.out.limit_height = step_h, plan.out.limit_width = step_w;
  plan.kernels.channels = view.out_channels * (view.in_channels / view.groups);
  plan.kernels.height = view.kernel_height, plan.kernels.width = view.kernel_width;
  plan.kernels.gap_height = view.dilation_height, plan.kernels.gap_width = view.dilation_width;
  plan.kernels.limit_height = blocks.extent_height;
  plan.kernels.limit_width = blocks.extent_width;
  for (TileGrid* cut : {&plan.in, &plan.kernels}) {
    cut->blocks_y = blocks.count_y, cut->blocks_x = blocks.count_x;
    cut->shift_height = blocks.height * view.dilation_height;
    cut->shift_width = blocks.width * view.dilation_width;
  }
}

FftPlan fft_plan(const ConvProblem& problem, int n, const WindowBlocks& blocks) {
  const ConvView view = view_of(problem);
  FftPlan plan;
  plan.n = n;
  place_grids(view, blocks, plan);
  plan.is_fused = problem.pass != ConvPass::weight_gradient && view.groups == 1 &&
                  plan.in.planes() <= most_fused_planes;
  const std::int64_t spectrum = spectrum_size(n) * static_cast<std::int64_t>(sizeof(float2));
  Scratch scratch;
  if (problem.pass == ConvPass::input_gradient)
    plan.flipped_at = scratch.add(problem.shape.weight_elements() * 4);
  plan.in_at = scratch.add(plan.in.spectra() * spectrum);
  plan.kernels_at = scratch.add(plan.kernels.spectra() * spectrum);
  const std::int64_t pairs = (view.out_channels + 1) / 2;
  const double tiles = static_cast<double>(view.batch) * plan.in.tiles_y * plan.in.tiles_x;
  auto bytes = static_cast<double>(2 * scratch.bytes());
  if (plan.is_fused) {
    plan.pairs_at =
        scratch.add(pairs * plan.in.planes() * n * n * static_cast<std::int64_t>(sizeof(float2)));
    // Seconds of a pair of results of one tile, on an H200 with 3 channels: a common scale.
    const double seconds = n == 32 ? 4.2e-9 : 0.7e-9;
    plan.cost = tiles * static_cast<double>(pairs) * seconds * (0.4 + 0.2 * plan.in.planes());
  } else {
    plan.out_at = scratch.add(plan.out.spectra() * spectrum);
    bytes = static_cast<double>(2 * scratch.bytes());
    plan.cost =
        8.0 * spectrum_size(n) * plan.in.planes() * view.out_channels / view.groups * tiles / 3e13;
  }
  plan.cost += bytes / 2.5e12;
  plan.bytes = scratch.bytes();
  return plan;
}

FftPlan best_plan(const ConvProblem& problem) {
  const ConvView view = view_of(problem);
  std::optional<FftPlan> best;
  for (const int n : {16, 32}) {
    // Blocks of half a tile leave it half full; smaller ones only add work.
    for (int cut_y = 1, extent_y = n; cut_y <= view.kernel_height && 2 * extent_y > n; ++cut_y) {
      for (int cut_x = 1, extent_x = n; cut_x <= view.kernel_width && 2 * extent_x > n; ++cut_x) {
        const WindowBlocks blocks(view, cut_y, cut_x);
        extent_y = blocks.extent_height, extent_x = blocks.extent_width;
        if (blocks.count_y != cut_y || blocks.count_x != cut_x) continue;
        if (std::max(extent_y, extent_x) > n) continue;
        const FftPlan plan = fft_plan(problem, n, blocks);
        if (!best || plan.cost < best->cost) best = plan;
      }
    }
  }
  STRATA_CHECK(best, "blocks of one number fit into any tile");
  return *best;
}

class PreparedFft final : public PreparedConvolution {
 public:
  PreparedFft(SharedContext context, const ConvProblem& problem)
      : context_(std::move(context)),
        problem_(problem),
        view_(view_of(problem)),
        plan_(best_plan(problem)),
        scratch_(scratch_memory(*context_, plan_.bytes)) {}

  std::int64_t scratch_bytes() const override { return plan_.bytes; }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    if (problem_.pass == ConvPass::weight_gradient) {
      weight_gradient(tensors, marks);
    } else {
      correlate(tensors, marks);
    }
  }

 private:
  float2* at(std::int64_t offset) const {
    return reinterpret_cast<float2*>(static_cast<char*>(scratch_.get()) + offset);
  }
  cudaStream_t stream() const { return context_->stream.get(); }
  float factor() const { return 1.0F / static_cast<float>(plan_.n * plan_.n); }

  void correlate(const ConvTensors& tensors, RoleMarks& marks) const;
  void weight_gradient(const ConvTensors& tensors, RoleMarks& marks) const;
  void multiply_spectra(RoleMarks& marks) const;
  void multiply_transposed(RoleMarks& marks) const;

  SharedContext context_;
  ConvProblem problem_;
  ConvView view_;
  FftPlan plan_;
  std::shared_ptr<void> scratch_;
};

void PreparedFft::correlate(const ConvTensors& tensors, RoleMarks& marks) const {
  const bool is_forward = problem_.pass == ConvPass::forward;
  const auto* images = static_cast<const float*>(is_forward ? tensors.input : tensors.output);
  auto* results = static_cast<float*>(is_forward ? tensors.output : tensors.input);
  const auto* kernels = static_cast<const float*>(tensors.weights);
  marks.begin(KernelRole::transform);
  if (!is_forward) {
    auto* flipped = reinterpret_cast<float*>(at(plan_.flipped_at));
    flip_kernels(problem_.shape, kernels, flipped, stream());
    kernels = flipped;
  }
  const SpectrumOrder order = plan_.is_fused ? SpectrumOrder::by_tile : SpectrumOrder::by_frequency;
  transform_tiles(plan_.n, plan_.in, images, order, 1, false, at(plan_.in_at), stream());
  transform_tiles(plan_.n, plan_.kernels, kernels, order, factor(), true, at(plan_.kernels_at),
                  stream());
  if (plan_.is_fused) {
    pair_filters(plan_.n, view_.out_channels, plan_.in.planes(), at(plan_.kernels_at),
                 at(plan_.pairs_at), stream());
    marks.begin(KernelRole::inverse_transform);
    multiply_back(plan_.n, plan_.in, at(plan_.in_at), at(plan_.pairs_at), plan_.out, results,
                  stream());
    return;
  }
  multiply_spectra(marks);
  marks.begin(KernelRole::inverse_transform);
  transform_tiles_back(plan_.n, plan_.out, at(plan_.out_at), results, stream());
}

// Per frequency and group: out[filters][tiles] = kernels[filters][channels] in[channels][tiles].
void PreparedFft::multiply_spectra(RoleMarks& marks) const {
  const std::int64_t m = view_.out_channels / view_.groups, k = plan_.in.planes() / view_.groups;
  const std::int64_t n = plan_.in.spectra() / plan_.in.planes();
  const int batch = spectrum_size(plan_.n) * view_.groups;
  if (m <= few && k <= most_inner_of_few_rows && batch <= 65535) {
    marks.begin(KernelRole::pointwise);
    multiply_few_rows(batch, static_cast<int>(m), static_cast<int>(k), static_cast<int>(n),
                      at(plan_.kernels_at), at(plan_.in_at), at(plan_.out_at), stream());
    return;
  }
  marks.begin(KernelRole::gemm);
  BatchedProduct product;
  product.m = m, product.n = n, product.k = k, product.batch = batch;
  product.a = {at(plan_.kernels_at), k, m * k, false};
  product.b = {at(plan_.in_at), n, k * n, false};
  product.c = at(plan_.out_at), product.c_stride = n, product.c_batch_stride = m * n;
  context_->cublas->multiply_complex(product);
}

void PreparedFft::weight_gradient(const ConvTensors& tensors, RoleMarks& marks) const {
  marks.begin(KernelRole::transform);
  transform_tiles(plan_.n, plan_.in, static_cast<const float*>(tensors.input),
                  SpectrumOrder::by_frequency, 1, false, at(plan_.in_at), stream());
  transform_tiles(plan_.n, plan_.out, static_cast<const float*>(tensors.output),
                  SpectrumOrder::by_frequency, factor(), true, at(plan_.out_at), stream());
  multiply_transposed(marks);
  marks.begin(KernelRole::inverse_transform);
  transform_tiles_back(plan_.n, plan_.kernels, at(plan_.kernels_at),
                       static_cast<float*>(tensors.weights), stream());
}

// kernels[filters][channels] = out[filters][tiles] in[channels][tiles]ᵀ.
void PreparedFft::multiply_transposed(RoleMarks& marks) const {
  const std::int64_t m = view_.out_channels / view_.groups, n = plan_.in.planes() / view_.groups;
  const std::int64_t k = plan_.in.spectra() / plan_.in.planes();
  const int batch = spectrum_size(plan_.n) * view_.groups;
  if (n <= few && batch <= 65535) {
    marks.begin(KernelRole::pointwise);
    multiply_few_columns(batch, static_cast<int>(m), static_cast<int>(k), static_cast<int>(n),
                         at(plan_.out_at), at(plan_.in_at), at(plan_.kernels_at), stream());
    return;
  }
  marks.begin(KernelRole::gemm);
  BatchedProduct product;
  product.m = m, product.n = n, product.k = k, product.batch = batch;
  product.a = {at(plan_.out_at), k, m * k, false};
  product.b = {at(plan_.in_at), k, n * k, true};
  product.c = at(plan_.kernels_at), product.c_stride = n, product.c_batch_stride = m * n;
  context_->cublas->multiply_complex(product);
}

class FftStrategy final : public ConvStrategy {
 public:
  explicit FftStrategy(SharedContext context) : context_(std::move(context)) {}
  std::string_view name() const override { return "fft"; }

  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (auto reason = common_refusal(problem)) return reason;
    if (!context_->cublas) return "no cuBLAS: " + context_->no_cublas;
    const FftPlan plan = best_plan(problem);
    constexpr std::int64_t most = std::int64_t{1} << 40;
    if (plan.bytes > most) return "more than 2⁴⁰ bytes of scratch memory";
    return std::nullopt;
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return best_plan(problem).bytes;
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    const FftPlan plan = best_plan(problem);
    const ConvView view = view_of(problem);
    const double numbers = plan.n * plan.n;
    const double transforms =
        static_cast<double>(plan.in.spectra() + plan.out.spectra() + plan.kernels.spectra());
    const double products = static_cast<double>(plan.in.spectra()) * view.out_channels /
                            view.groups * 8 * spectrum_size(plan.n);
    return static_cast<std::int64_t>(transforms * 2.5 * numbers * std::log2(numbers) + products);
  }
  double tolerance(const ConvProblem& problem) const override {
    return 2e-6 + rounding_tolerance(problem, 4);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<PreparedFft>(context_, problem);
  }
  std::vector<KernelFacts> kernels(const ConvProblem& problem) const override {
    const FftPlan plan = best_plan(problem);
    const auto facts_of_tiles = [](const TileKernel& kernel, std::string name, KernelRole role) {
      return facts_of(kernel.kernel, std::move(name), role, kernel.shared_bytes);
    };
    std::vector<KernelFacts> facts = {
        facts_of_tiles(transform_kernel(plan.n), "transform", KernelRole::transform)};
    if (plan.is_fused) {
      facts.push_back(facts_of_tiles(multiply_back_kernel(plan.n, plan.in.planes()),
                                     "products_back", KernelRole::inverse_transform));
    } else {
      facts.push_back(facts_of_tiles(transform_back_kernel(plan.n), "transform_back",
                                     KernelRole::inverse_transform));
    }
    return facts;
  }

 private:
  SharedContext context_;
};

}  // namespace

void add_fft(StrategyList& list, const SharedContext& context) {
  list.push_back(std::make_unique<FftStrategy>(context));
}

}  // namespace strata::cuda
