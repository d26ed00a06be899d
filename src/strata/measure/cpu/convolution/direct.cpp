// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/convolution/direct.hpp"

#include "strata/measure/cpu/convolution/direct_kernels.hpp"
#include "strata/measure/cpu/convolution/scratch.hpp"
#include "strata/measure/cpu/convolution/tap_plan.hpp"

#include <algorithm>
#include <bit>

namespace strata::cpu {
namespace {

/// The forward pass and the input's gradient, by tap sums.
struct DirectPlan {
  TapPlan taps;
  std::int64_t images = 1;  ///< whose planes exist at once
  std::int64_t groups = 1;
  std::int64_t sources = 1;  ///< channels of one group
  std::int64_t results = 1;
  std::int64_t source_height = 1, source_width = 1, result_height = 1, result_width = 1;
  std::int64_t block = 1;            ///< result channels that one inner loop computes
  std::int64_t blocks = 1;           ///< in a group
  std::int64_t rows_at_once = 1;     ///< of a frame
  std::int64_t sources_at_once = 1;  ///< whose weights stay in the first cache
  std::int64_t frame_floats = 0;     ///< of one result channel
  bool reads_in_place = false;       ///< the source is as wanted: nothing to copy
  bool writes_in_place = false;      ///< so is the result
  std::int64_t planes = 0, weights = 0, frames = 0;  ///< where they begin in the scratch memory
  ScratchPlan scratch;

  std::int64_t image_floats() const { return groups * sources * taps.channel_floats(); }
  std::int64_t result_floats() const { return result_height * result_width; }
};

bool is_source_as_it_is(const DirectPlan& p) {
  return p.taps.planes.size() == 1 && p.taps.planes[0].y == 0 && p.taps.planes[0].x == 0 &&
         p.taps.source_step_y == 1 && p.taps.source_step_x == 1 &&
         p.taps.plane_height == p.source_height && p.taps.plane_width == p.source_width;
}

bool is_result_as_it_is(const DirectPlan& p) {
  return p.taps.phases.size() == 1 && p.taps.result_step_y == 1 && p.taps.result_step_x == 1 &&
         p.taps.plane_width == p.result_width && p.taps.phases[0].rows == p.result_height &&
         p.taps.phases[0].columns == p.result_width && p.results % p.block == 0;
}

DirectPlan direct_plan(const ConvShape& s, ConvPass pass, int threads) {
  const bool is_forward = pass == ConvPass::forward;
  DirectPlan p;
  p.taps = is_forward ? forward_taps(s) : input_gradient_taps(s);
  p.groups = s.groups;
  p.sources = (is_forward ? s.channels : s.filters) / s.groups;
  p.results = (is_forward ? s.filters : s.channels) / s.groups;
  p.source_height = is_forward ? s.height : s.output_height();
  p.source_width = is_forward ? s.width : s.output_width();
  p.result_height = is_forward ? s.output_height() : s.height;
  p.result_width = is_forward ? s.output_width() : s.width;
  p.images = images_at_once(s.batch, p.image_floats());
  p.block =
      std::min(widest_channel_block(),
               static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(p.results))));
  p.blocks = (p.results + p.block - 1) / p.block;
  // The source pixels of a task should stay in the second cache, its frame in the first.
  const std::int64_t pixels = std::clamp<std::int64_t>(
      131072 / (p.sources * static_cast<std::int64_t>(p.taps.planes.size())), 192, 1024);
  std::int64_t rows = 1;
  for (const TapPhase& phase : p.taps.phases) rows = std::max(rows, phase.rows);
  p.rows_at_once = std::clamp<std::int64_t>(pixels / p.taps.plane_width, 1, rows);
  p.sources_at_once =
      std::max<std::int64_t>(1, 6144 / (p.block * s.kernel_height * s.kernel_width));
  p.reads_in_place = is_source_as_it_is(p);
  p.writes_in_place = is_result_as_it_is(p);
  if (p.reads_in_place) p.images = s.batch;
  p.frame_floats = p.writes_in_place ? 0 : p.rows_at_once * p.taps.plane_width;
  p.planes = p.scratch.add(p.reads_in_place ? 0 : checked_mul(p.images, p.image_floats()));
  p.weights = p.scratch.add(
      checked_mul(p.groups, p.blocks * p.block, p.sources, s.kernel_height * s.kernel_width));
  p.frames = p.scratch.add(checked_mul(threads, p.block, p.frame_floats));
  return p;
}

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
      for (const Tap& tap : phase.taps) offsets.push_back(tap.offset);
      weight_starts_.push_back(packed_);
      packed_ += plan_.groups * plan_.blocks * plan_.block * plan_.sources *
                 static_cast<std::int64_t>(phase.taps.size());
    }
    splits_ = (4 * threads_->count() + tasks_per_image() - 1) / tasks_per_image();
    splits_ = std::clamp<std::int64_t>(splits_, 1, plan_.blocks);
  }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const auto* source = static_cast<const float*>(is_forward_ ? tensors.input : tensors.output);
    auto* result = static_cast<float*>(is_forward_ ? tensors.output : tensors.input);
    marks.begin(KernelRole::transpose);
    pack(static_cast<const float*>(tensors.weights));
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
    const std::int64_t taps = shape_.kernel_height * shape_.kernel_width;
    const std::int64_t filters = shape_.filters / shape_.groups;
    const std::int64_t channels = shape_.channels / shape_.groups;
    const std::int64_t step_result = is_forward_ ? channels * taps : taps;
    const std::int64_t step_source = is_forward_ ? taps : channels * taps;
    threads_->for_each(plan_.groups * plan_.blocks, [&](std::int64_t i, int) {
      const std::int64_t first = i % plan_.blocks * plan_.block;
      const std::int64_t valid = std::min(plan_.block, plan_.results - first);
      const float* const group = weights + i / plan_.blocks * filters * channels * taps;
      for (std::size_t k = 0; k < plan_.taps.phases.size(); ++k) {
        float* to = scratch_.at(plan_.weights) + weight_starts_[k] + i * floats_per_block(k);
        for (std::int64_t c = 0; c < plan_.sources; ++c) {
          for (const Tap& tap : plan_.taps.phases[k].taps) {
            const float* const from = group + first * step_result + c * step_source +
                                      tap.ky * shape_.kernel_width + tap.kx;
            for (std::int64_t r = 0; r < plan_.block; ++r) {
              *to++ = r < valid ? from[r * step_result] : 0;
            }
          }
        }
      }
    });
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
      const float* const weights = scratch_.at(plan_.weights) + weight_starts_[phase] +
                                   (group * plan_.blocks + block) * floats_per_block(phase);
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
  std::vector<std::int64_t> weight_starts_;         ///< of each phase
  std::int64_t packed_ = 0;
  std::int64_t splits_ = 1;
};

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
    return std::make_unique<DirectSums>(problem, threads_);
  }

 private:
  SharedThreads threads_;
};

}  // namespace

std::unique_ptr<ConvStrategy> direct_strategy(const SharedThreads& threads) {
  return std::make_unique<Direct>(threads);
}

}  // namespace strata::cpu
