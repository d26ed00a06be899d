// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/direct.hpp"

#include "strata/convolution/cpu/block_weights.hpp"
#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/convolution/cpu/direct_plan.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

class DirectSums : public PreparedConvolution {
 public:
  DirectSums(const ConvProblem& problem, SharedThreads threads)
      : threads_(std::move(threads)),
        shape_(problem.shape),
        is_forward_(problem.pass == ConvPass::forward),
        plan_(direct_plan(problem.shape, problem.pass, threads_->count())),
        scratch_(plan_.scratch.bytes()) {
    for (const TapPhase& phase : plan_.taps.phases) {
      std::vector<std::int64_t>& offsets = offsets_.emplace_back();
      std::vector<LaneTap>& lane_taps = lane_taps_.emplace_back();
      for (const Tap& tap : phase.taps) {
        lane_taps.push_back({tap.offset, std::ssize(offsets) * plan_.block});
        offsets.push_back(tap.offset);
      }
      weight_starts_.push_back(packed_);
      packed_ += plan_.groups * plan_.blocks * plan_.block * plan_.sources *
                 static_cast<std::int64_t>(phase.taps.size());
    }
    splits_ = (4 * threads_->count() + tasks_per_image() - 1) / tasks_per_image();
    splits_ = std::clamp<std::int64_t>(splits_, 1, plan_.blocks);
    packs_late_ = shape_.batch == 1 && plan_.taps.phases.size() == 1 &&
                  row_blocks(plan_.taps.phases[0]) == 1 &&
                  threads_->count() <= plan_.groups * plan_.blocks;
  }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const auto* source = static_cast<const float*>(is_forward_ ? tensors.input : tensors.output);
    auto* result = static_cast<float*>(is_forward_ ? tensors.output : tensors.input);
    marks.begin(KernelRole::transpose);
    weights_ = static_cast<const float*>(tensors.weights);
    if (!packs_late_) pack(weights_);
    const std::int64_t channels = plan_.groups * plan_.sources;
    const std::int64_t source_floats = plan_.source_height * plan_.source_width;
    for (std::int64_t image = 0; image < shape_.batch; image += plan_.images) {
      const std::int64_t images = std::min(plan_.images, shape_.batch - image);
      if (!plan_.reads_in_place) {
        marks.begin(KernelRole::copy);
        threads_->for_each(images * channels, [&](std::int64_t i, int) {
          fill_planes(plan_.taps, source + (image * channels + i) * source_floats,
                      plan_.source_height, plan_.source_width,
                      scratch_.at(plan_.planes) + i * plan_.taps.channel_floats());
        });
      }
      const float* const planes = plan_.reads_in_place ? source : scratch_.at(plan_.planes);
      marks.begin(KernelRole::direct);
      const std::int64_t tasks = tasks_per_image() * splits_;
      threads_->for_each(images * tasks, [&](std::int64_t i, int thread) {
        compute(
            planes + i / tasks * plan_.image_floats(), i % tasks, thread,
            result + (image + i / tasks) * plan_.groups * plan_.results * plan_.result_floats());
      });
    }
  }

 private:
  std::int64_t row_blocks(const TapPhase& phase) const {
    return (phase.rows + plan_.rows_at_once - 1) / plan_.rows_at_once;
  }
  std::int64_t tasks_per_image() const {
    std::int64_t tasks = 0;
    for (const TapPhase& phase : plan_.taps.phases) tasks += plan_.groups * row_blocks(phase);
    return tasks;
  }
  std::int64_t floats_per_block(std::size_t phase) const {
    return plan_.block * plan_.sources * static_cast<std::int64_t>(offsets_[phase].size());
  }

  /// Weights by phase, group and block as [source channel][tap][result channel of the block].
  void pack(const float* weights) {
    threads_->for_each(plan_.groups * plan_.blocks, [&](std::int64_t i, int) {
      for (std::size_t k = 0; k < plan_.taps.phases.size(); ++k) {
        pack_block(weights, i, k,
                   scratch_.at(plan_.weights) + weight_starts_[k] + i * floats_per_block(k));
      }
    });
  }

  /// Those of one phase, for block i of all groups' blocks.
  void pack_block(const float* weights, std::int64_t i, std::size_t phase, float* to) const {
    const std::int64_t taps = shape_.kernel_height * shape_.kernel_width;
    const std::int64_t filters = shape_.filters / shape_.groups;
    const std::int64_t channels = shape_.channels / shape_.groups;
    const std::int64_t step_result = is_forward_ ? channels * taps : taps;
    const std::int64_t step_source = is_forward_ ? taps : channels * taps;
    const std::int64_t first = i % plan_.blocks * plan_.block;
    const std::int64_t valid = std::min(plan_.block, plan_.results - first);
    const float* const group = weights + i / plan_.blocks * filters * channels * taps;
    if (is_natural()) {
      return pack_block_weights({.from = group + first * step_result,
                                 .step_result = step_result,
                                 .step_source = step_source,
                                 .sources = plan_.sources,
                                 .taps = taps,
                                 .block = plan_.block,
                                 .valid = valid},
                                to);
    }
    for (std::int64_t c = 0; c < plan_.sources; ++c) {
      for (const Tap& tap : plan_.taps.phases[phase].taps) {
        const float* const from =
            group + first * step_result + c * step_source + tap.ky * shape_.kernel_width + tap.kx;
        for (std::int64_t r = 0; r < plan_.block; ++r) {
          *to++ = r < valid ? from[r * step_result] : 0;
        }
      }
    }
  }

  /// Whether one phase has all taps in the order of the weights.
  bool is_natural() const {
    const std::vector<Tap>& taps = plan_.taps.phases[0].taps;
    for (std::size_t i = 0; i < taps.size(); ++i) {
      const Tap& tap = taps[i];
      if (tap.ky * shape_.kernel_width + tap.kx != static_cast<std::int64_t>(i)) return false;
    }
    return plan_.taps.phases.size() == 1;
  }

  /// One run of rows of one phase and group, for a share of the result channels.
  void compute(const float* image, std::int64_t task, int thread, float* result) {
    const std::int64_t split = task % splits_;
    task /= splits_;
    std::size_t phase = 0;
    while (task >= plan_.groups * row_blocks(plan_.taps.phases[phase])) {
      task -= plan_.groups * row_blocks(plan_.taps.phases[phase++]);
    }
    const TapPhase& p = plan_.taps.phases[phase];
    const std::int64_t group = task / row_blocks(p);
    const std::int64_t row = task % row_blocks(p) * plan_.rows_at_once;
    const std::int64_t rows = std::min(plan_.rows_at_once, p.rows - row);
    const float* const source =
        image + group * plan_.sources * plan_.taps.channel_floats() + row * plan_.taps.plane_width;
    float* const frame = scratch_.at(plan_.frames) + thread * plan_.block * plan_.frame_floats;
    const std::int64_t pixels = (rows - 1) * plan_.taps.plane_width + p.columns;
    const std::int64_t end = plan_.blocks * (split + 1) / splits_;
    for (std::int64_t block = plan_.blocks * split / splits_; block < end; ++block) {
      const std::int64_t first = block * plan_.block;
      float* const to = result + (group * plan_.results + first) * plan_.result_floats();
      const std::int64_t index = group * plan_.blocks + block;
      float* const weights = scratch_.at(plan_.weights) + weight_starts_[phase] +
                             (packs_late_ ? thread : index) * floats_per_block(phase);
      if (packs_late_) pack_block(weights_, index, phase, weights);
      if (plan_.is_by_lanes) {
        sum_lanes(phase, source, weights, rows, frame);
        store_lanes(p, row, rows, frame, std::min(plan_.block, plan_.results - first), to);
        continue;
      }
      if (plan_.writes_in_place) {
        sum_block(phase, source, weights, pixels, to + row * plan_.result_width,
                  plan_.result_floats());
        continue;
      }
      sum_block(phase, source, weights, pixels, frame, plan_.frame_floats);
      for (std::int64_t r = 0; r < std::min(plan_.block, plan_.results - first); ++r) {
        store(p, row, rows, frame + r * plan_.frame_floats, to + r * plan_.result_floats());
      }
    }
  }

  void sum_block(std::size_t phase, const float* source, const float* weights, std::int64_t pixels,
                 float* result, std::int64_t result_step) {
    const auto taps = static_cast<std::int64_t>(offsets_[phase].size());
    for (std::int64_t c = 0; c < plan_.sources; c += plan_.sources_at_once) {
      add_taps({.source = source + c * plan_.taps.channel_floats(),
                .channels = std::min(plan_.sources_at_once, plan_.sources - c),
                .channel_step = plan_.taps.channel_floats(),
                .offsets = offsets_[phase].data(),
                .taps = taps,
                .weights = weights + c * taps * plan_.block,
                .result = result,
                .result_step = result_step,
                .block = plan_.block,
                .pixels = pixels,
                .adds = c > 0});
    }
  }

  /// The same with the channels of the block side by side; rows of the frame are `columns` long.
  void sum_lanes(std::size_t phase, const float* source, const float* weights, std::int64_t rows,
                 float* frame) {
    const auto taps = static_cast<std::int64_t>(offsets_[phase].size());
    const std::int64_t columns = plan_.taps.phases[phase].columns;
    const std::int64_t tiles = (columns + lane_pixels() - 1) / lane_pixels();
    for (std::int64_t c = 0; c < plan_.sources; c += plan_.sources_at_once) {
      for (std::int64_t i = 0; i < rows * tiles; ++i) {  // of about the same size
        const std::int64_t y = i / tiles;
        const std::int64_t x = columns * (i % tiles) / tiles;
        add_lanes(
            {.source = source + c * plan_.taps.channel_floats() + y * plan_.taps.plane_width + x,
             .channels = std::min(plan_.sources_at_once, plan_.sources - c),
             .channel_step = plan_.taps.channel_floats(),
             .taps = lane_taps_[phase].data(),
             .tap_count = taps,
             .weights = weights + c * taps * plan_.block,
             .weight_step = taps * plan_.block,
             .result = frame + (y * columns + x) * plan_.block,
             .result_step = plan_.block,
             .pixels = columns * (i % tiles + 1) / tiles - x,
             .adds = c > 0});
      }
    }
  }

  void store_lanes(const TapPhase& phase, std::int64_t row, std::int64_t rows, const float* frame,
                   std::int64_t channels, float* result) const {
    for (std::int64_t y = 0; y < rows; ++y, frame += phase.columns * plan_.block) {
      float* const to =
          result + (phase.first_y + (row + y) * plan_.taps.result_step_y) * plan_.result_width +
          phase.first_x;
      if (plan_.taps.result_step_x == 1) {
        turn({.from = frame,
              .from_step = plan_.block,
              .height = phase.columns,
              .width = channels,
              .to = to,
              .to_step = plan_.result_floats()});
        continue;
      }
      for (std::int64_t r = 0; r < channels; ++r) {
        for (std::int64_t x = 0; x < phase.columns; ++x) {
          to[r * plan_.result_floats() + x * plan_.taps.result_step_x] = frame[x * plan_.block + r];
        }
      }
    }
  }

  void store(const TapPhase& phase, std::int64_t row, std::int64_t rows, const float* frame,
             float* result) const {
    const std::int64_t step = plan_.taps.result_step_x;
    for (std::int64_t y = 0; y < rows; ++y, frame += plan_.taps.plane_width) {
      float* const to =
          result + (phase.first_y + (row + y) * plan_.taps.result_step_y) * plan_.result_width +
          phase.first_x;
      if (step == 1) {
        std::copy_n(frame, phase.columns, to);
      } else {
        for (std::int64_t x = 0; x < phase.columns; ++x) to[x * step] = frame[x];
      }
    }
  }

  SharedThreads threads_;
  ConvShape shape_;
  bool is_forward_;
  DirectPlan plan_;
  Scratch scratch_;
  std::vector<std::vector<std::int64_t>> offsets_;  ///< of the taps of each phase
  std::vector<std::vector<LaneTap>> lane_taps_;     ///< the same for add_lanes
  std::vector<std::int64_t> weight_starts_;         ///< of each phase
  std::int64_t packed_ = 0;
  /// Each block of weights is used once, by one thread: it is packed just before, and still in that
  /// thread's cache.
  bool packs_late_ = false;
  const float* weights_ = nullptr;
  std::int64_t splits_ = 1;
};

