// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/convolution/direct.hpp"
#include "strata/measure/cpu/convolution/direct_kernels.hpp"
#include "strata/measure/cpu/convolution/scratch.hpp"
#include "strata/measure/cpu/convolution/tap_plan.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

struct FilterProductsPlan {
  TapPlan taps;
  std::int64_t images = 1;
  std::int64_t filters = 1;  ///< of a group
  std::int64_t sources = 1;  ///< channels × taps of a group
  std::int64_t pixels = 1;
  std::int64_t block = 1;  ///< filters that one inner loop computes
  std::int64_t blocks = 1;
  std::int64_t splits = 1;        ///< of the sources, for threads and for the second cache
  std::int64_t rows_at_once = 1;  ///< whose gradients stay in the first cache
  bool reads_in_place = false;    ///< the source is as wanted: nothing to copy
  std::int64_t planes = 0, gradients = 0, sums = 0;
  std::int64_t sum_floats = 0;  ///< of one thread
  ScratchPlan scratch;

  std::int64_t gradient_floats() const { return pixels * block; }  ///< of a block
};

/// Sums of a task stay in the second cache, beside what it reads.
constexpr std::int64_t most_sum_floats = std::int64_t{1} << 16;
constexpr std::int64_t pixels_in_first_cache = 192;

bool is_plane_as_it_is(const TapPlan& taps, const ConvShape& s) {
  return taps.planes.size() == 1 && taps.planes[0].y == 0 && taps.planes[0].x == 0 &&
         taps.source_step_y == 1 && taps.source_step_x == 1 && taps.plane_height == s.height &&
         taps.plane_width == s.width;
}

FilterProductsPlan filter_products_plan(const ConvShape& s, int threads) {
  FilterProductsPlan p;
  p.taps = forward_taps(s);
  p.filters = s.filters / s.groups;
  p.sources = s.channels / s.groups * s.kernel_height * s.kernel_width;
  p.pixels = checked_mul(s.output_height(), s.output_width());
  p.block = pixel_block();
  p.blocks = (p.filters + p.block - 1) / p.block;
  p.reads_in_place = is_plane_as_it_is(p.taps, s);
  const std::int64_t rows = s.groups * p.blocks;
  const std::int64_t for_cache = (p.sources * p.block + most_sum_floats - 1) / most_sum_floats;
  const std::int64_t for_threads = threads == 1 ? 1 : 4 * threads / rows + 1;
  p.splits = std::clamp<std::int64_t>(std::max(for_cache, for_threads), 1, p.sources);
  p.rows_at_once =
      std::clamp<std::int64_t>(pixels_in_first_cache / s.output_width(), 1, s.output_height());
  const std::int64_t image_planes =
      p.reads_in_place ? 0 : checked_mul(s.channels, p.taps.channel_floats());
  const std::int64_t image_gradients = checked_mul(rows, checked_mul(p.pixels, p.block));
  p.images = images_at_once(s.batch, checked_add(image_planes, image_gradients));
  p.sum_floats = checked_mul((p.sources + p.splits - 1) / p.splits, p.block);
  p.planes = p.scratch.add(checked_mul(p.images, image_planes));
  p.gradients = p.scratch.add(checked_mul(p.images, image_gradients));
  p.sums = p.scratch.add(checked_mul(threads, p.sum_floats));
  return p;
}

