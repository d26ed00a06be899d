// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/direct.hpp"
#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/convolution/cpu/padded_plane.hpp"
#include "strata/convolution/cpu/sizes.hpp"

#include <algorithm>
#include <vector>

namespace strata::cpu {
namespace {

/// The inner loop is that of the other passes with other roles: its positions are those of the
/// weights (channel and kernel position), its terms the output pixels, its factors the gradients of
/// a block of filters.
struct WeightGradientPlan {
  PaddedPlane plane;
  std::int64_t channels = 1, filters = 1;  ///< of one group
  std::int64_t block = 1, blocks = 1;      ///< filters that one inner loop computes
  std::int64_t positions = 1;              ///< channels × kernel positions
  std::int64_t parts = 1;                  ///< into which threads cut them
  std::int64_t rows = 1;                   ///< of the output whose gradients a thread has at once
  std::int64_t images = 1;                 ///< padded at once
  std::int64_t planes = 0, gradients = 0, sums = 0;  ///< where they begin in the scratch memory
  ScratchPlan scratch;

  std::int64_t part_positions() const { return divide_up(positions, parts); }
};

WeightGradientPlan weight_gradient_plan(const ConvShape& s, int threads) {
  WeightGradientPlan p;
  p.plane = padded_plane(s, ConvPass::weight_gradient);
  p.channels = s.channels / s.groups;
  p.filters = s.filters / s.groups;
  p.block = channel_block();
  p.blocks = divide_up(p.filters, p.block);
  p.positions = checked_mul(p.channels, s.kernel_height, s.kernel_width);
  constexpr std::int64_t least_positions = 32;
  p.parts = std::min(divide_up(4 * threads, s.groups * p.blocks),
                     divide_up(p.positions, least_positions));
  // The gradients stay in the second cache while all positions meet them.
  constexpr std::int64_t most_gradients = std::int64_t{32} << 10;
  p.rows =
      std::clamp<std::int64_t>(most_gradients / (p.block * s.output_width()), 1, s.output_height());
  const std::int64_t image_floats = checked_mul(s.channels, p.plane.floats());
  p.images = images_at_once(s.batch, p.plane.is_source() ? 0 : image_floats);
  p.planes = p.scratch.add(p.plane.is_source() ? 0 : checked_mul(p.images, image_floats));
  p.gradients = p.scratch.add(checked_mul(threads, p.rows, s.output_width(), p.block));
  p.sums = p.scratch.add(checked_mul(threads, p.part_positions(), p.block));
  return p;
}

class DirectWeightGradient : public PreparedConvolution {
 public:
  DirectWeightGradient(const ConvProblem& problem, SharedThreads threads)
      : threads_(std::move(threads)),
        shape_(problem.shape),
        plan_(weight_gradient_plan(problem.shape, threads_->count())),
        scratch_(plan_.scratch.bytes()) {
    for (std::int64_t c = 0; c < plan_.channels; ++c) {
      for (const auto& y : plan_.plane.rows.phases[0].seen) {
        for (const auto& x : plan_.plane.columns.phases[0].seen) {
          positions_.push_back(c * plan_.plane.floats() + y.offset * plan_.plane.columns.padded +
                               x.offset);
        }
      }
    }
    for (std::int64_t x = 0; x < shape_.output_width(); ++x) {
      offsets_.push_back(x * shape_.stride_width);
    }
  }

  std::int64_t scratch_bytes() const override { return scratch_.bytes(); }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const auto* const input = static_cast<const float*>(tensors.input);
    const auto* const gradient = static_cast<const float*>(tensors.output);
    const std::int64_t plane = shape_.height * shape_.width;
    for (std::int64_t image = 0; image < shape_.batch; image += plan_.images) {
      Images some{.count = std::min(plan_.images, shape_.batch - image),
                  .planes = input + image * shape_.channels * plane,
                  .gradients = gradient + image * shape_.filters * output_plane(),
                  .are_first = image == 0};
      if (!plan_.plane.is_source()) {
        marks.begin(KernelRole::copy);
        threads_->for_each(some.count * shape_.channels, [&](std::int64_t i, int) {
          copy_padded(plan_.plane, some.planes + i * plane,
                      scratch_.at(plan_.planes) + i * plan_.plane.floats());
        });
        some.planes = scratch_.at(plan_.planes);
      }
      marks.begin(KernelRole::direct);
      threads_->for_each(shape_.groups * plan_.blocks * plan_.parts, [&](std::int64_t i,
                                                                         int thread) {
        sum(some, i / plan_.parts, i % plan_.parts, thread, static_cast<float*>(tensors.weights));
      });
    }
  }