/// Vectors of pixels compute the padding, too, but need no channels side by side in the result: by
/// measurement that pays for kernels of one tap over large images, and for few channels of which a
/// stride leaves out much, as in the first layer of a network.
bool is_faster_by_lanes(const DirectPlan& pixels, const LanePlan& lanes) {
  constexpr std::int64_t few_channels = 16, small_image = 256;
  if (pixels.is_by_lanes) return true;
  const bool is_one_tap = lanes.taps() == 1;
  if (lanes.pixel_step > 1 && (is_one_tap || lanes.sources < few_channels)) return false;
  if (is_one_tap && lanes.result_step == 1 && lanes.result_floats() > small_image) return false;
  return lanes.products() <= pixels.products();
}

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
      return direct_products_bytes(problem, threads_->count());
    }
    if (const auto plan = better_lane_plan(problem)) return plan->scratch.bytes();
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
      return prepare_direct_products(problem, threads_);
    }
    if (auto plan = better_lane_plan(problem)) {
      return prepare_lane_sums(problem, std::move(*plan), threads_);
    }
    return std::make_unique<DirectSums>(problem, threads_);
  }

 private:
  /// Nothing: vectors of pixels are faster.
  std::optional<LanePlan> better_lane_plan(const ConvProblem& problem) const {
    auto plan = lane_plan(problem.shape, problem.pass, threads_->count());
    const DirectPlan other = direct_plan(problem.shape, problem.pass, threads_->count());
    if (plan && !is_faster_by_lanes(other, *plan)) plan.reset();
    return plan;
  }

  SharedThreads threads_;
};

}  // namespace

std::unique_ptr<ConvStrategy> direct_strategy(const SharedThreads& threads) {
  return std::make_unique<Direct>(threads);
}

}  // namespace strata::cpu