class FilterProducts : public PreparedConvolution {
 public:
  FilterProducts(const ConvProblem& problem, SharedThreads threads)
      : threads_(std::move(threads)),
        shape_(problem.shape),
        plan_(filter_products_plan(problem.shape, threads_->count())),
        scratch_(plan_.scratch.bytes()) {
    for (std::int64_t c = 0; c < channels(); ++c) {
      for (const Tap& tap : plan_.taps.phases[0].taps)
        offsets_.push_back(c * plan_.taps.channel_floats() + tap.offset);
    }
  }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const auto* input = static_cast<const float*>(tensors.input);
    const std::int64_t rows = shape_.groups * plan_.blocks;
    for (std::int64_t image = 0; image < shape_.batch; image += plan_.images) {
      const std::int64_t images = std::min(plan_.images, shape_.batch - image);
      const float* const first = input + image * image_floats();
      marks.begin(KernelRole::transpose);
      turn_gradients(static_cast<const float*>(tensors.output), image, images);
      if (!plan_.reads_in_place) {
        marks.begin(KernelRole::copy);
        threads_->for_each(images * shape_.channels, [&](std::int64_t i, int) {
          fill_planes(plan_.taps, first + i * shape_.height * shape_.width, shape_.height,
                      shape_.width, scratch_.at(plan_.planes) + i * plan_.taps.channel_floats());
        });
      }
      marks.begin(KernelRole::direct);
      const float* const planes = plan_.reads_in_place ? first : scratch_.at(plan_.planes);
      threads_->for_each(rows * plan_.splits, [&](std::int64_t i, int thread) {
        multiply(planes, i / plan_.splits, i % plan_.splits, images, thread, image > 0,
                 static_cast<float*>(tensors.weights));
      });
    }
  }

 private:
  std::int64_t channels() const { return shape_.channels / shape_.groups; }
  std::int64_t image_floats() const { return shape_.channels * shape_.height * shape_.width; }

  /// Those of a block of filters side by side, pixel by pixel; zeros where there is no filter.
  void turn_gradients(const float* gradient, std::int64_t image, std::int64_t images) {
    const std::int64_t rows = shape_.groups * plan_.blocks;
    threads_->for_each(images * rows, [&](std::int64_t i, int) {
      const std::int64_t group = i % rows / plan_.blocks;
      const std::int64_t filter = i % plan_.blocks * plan_.block;
      const std::int64_t valid = std::min(plan_.block, plan_.filters - filter);
      float* const to = scratch_.at(plan_.gradients) + i * plan_.gradient_floats();
      if (valid < plan_.block) std::fill_n(to, plan_.gradient_floats(), 0.0F);
      turn({.from =
                gradient + ((image + i / rows) * shape_.filters + group * plan_.filters + filter) *
                               plan_.pixels,
            .from_step = plan_.pixels,
            .height = valid,
            .width = plan_.pixels,
            .to = to,
            .to_step = plan_.block});
    });
  }

  /// One block of filters with a share of the sources of its group, over all pixels.
  void multiply(const float* planes, std::int64_t row, std::int64_t split, std::int64_t images,
                int thread, bool adds, float* weights) {
    const std::int64_t group = row / plan_.blocks;
    const std::int64_t begin = plan_.sources * split / plan_.splits;
    const std::int64_t end = plan_.sources * (split + 1) / plan_.splits;
    const std::int64_t all_channels = shape_.channels * plan_.taps.channel_floats();
    float* const sums = scratch_.at(plan_.sums) + thread * plan_.sum_floats;
    PixelProducts products{.source_offsets = offsets_.data() + begin,
                           .sources = end - begin,
                           .columns = shape_.output_width(),
                           .source_row_step = plan_.taps.plane_width,
                           .result = sums};
    for (std::int64_t n = 0; n < images; ++n) {
      const float* const gradient =
          scratch_.at(plan_.gradients) +
          (n * shape_.groups * plan_.blocks + row) * plan_.gradient_floats();
      const float* const source =
          planes + n * all_channels + group * channels() * plan_.taps.channel_floats();
      for (std::int64_t y = 0; y < shape_.output_height(); y += plan_.rows_at_once) {
        products.rows = std::min(plan_.rows_at_once, shape_.output_height() - y);
        products.gradient = gradient + y * products.columns * plan_.block;
        products.source = source + y * plan_.taps.plane_width;
        multiply_pixels(products);
        products.adds = true;
      }
    }
    const std::int64_t filter = row % plan_.blocks * plan_.block;
    const std::int64_t valid = std::min(plan_.block, plan_.filters - filter);
    float* const to = weights + (group * plan_.filters + filter) * plan_.sources + begin;
    if (!adds) {
      return turn({.from = sums,
                   .from_step = plan_.block,
                   .height = end - begin,
                   .width = valid,
                   .to = to,
                   .to_step = plan_.sources});
    }
    for (std::int64_t i = 0; i < valid; ++i) {
      for (std::int64_t j = 0; j < end - begin; ++j)
        to[i * plan_.sources + j] += sums[j * plan_.block + i];
    }
  }

  SharedThreads threads_;
  ConvShape shape_;
  FilterProductsPlan plan_;
  Scratch scratch_;
  std::vector<std::int64_t> offsets_;  ///< of every channel and tap of a group
};

/// Half of the lanes are in use at least.
bool fills_lanes(const ConvShape& s) { return 2 * (s.filters / s.groups) >= pixel_block(); }

}  // namespace

std::unique_ptr<PreparedConvolution> prepare_filter_products(const ConvProblem& problem,
                                                             const SharedThreads& threads) {
  if (!fills_lanes(problem.shape)) return nullptr;
  return std::make_unique<FilterProducts>(problem, threads);
}

std::optional<std::int64_t> filter_products_bytes(const ConvProblem& problem, int threads) {
  if (!fills_lanes(problem.shape)) return std::nullopt;
  return filter_products_plan(problem.shape, threads).scratch.bytes();
}

}  // namespace strata::cpu