 private:
  struct Images {
    std::int64_t count = 0;
    const float* planes = nullptr;  ///< padded
    const float* gradients = nullptr;
    bool are_first = false;
  };

  std::int64_t output_plane() const { return shape_.output_height() * shape_.output_width(); }

  /// The gradients of a block of filters for some part of the positions.
  void sum(const Images& images, std::int64_t block, std::int64_t part, int thread,
           float* weights) {
    const std::int64_t group = block / plan_.blocks;
    const std::int64_t first_filter = group * plan_.filters + block % plan_.blocks * plan_.block;
    const std::int64_t filters = std::min(plan_.block, (group + 1) * plan_.filters - first_filter);
    const std::int64_t first = part * plan_.part_positions();
    const std::int64_t count = std::min(plan_.part_positions(), plan_.positions - first);
    if (count <= 0) return;
    float* const sums = scratch_.at(plan_.sums) + thread * plan_.part_positions() * plan_.block;
    float* const factors =
        scratch_.at(plan_.gradients) + thread * plan_.rows * shape_.output_width() * plan_.block;
    bool adds = false;
    for (std::int64_t image = 0; image < images.count; ++image) {
      for (std::int64_t row = 0; row < shape_.output_height(); row += plan_.rows) {
        const std::int64_t rows = std::min(plan_.rows, shape_.output_height() - row);
        const std::int64_t pixel = row * shape_.output_width();
        transpose(
            images.gradients + (image * shape_.filters + first_filter) * output_plane() + pixel,
            filters, rows * shape_.output_width(), factors);
        const std::int64_t row_step = shape_.stride_height * plan_.plane.columns.padded;
        add_block(
            {.source = images.planes +
                       (image * shape_.groups + group) * plan_.channels * plan_.plane.floats() +
                       row * row_step,
             .positions = positions_.data() + first,
             .count = count,
             .rows = rows,
             .row_step = row_step,
             .offsets = offsets_.data(),
             .terms = shape_.output_width(),
             .factors = factors,
             .sums = sums,
             .adds = adds});
        adds = true;
      }
    }
    for (std::int64_t f = 0; f < filters; ++f) {
      float* const to = weights + (first_filter + f) * plan_.positions + first;
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = (images.are_first ? 0 : to[i]) + sums[i * plan_.block + f];
      }
    }
  }

  /// to[pixel][filter] = from[filter][pixel], with zeros for the filters that a block lacks.
  void transpose(const float* from, std::int64_t filters, std::int64_t pixels, float* to) const {
    const std::int64_t plane = output_plane();
    for (std::int64_t p = 0; p < pixels; ++p) {
      for (std::int64_t f = 0; f < plan_.block; ++f) {
        *to++ = f < filters ? from[f * plane + p] : 0;
      }
    }
  }

  SharedThreads threads_;
  ConvShape shape_;
  WeightGradientPlan plan_;
  Scratch scratch_;
  std::vector<std::int64_t> positions_;  ///< of channels and kernel positions, in the planes
  std::vector<std::int64_t> offsets_;    ///< of the pixels of an output row
};

}  // namespace

std::unique_ptr<PreparedConvolution> prepare_direct_weight_gradient(const ConvProblem& problem,
                                                                    const SharedThreads& threads) {
  return std::make_unique<DirectWeightGradient>(problem, threads);
}

std::int64_t direct_weight_gradient_bytes(const ConvProblem& problem, int threads) {
  return weight_gradient_plan(problem.shape, threads).scratch.bytes();
}

}  // namespace strata::cpu
