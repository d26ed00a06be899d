// SPDX-License-Identifier: Apache-2.0
// Convolutions of every channel by itself. Each number is used by few products, so it is memory
// that limits them: a plane is copied once into the first caches, apart by what the stride leaves
// out and with its padding, and all taps run over it as over one long row.
#include "strata/measure/cpu/convolution/depthwise_kernels.hpp"
#include "strata/measure/cpu/convolution/scratch.hpp"
#include "strata/measure/cpu/convolution/strategies.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace strata::cpu {
namespace {

/// Input row r·stride + p is row r of phase p, and so are columns. All planes have rows of the same
/// length, the result's, too: numbers behind a row's end are computed and left.
class DepthwisePlan {
 public:
  explicit DepthwisePlan(const ConvShape& s) : shape(s) {
    phase_rows = (s.height + 2 * s.pad_height + s.stride_height - 1) / s.stride_height;
    pitch = (s.width + 2 * s.pad_width + s.stride_width - 1) / s.stride_width;
    for (std::int64_t y = 0; y < s.kernel_height; ++y) {
      for (std::int64_t x = 0; x < s.kernel_width; ++x) {
        const std::int64_t row = y * s.dilation_height, column = x * s.dilation_width;
        taps.push_back({row % s.stride_height * s.stride_width + column % s.stride_width,
                        row / s.stride_height * pitch + column / s.stride_width});
        largest_offset = std::max(largest_offset, taps.back().offset);
      }
    }
  }

  struct Tap {
    std::int64_t phase = 0, offset = 0;
  };
  std::int64_t phases() const { return shape.stride_height * shape.stride_width; }
  std::int64_t phase_floats() const { return phase_rows * pitch; }
  /// From the first number of the result to its last.
  std::int64_t result_floats() const {
    return (shape.output_height() - 1) * pitch + shape.output_width();
  }
  /// A plane with room behind it, on lines of its own.
  std::int64_t room_of(std::int64_t floats) const {
    return checked_add(floats, room_behind_planes + 15) / 16 * 16;
  }
  std::int64_t phase_room() const { return room_of(phase_floats()); }
  /// The result, or its gradient with what offsets lead to before and behind it.
  std::int64_t result_room() const {
    return room_of(checked_add(checked_add(phase_floats(), result_floats()), 2 * largest_offset));
  }
  std::int64_t floats_per_thread() const {
    return checked_add(checked_mul(phases(), phase_room()), result_room());
  }

  ConvShape shape;
  std::vector<Tap> taps;
  std::int64_t phase_rows = 0, pitch = 0, largest_offset = 0;
};

class Depthwise : public PreparedConvolution {
 public:
  Depthwise(const ConvProblem& problem, SharedThreads threads)
      : threads_(std::move(threads)),
        plan_(problem.shape),
        pass_(problem.pass),
        scratch_(checked_mul(checked_mul(plan_.floats_per_thread(), threads_->count()), 4)) {
    std::memset(scratch_.at(0), 0,
                static_cast<std::size_t>(4 * plan_.floats_per_thread() * threads_->count()));
  }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const ConvShape& s = plan_.shape;
    float* const input = static_cast<float*>(tensors.input);
    float* const weights = static_cast<float*>(tensors.weights);
    float* const output = static_cast<float*>(tensors.output);
    const std::int64_t in = s.height * s.width, out = s.output_height() * s.output_width();
    const std::int64_t kernel = s.kernel_height * s.kernel_width;
    marks.begin(KernelRole::direct);
    if (pass_ == ConvPass::weight_gradient) {
      threads_->for_each(s.channels, [&](std::int64_t c, int thread) {
        std::vector<double> totals(plan_.taps.size());
        for (std::int64_t n = 0; n < s.batch; ++n) {
          const std::int64_t plane = n * s.channels + c;
          add_products(thread, input + plane * in, output + plane * out, totals);
        }
        std::copy(totals.begin(), totals.end(), weights + c * kernel);
      });
      return;
    }
    threads_->for_each(s.batch * s.channels, [&](std::int64_t plane, int thread) {
      const float* const own = weights + plane % s.channels * kernel;
      if (pass_ == ConvPass::forward) {
        forward(thread, input + plane * in, own, output + plane * out);
      } else {
        backward(thread, output + plane * out, own, input + plane * in);
      }
    });
  }

 private:
  float* phase(int thread, std::int64_t index) {
    return scratch_.at(thread * plan_.floats_per_thread() + index * plan_.phase_room());
  }
  /// Of the result, behind the phases.
  float* result(int thread) { return phase(thread, plan_.phases()); }

  /// Calls move(in a phase, in the input, columns) for each row of a phase and what of the input is
  /// in it: column x of the one is column x·stride of the other.
  template <class Number, class Move>
  void each_row(int thread, Number* input, const Move& move) {
    const ConvShape& s = plan_.shape;
    for (std::int64_t y = 0; y < s.height; ++y) {
      const std::int64_t row = y + s.pad_height;
      for (std::int64_t p = 0; p < s.stride_width; ++p) {
        const std::int64_t index = row % s.stride_height * s.stride_width + p;
        // The first column of this phase that is not padding.
        const std::int64_t skipped =
            std::max<std::int64_t>(0, (s.pad_width - p + s.stride_width - 1) / s.stride_width);
        const std::int64_t first = skipped * s.stride_width + p - s.pad_width;
        if (first >= s.width) continue;
        const std::int64_t columns = (s.width - first + s.stride_width - 1) / s.stride_width;
        move(phase(thread, index) + row / s.stride_height * plan_.pitch + skipped,
             input + y * s.width + first, columns);
      }
    }
  }

