// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/direct.hpp"

#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/convolution/cpu/padded_plane.hpp"
#include "strata/convolution/cpu/sizes.hpp"

#include <algorithm>
#include <array>

namespace strata::cpu {
namespace {

/// Pixels of a task whose sums one thread has at once.
constexpr std::int64_t most_pixels = 48;

struct DirectPlan {
  PaddedPlane plane;
  std::int64_t sources = 1, results = 1;  ///< channels of one group
  std::int64_t result_width = 1, result_plane = 1;
  std::int64_t block = 1, blocks = 1;              ///< result channels that one inner loop computes
  std::int64_t images = 1;                         ///< padded at once
  std::int64_t planes = 0, factors = 0, sums = 0;  ///< where they begin in the scratch memory
  ScratchPlan scratch;
};

DirectPlan direct_plan(const ConvShape& s, ConvPass pass, int threads) {
  const bool is_forward = pass == ConvPass::forward;
  DirectPlan p;
  p.plane = padded_plane(s, pass);
  p.sources = (is_forward ? s.channels : s.filters) / s.groups;
  p.results = (is_forward ? s.filters : s.channels) / s.groups;
  p.result_width = is_forward ? s.output_width() : s.width;
  p.result_plane = p.result_width * (is_forward ? s.output_height() : s.height);
  p.block = channel_block();
  p.blocks = divide_up(p.results, p.block);
  const std::int64_t image_floats = checked_mul(s.groups, p.sources, p.plane.floats());
  p.images = images_at_once(s.batch, p.plane.is_source() ? 0 : image_floats);
  p.planes = p.scratch.add(p.plane.is_source() ? 0 : checked_mul(p.images, image_floats));
  p.factors = p.scratch.add(checked_mul(s.groups, p.blocks * p.block, p.sources,
                                        checked_mul(s.kernel_height, s.kernel_width)));
  p.sums = p.scratch.add(checked_mul(threads, most_pixels, p.block));
  return p;
}

/// Forward, and the gradient of the input with filters and channels exchanged.
class DirectConvolution : public PreparedConvolution {
 public:
  DirectConvolution(const ConvProblem& problem, SharedThreads threads)
      : threads_(std::move(threads)),
        shape_(problem.shape),
        is_forward_(problem.pass == ConvPass::forward),
        plan_(direct_plan(problem.shape, problem.pass, threads_->count())),
        scratch_(plan_.scratch.bytes()) {
    std::int64_t factors = 0;
    for (const AxisPhase& rows : plan_.plane.rows.phases) {
      for (const AxisPhase& columns : plan_.plane.columns.phases) {
        Phase& phase = phases_.emplace_back(Phase{&rows, &columns, {}, {}, factors});
        for (const auto& y : rows.seen) {
          for (const auto& x : columns.seen) {
            phase.offsets.push_back(y.offset * plan_.plane.columns.padded + x.offset);
            phase.weights.push_back(y.kernel * shape_.kernel_width + x.kernel);
          }
        }
        factors += shape_.groups * plan_.blocks * factors_per_block(phase);
      }
    }
  }

  std::int64_t scratch_bytes() const override { return scratch_.bytes(); }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const auto* const source =
        static_cast<const float*>(is_forward_ ? tensors.input : tensors.output);
    auto* const result = static_cast<float*>(is_forward_ ? tensors.output : tensors.input);
    const std::int64_t channels = shape_.groups * plan_.sources;
    const std::int64_t plane = plan_.plane.rows.size * plan_.plane.columns.size;
    marks.begin(KernelRole::transpose);
    pack(static_cast<const float*>(tensors.weights));
    for (std::int64_t image = 0; image < shape_.batch; image += plan_.images) {
      const std::int64_t images = std::min(plan_.images, shape_.batch - image);
      const float* planes = source + image * channels * plane;
      if (!plan_.plane.is_source()) {
        marks.begin(KernelRole::copy);
        threads_->for_each(images * channels, [&](std::int64_t i, int) {
          copy_padded(plan_.plane, planes + i * plane,
                      scratch_.at(plan_.planes) + i * plan_.plane.floats());
        });
        planes = scratch_.at(plan_.planes);
      }
      marks.begin(KernelRole::direct);
      for (const Phase& phase : phases_) {
        compute(phase, planes, images,
                result + image * shape_.groups * plan_.results * plan_.result_plane);
      }
    }
  }

 private:
  /// Result pixels that see the same kernel positions.
  struct Phase {
    const AxisPhase* rows;
    const AxisPhase* columns;
    std::vector<std::int64_t> offsets;  ///< of kernel positions, in the padded source
    std::vector<std::int64_t> weights;  ///< the same, in a kernel
    std::int64_t first_factor;

    std::int64_t pixels() const { return rows->count * columns->count; }
  };

  std::int64_t factors_per_block(const Phase& phase) const {
    return plan_.block * plan_.sources * std::ssize(phase.offsets);
  }

