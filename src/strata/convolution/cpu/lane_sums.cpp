// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/block_weights.hpp"
#include "strata/convolution/cpu/direct.hpp"
#include "strata/convolution/cpu/lane_plan.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

class LaneConvolution : public PreparedConvolution {
 public:
  LaneConvolution(const ConvProblem& problem, LanePlan plan, SharedThreads threads)
      : threads_(std::move(threads)),
        shape_(problem.shape),
        is_forward_(problem.pass == ConvPass::forward),
        plan_(std::move(plan)),
        scratch_(plan_.scratch.bytes()),
        taps_(static_cast<std::size_t>(threads_->count() * plan_.taps())) {}

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const Run run{static_cast<const float*>(is_forward_ ? tensors.input : tensors.output),
                  static_cast<const float*>(tensors.weights),
                  static_cast<float*>(is_forward_ ? tensors.output : tensors.input)};
    const std::int64_t panels = plan_.groups * plan_.blocks;
    const std::int64_t parts = shape_.batch * plan_.parts;
    if (!plan_.packs_late) {
      marks.begin(KernelRole::transpose);
      threads_->for_each(panels, [&](std::int64_t panel, int) {
        pack(run, panel, scratch_.at(plan_.weights) + panel * plan_.block_floats());
      });
    }
    marks.begin(KernelRole::direct);
    const std::int64_t rounds = (parts + plan_.parts_at_once - 1) / plan_.parts_at_once;
    threads_->for_each(rounds * panels, [&](std::int64_t i, int thread) {
      const std::int64_t panel = i % panels;
      float* const weights =
          scratch_.at(plan_.weights) + (plan_.packs_late ? thread : panel) * plan_.block_floats();
      if (plan_.packs_late) pack(run, panel, weights);
      const std::int64_t first = i / panels * plan_.parts_at_once;
      const std::int64_t end = std::min(parts, first + plan_.parts_at_once);
      for (std::int64_t part = first; part < end; ++part) {
        compute(run, {panel, part / plan_.parts, part % plan_.parts * plan_.rows_at_once, thread},
                weights);
      }
    });
  }

 private:
  struct Run {
    const float* source;
    const float* weights;
    float* result;
  };
  /// Some rows of one image, for one block of result channels.
  struct Frame {
    std::int64_t panel = 0;  ///< group and block
    std::int64_t image = 0;
    std::int64_t row = 0;
    int thread = 0;
  };

  void pack(const Run& run, std::int64_t panel, float* to) const {
    const std::int64_t taps = plan_.taps();
    const std::int64_t group = panel / plan_.blocks;
    const std::int64_t first = panel % plan_.blocks * plan_.block;
    const std::int64_t channels = is_forward_ ? plan_.sources : plan_.results;
    const std::int64_t step_result = is_forward_ ? channels * taps : taps;
    pack_block_weights(
        {.from = run.weights + group * plan_.sources * plan_.results * taps + first * step_result,
         .step_result = step_result,
         .step_source = is_forward_ ? taps : channels * taps,
         .sources = plan_.sources,
         .taps = taps,
         .block = plan_.block,
         .valid = std::min(plan_.block, plan_.results - first)},
        to);
  }

  void compute(const Run& run, const Frame& f, const float* weights) {
    const std::int64_t group = f.panel / plan_.blocks;
    const std::int64_t first = f.panel % plan_.blocks * plan_.block;
    const std::int64_t rows = std::min(plan_.rows_at_once, plan_.rows.result_size - f.row);
    const std::int64_t width = plan_.columns.result_size;
    const float* const source =
        run.source + (f.image * plan_.groups + group) * plan_.sources * plan_.source_floats();
    float* const frame = scratch_.at(plan_.frames) + f.thread * plan_.frame_floats();
    for (std::int64_t c = 0; c < plan_.sources; c += plan_.sources_at_once) {
      for (std::int64_t y = 0; y < rows; ++y) {
        for (const LaneTile& tile : plan_.tiles) {
          const LaneTap* const taps = taps_.data() + f.thread * plan_.taps();
          add_lanes({.source = source + c * plan_.source_floats(),
                     .channels = std::min(plan_.sources_at_once, plan_.sources - c),
                     .channel_step = plan_.source_floats(),
                     .pixel_step = plan_.pixel_step,
                     .taps = taps,
                     .tap_count = find_taps(f.row + y, tile, f.thread),
                     .weights = weights + c * plan_.taps() * plan_.block,
                     .weight_step = plan_.taps() * plan_.block,
                     .result = frame + (y * width + tile.first) * plan_.block,
                     .result_step = plan_.result_step * plan_.block,
                     .pixels = tile.pixels,
                     .adds = c > 0});
        }
      }
    }
    turn({.from = frame,
          .from_step = plan_.block,
          .height = rows * width,
          .width = std::min(plan_.block, plan_.results - first),
          .to = run.result +
                ((f.image * plan_.groups + group) * plan_.results + first) * plan_.result_floats() +
                f.row * width,
          .to_step = plan_.result_floats()});
  }

  /// Writes what a tile of a row sees to the thread's taps; how many.
  std::int64_t find_taps(std::int64_t row, const LaneTile& tile, int thread) {
    LaneTap* const first = taps_.data() + thread * plan_.taps();
    LaneTap* to = first;
    for (std::int64_t i = 0; i < plan_.rows.kernel; ++i) {
      const std::int64_t ky = is_forward_ ? i : plan_.rows.kernel - 1 - i;  // from above
      const auto source_row = plan_.rows.source(row, ky);
      if (!source_row) continue;
      for (const LaneTile::Column& column : tile.columns) {
        *to++ = {.offset = *source_row * plan_.columns.source_size + column.offset,
                 .weights = (ky * plan_.columns.kernel + column.kx) * plan_.block,
                 .outside = column.outside};
      }
    }
    return to - first;
  }

  SharedThreads threads_;
  ConvShape shape_;
  bool is_forward_;
  LanePlan plan_;
  Scratch scratch_;
  std::vector<LaneTap> taps_;  ///< of each thread
};

}  // namespace

std::unique_ptr<PreparedConvolution> prepare_lane_sums(const ConvProblem& problem, LanePlan plan,
                                                       const SharedThreads& threads) {
  return std::make_unique<LaneConvolution>(problem, std::move(plan), threads);
}

}  // namespace strata::cpu
