// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/direct.hpp"
#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/convolution/cpu/scratch.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

struct FilterProductsPlan {
  std::int64_t plane_height = 1, plane_width = 1;  ///< of a channel with its padding
  std::int64_t images = 1;
  std::int64_t filters = 1;  ///< of a group
  std::int64_t sources = 1;  ///< channels × taps of a group
  std::int64_t pixels = 1;
  std::int64_t block = 1;  ///< filters that one inner loop computes
  std::int64_t blocks = 1;
  std::int64_t splits = 1;        ///< of the sources, for threads and for the second cache
  std::int64_t rows_at_once = 1;  ///< whose gradients stay in the first cache
  bool reads_in_place = false;    ///< without padding there is nothing to copy
  std::int64_t planes = 0, gradients = 0, sums = 0;
  std::int64_t gradient_floats = 0, sum_floats = 0;  ///< of one thread
  ScratchPlan scratch;

  std::int64_t plane_floats() const { return plane_height * plane_width; }
};

/// Sums of a task stay in the second cache, beside what it reads.
constexpr std::int64_t most_sum_floats = std::int64_t{1} << 16;
constexpr std::int64_t pixels_in_first_cache = 192;

FilterProductsPlan filter_products_plan(const ConvShape& s, int threads) {
  FilterProductsPlan p;
  p.plane_height = s.height + 2 * s.pad_height;
  p.plane_width = s.width + 2 * s.pad_width;
  p.filters = s.filters / s.groups;
  p.sources = s.channels / s.groups * s.kernel_height * s.kernel_width;
  p.pixels = checked_mul(s.output_height(), s.output_width());
  p.block = pixel_block();
  p.blocks = (p.filters + p.block - 1) / p.block;
  p.reads_in_place = s.pad_height == 0 && s.pad_width == 0;
  const std::int64_t rows = s.groups * p.blocks;
  const std::int64_t for_cache = (p.sources * p.block + most_sum_floats - 1) / most_sum_floats;
  const std::int64_t for_threads = threads == 1 ? 1 : 4 * threads / rows + 1;
  p.splits = std::clamp<std::int64_t>(std::max(for_cache, for_threads), 1, p.sources);
  p.rows_at_once =
      std::clamp<std::int64_t>(pixels_in_first_cache / s.output_width(), 1, s.output_height());
  const std::int64_t image_planes =
      p.reads_in_place ? 0 : checked_mul(s.channels, p.plane_height, p.plane_width);
  p.images = p.reads_in_place ? s.batch : images_at_once(s.batch, image_planes);
  p.gradient_floats = checked_mul(p.rows_at_once, s.output_width(), p.block);
  p.sum_floats = checked_mul((p.sources + p.splits - 1) / p.splits, p.block);
  p.planes = p.scratch.add(checked_mul(p.images, image_planes));
  p.gradients = p.scratch.add(checked_mul(threads, p.gradient_floats));
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
      for (std::int64_t ky = 0; ky < shape_.kernel_height; ++ky) {
        for (std::int64_t kx = 0; kx < shape_.kernel_width; ++kx) {
          offsets_.push_back(c * plan_.plane_floats() +
                             ky * shape_.dilation_height * plan_.plane_width +
                             kx * shape_.dilation_width);
        }
      }
    }
  }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const auto* input = static_cast<const float*>(tensors.input);
    const auto* gradient = static_cast<const float*>(tensors.output);
    const std::int64_t rows = shape_.groups * plan_.blocks;
    for (std::int64_t image = 0; image < shape_.batch; image += plan_.images) {
      const std::int64_t images = std::min(plan_.images, shape_.batch - image);
      const float* const first = input + image * image_floats();
      if (!plan_.reads_in_place) {
        marks.begin(KernelRole::copy);
        threads_->for_each(images * shape_.channels, [&](std::int64_t i, int) {
          pad(first + i * shape_.height * shape_.width,
              scratch_.at(plan_.planes) + i * plan_.plane_floats());
        });
      }
      marks.begin(KernelRole::direct);
      const float* const planes = plan_.reads_in_place ? first : scratch_.at(plan_.planes);
      threads_->for_each(rows * plan_.splits, [&](std::int64_t i, int thread) {
        const Task task{i / plan_.splits, i % plan_.splits, images, thread, image > 0};
        multiply(task, planes, gradient + image * shape_.filters * plan_.pixels,
                 static_cast<float*>(tensors.weights));
      });
    }
  }

 private:
  std::int64_t channels() const { return shape_.channels / shape_.groups; }
  std::int64_t image_floats() const { return shape_.channels * shape_.height * shape_.width; }

  void pad(const float* channel, float* plane) const {
    const std::int64_t sides = shape_.pad_width;
    const std::int64_t above = shape_.pad_height * plan_.plane_width;
    plane = std::fill_n(plane, above, 0.0F);
    for (std::int64_t y = 0; y < shape_.height; ++y, channel += shape_.width) {
      plane = std::fill_n(plane, sides, 0.0F);
      plane = std::copy_n(channel, shape_.width, plane);
      plane = std::fill_n(plane, sides, 0.0F);
    }
    std::fill_n(plane, above, 0.0F);
  }

  /// One block of filters with a share of the sources of its group, over all pixels.
  struct Task {
    std::int64_t row = 0;  ///< group and block
    std::int64_t split = 0;
    std::int64_t images = 1;
    int thread = 0;
    bool adds = false;  ///< to the weights
  };

  void multiply(const Task& task, const float* planes, const float* gradient, float* weights) {
    const std::int64_t group = task.row / plan_.blocks;
    const std::int64_t filter = group * plan_.filters + task.row % plan_.blocks * plan_.block;
    const std::int64_t valid = std::min(plan_.block, (group + 1) * plan_.filters - filter);
    const std::int64_t begin = plan_.sources * task.split / plan_.splits;
    const std::int64_t end = plan_.sources * (task.split + 1) / plan_.splits;
    float* const turned = scratch_.at(plan_.gradients) + task.thread * plan_.gradient_floats;
    if (valid < plan_.block) std::fill_n(turned, plan_.gradient_floats, 0.0F);
    float* const sums = scratch_.at(plan_.sums) + task.thread * plan_.sum_floats;
    PixelProducts products{.gradient = turned,
                           .source_offsets = offsets_.data() + begin,
                           .sources = end - begin,
                           .columns = shape_.output_width(),
                           .source_row_step = shape_.stride_height * plan_.plane_width,
                           .source_pixel_step = shape_.stride_width,
                           .result = sums};
    for (std::int64_t n = 0; n < task.images; ++n) {
      const float* const source =
          planes + (n * shape_.channels + group * channels()) * plan_.plane_floats();
      for (std::int64_t y = 0; y < shape_.output_height(); y += plan_.rows_at_once) {
        products.rows = std::min(plan_.rows_at_once, shape_.output_height() - y);
        products.source = source + y * products.source_row_step;
        turn(
            {.from = gradient + (n * shape_.filters + filter) * plan_.pixels + y * products.columns,
             .from_step = plan_.pixels,
             .height = valid,
             .width = products.rows * products.columns,
             .to = turned,
             .to_step = plan_.block});
        multiply_pixels(products);
        products.adds = true;
      }
    }
    store(sums, end - begin, valid, task.adds, weights + filter * plan_.sources + begin);
  }

  void store(const float* sums, std::int64_t sources, std::int64_t filters, bool adds,
             float* weights) const {
    if (!adds) {
      return turn({.from = sums,
                   .from_step = plan_.block,
                   .height = sources,
                   .width = filters,
                   .to = weights,
                   .to_step = plan_.sources});
    }
    for (std::int64_t i = 0; i < filters; ++i) {
      for (std::int64_t j = 0; j < sources; ++j)
        weights[i * plan_.sources + j] += sums[j * plan_.block + i];
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