  /// Padding is zero from the beginning, and stays so.
  void split(int thread, const float* input) {
    const std::int64_t step = plan_.shape.stride_width;
    each_row(thread, input, [step](float* to, const float* from, std::int64_t columns) {
      if (step == 1) {
        std::memcpy(to, from, static_cast<std::size_t>(4 * columns));
      } else if (step == 2) {  // known here, so that it becomes vectors
        for (std::int64_t x = 0; x < columns; ++x) to[x] = from[2 * x];
      } else {
        for (std::int64_t x = 0; x < columns; ++x) to[x] = from[x * step];
      }
    });
  }

  void forward(int thread, const float* input, const float* weights, float* output) {
    split(thread, input);
    std::vector<const float*> sources;
    for (const auto& tap : plan_.taps) sources.push_back(phase(thread, tap.phase) + tap.offset);
    const auto taps = static_cast<std::int64_t>(sources.size());
    float* const sums = result(thread);
    sum_planes({sources.data(), weights, taps, sums, plan_.result_floats()});
    for (std::int64_t y = 0; y < plan_.shape.output_height(); ++y) {
      std::memcpy(output + y * plan_.shape.output_width(), sums + y * plan_.pitch,
                  static_cast<std::size_t>(4 * plan_.shape.output_width()));
    }
  }

  /// The gradient with rows of the plan's length, zeros between them, before the first and behind
  /// the last.
  float* spread(int thread, const float* gradient) {
    float* const first = result(thread) + plan_.largest_offset;
    for (std::int64_t y = 0; y < plan_.shape.output_height(); ++y) {
      std::memcpy(first + y * plan_.pitch, gradient + y * plan_.shape.output_width(),
                  static_cast<std::size_t>(4 * plan_.shape.output_width()));
    }
    return first;
  }

  /// Every phase of the input's gradient is a sum over its taps of the gradient, moved back.
  void backward(int thread, const float* gradient, const float* weights, float* input) {
    const float* const spread_out = spread(thread, gradient);
    std::vector<const float*> sources;
    std::vector<float> own;
    for (std::int64_t p = 0; p < plan_.phases(); ++p) {
      sources.clear();
      own.clear();
      for (std::size_t t = 0; t < plan_.taps.size(); ++t) {
        if (plan_.taps[t].phase != p) continue;
        sources.push_back(spread_out - plan_.taps[t].offset);
        own.push_back(weights[t]);
      }
      const auto taps = static_cast<std::int64_t>(sources.size());
      sum_planes({sources.data(), own.data(), taps, phase(thread, p), plan_.phase_floats()});
    }
    const std::int64_t step = plan_.shape.stride_width;
    each_row(thread, input, [step](const float* from, float* to, std::int64_t columns) {
      if (step == 1) {
        std::memcpy(to, from, static_cast<std::size_t>(4 * columns));
      } else {
        for (std::int64_t x = 0; x < columns; ++x) to[x * step] = from[x];
      }
    });
  }

  void add_products(int thread, const float* input, const float* gradient,
                    std::vector<double>& totals) {
    split(thread, input);
    const float* const spread_out = spread(thread, gradient);
    std::vector<const float*> sources;
    for (const auto& tap : plan_.taps) sources.push_back(phase(thread, tap.phase) + tap.offset);
    const auto taps = static_cast<std::int64_t>(sources.size());
    multiply_planes({sources.data(), spread_out, taps, totals.data(), plan_.result_floats()});
  }

  SharedThreads threads_;
  DepthwisePlan plan_;
  ConvPass pass_;
  Scratch scratch_;
};

class DepthwiseStrategy : public ConvStrategy {
 public:
  explicit DepthwiseStrategy(SharedThreads threads) : threads_(std::move(threads)) {}

  std::string_view name() const override { return "depthwise"; }
  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (auto reason = type_refusal(problem)) return reason;
    const ConvShape& s = problem.shape;
    if (s.groups != s.channels || s.filters != s.channels) {
      return "only where every channel has one filter of its own";
    }
    return vector_refusal();
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    const DepthwisePlan plan(problem.shape);
    return checked_mul(checked_mul(plan.floats_per_thread(), threads_->count()), 4);
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    return direct_flop(problem.shape);
  }
  double tolerance(const ConvProblem& problem) const override {
    return rounding_tolerance(problem);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<Depthwise>(problem, threads_);
  }

 private:
  SharedThreads threads_;
};

}  // namespace

std::unique_ptr<ConvStrategy> depthwise_strategy(const SharedThreads& threads) {
  return std::make_unique<DepthwiseStrategy>(threads);
}

}  // namespace strata::cpu