  /// Weights as [phase][group][block][source channel][kernel position][result channel].
  void pack(const float* weights) {
    const std::int64_t kernel_size = shape_.kernel_height * shape_.kernel_width;
    const std::int64_t result_step = is_forward_ ? plan_.sources * kernel_size : kernel_size;
    const std::int64_t source_step = is_forward_ ? kernel_size : plan_.results * kernel_size;
    threads_->for_each(shape_.groups * plan_.blocks, [&](std::int64_t i, int) {
      const std::int64_t first = i % plan_.blocks * plan_.block;
      const float* const from = weights +
                                i / plan_.blocks * plan_.sources * plan_.results * kernel_size +
                                first * result_step;
      for (const Phase& phase : phases_) {
        float* to = scratch_.at(plan_.factors) + phase.first_factor + i * factors_per_block(phase);
        for (std::int64_t s = 0; s < plan_.sources; ++s) {
          for (const std::int64_t weight : phase.weights) {
            for (std::int64_t r = 0; r < plan_.block; ++r) {
              const bool is_there = first + r < plan_.results;
              *to++ = is_there ? from[r * result_step + s * source_step + weight] : 0;
            }
          }
        }
      }
    });
  }

  void compute(const Phase& phase, const float* planes, std::int64_t images, float* result) {
    const std::int64_t blocks = shape_.groups * plan_.blocks;
    const std::int64_t runs = divide_up(phase.pixels(), most_pixels);
    const std::int64_t parts = std::min(runs, divide_up(4 * threads_->count(), images * blocks));
    threads_->for_each(images * blocks * parts, [&](std::int64_t i, int thread) {
      const std::int64_t part = i % parts, block = i / parts % blocks, image = i / parts / blocks;
      for (std::int64_t run = runs * part / parts; run < runs * (part + 1) / parts; ++run) {
        compute_run(phase, planes, image, block, run * most_pixels, thread, result);
      }
    });
  }

  /// Some pixels of one image for one block of result channels.
  void compute_run(const Phase& phase, const float* planes, std::int64_t image, std::int64_t block,
                   std::int64_t first_pixel, int thread, float* result) {
    const std::int64_t count = std::min(most_pixels, phase.pixels() - first_pixel);
    std::array<std::int64_t, most_pixels> from{}, to{};
    std::int64_t y = first_pixel / phase.columns->count;
    std::int64_t x = first_pixel % phase.columns->count;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      from[i] =
          y * phase.rows->source_step * plan_.plane.columns.padded + x * phase.columns->source_step;
      to[i] = (phase.rows->first + y * phase.rows->step) * plan_.result_width +
              phase.columns->first + x * phase.columns->step;
      if (++x < phase.columns->count) continue;
      x = 0;
      ++y;
    }
    const std::int64_t group = block / plan_.blocks;
    const std::int64_t channel = block % plan_.blocks * plan_.block;
    float* const sums = scratch_.at(plan_.sums) + thread * most_pixels * plan_.block;
    add_block(
        {.source = planes + (image * shape_.groups + group) * plan_.sources * plan_.plane.floats(),
         .positions = from.data(),
         .count = count,
         .rows = plan_.sources,
         .row_step = plan_.plane.floats(),
         .offsets = phase.offsets.data(),
         .terms = std::ssize(phase.offsets),
         .factors =
             scratch_.at(plan_.factors) + phase.first_factor + block * factors_per_block(phase),
         .sums = sums});
    for (std::int64_t r = 0; r < std::min(plan_.block, plan_.results - channel); ++r) {
      float* const plane =
          result +
          ((image * shape_.groups + group) * plan_.results + channel + r) * plan_.result_plane;
      for (std::int64_t i = 0; i < count; ++i) {
        plane[to[static_cast<std::size_t>(i)]] = sums[i * plan_.block + r];
      }
    }
  }

  SharedThreads threads_;
  ConvShape shape_;
  bool is_forward_;
  DirectPlan plan_;
  Scratch scratch_;
  std::vector<Phase> phases_;
};

/// The defining sums, blocked. Grouped and depthwise convolutions are the same loop over fewer
/// channels, with lanes that compute nothing.
class Direct : public ConvStrategy {
 public:
  explicit Direct(SharedThreads threads) : threads_(std::move(threads)) {}

  std::string_view name() const override { return "direct"; }
  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (auto reason = type_refusal(problem)) return reason;
    return vector_refusal();
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    if (problem.pass == ConvPass::weight_gradient) {
      return direct_weight_gradient_bytes(problem, threads_->count());
    }
    return direct_plan(problem.shape, problem.pass, threads_->count()).scratch.bytes();
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    return direct_flop(problem.shape);
  }
  double tolerance(const ConvProblem& problem) const override {
    return rounding_tolerance(problem);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    if (problem.pass == ConvPass::weight_gradient) {
      return prepare_direct_weight_gradient(problem, threads_);
    }
    return std::make_unique<DirectConvolution>(problem, threads_);
  }

 private:
  SharedThreads threads_;
};

}  // namespace

std::unique_ptr<ConvStrategy> direct_strategy(const SharedThreads& threads) {
  return std::make_unique<Direct>(threads);
}

}  // namespace strata::cpu
