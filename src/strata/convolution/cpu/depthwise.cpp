// SPDX-License-Identifier: Apache-2.0
// Convolutions of every channel by itself. Each number is used by few products, so it is memory
// that limits them: a plane is copied once into the first caches, apart by what the stride leaves
// out and with its padding, and taps run over its rows straight into the result.
#include "strata/convolution/cpu/depthwise_kernels.hpp"
#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/cpu/strategies.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace strata::cpu {
namespace {

/// Padded input row r·stride + p is row r of phase p, and so are columns. All planes have rows of
/// the same length, the gradient of the result, too, with zeros at the end of each.
class DepthwisePlan {
 public:
  explicit DepthwisePlan(const ConvShape& s) : shape(s) {
    phase_rows = (s.height + 2 * s.pad_height + s.stride_height - 1) / s.stride_height;
    pitch = (s.width + 2 * s.pad_width + s.stride_width - 1) / s.stride_width;
    for (std::int64_t y = 0; y < s.kernel_height; ++y) {
      for (std::int64_t x = 0; x < s.kernel_width; ++x) {
        taps.push_back(place_of(y * s.dilation_height, x * s.dilation_width));
        largest_offset = std::max(largest_offset, taps.back().offset);
      }
    }
  }

  struct Place {
    std::int64_t phase = 0, offset = 0;
  };
  /// Of a row and a column of the padded input.
  Place place_of(std::int64_t row, std::int64_t column) const {
    return {row % shape.stride_height * shape.stride_width + column % shape.stride_width,
            row / shape.stride_height * pitch + column / shape.stride_width};
  }
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
  /// The gradient of the result with what offsets lead to before and behind it.
  std::int64_t gradient_room() const {
    return room_of(checked_add(checked_add(phase_floats(), result_floats()), 2 * largest_offset));
  }
  std::int64_t floats_per_thread() const {
    return checked_add(checked_mul(phases(), phase_room()), gradient_room());
  }

  ConvShape shape;
  std::vector<Place> taps;
  std::int64_t phase_rows = 0, pitch = 0, largest_offset = 0;
};

/// Some of the taps: where they begin, and which weights they have.
struct SomeTaps {
  std::vector<std::int64_t> offsets, weights;

  std::int64_t count() const { return static_cast<std::int64_t>(offsets.size()); }
  PlaneTaps of(const float* plane, const float* own_weights) const {
    return {plane, offsets.data(), own_weights, count()};
  }
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
    const ConvShape& s = plan_.shape;
    for (std::int64_t x = 0; x < s.stride_width; ++x) {
      for (std::int64_t y = 0; y < s.stride_height; ++y) {
        first_places_.push_back(plan_.place_of(y + s.pad_height, x + s.pad_width));
      }
    }
    for (std::size_t t = 0; t < plan_.taps.size(); ++t) {
      taps_.offsets.push_back(plan_.taps[t].phase * plan_.phase_room() + plan_.taps[t].offset);
      taps_.weights.push_back(static_cast<std::int64_t>(t));
    }
    // The gradient at such a place is a sum over its taps of the gradient, moved back.
    for (const auto& place : first_places_) {
      SomeTaps& own = taps_back_.emplace_back();
      for (std::size_t t = 0; t < plan_.taps.size(); ++t) {
        if (plan_.taps[t].phase != place.phase) continue;
        own.offsets.push_back(place.offset - plan_.taps[t].offset);
        own.weights.push_back(static_cast<std::int64_t>(t));
      }
    }
  }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const ConvShape& s = plan_.shape;
    float* const input = static_cast<float*>(tensors.input);
    float* const weights = static_cast<float*>(tensors.weights);
    float* const output = static_cast<float*>(tensors.output);
    const std::int64_t in = s.height * s.width, out = s.output_height() * s.output_width();
    // So many planes are worth a thread's while.
    const std::int64_t at_once = std::max<std::int64_t>(1, 16'384 / std::max(in, out));
    const auto share = [&](std::int64_t planes, const auto& work) {
      threads_->for_each((planes + at_once - 1) / at_once, [&](std::int64_t index, int thread) {
        work(index * at_once, std::min(planes, (index + 1) * at_once), Room(*this, thread));
      });
    };
    marks.begin(KernelRole::direct);
    if (pass_ == ConvPass::weight_gradient) {
      share(s.channels, [&](std::int64_t begin, std::int64_t end, const Room& room) {
        std::vector<double> totals(static_cast<std::size_t>((end - begin) * taps_.count()));
        for (std::int64_t n = 0; n < s.batch; ++n) {
          for (std::int64_t c = begin; c < end; ++c) {
            const std::int64_t plane = n * s.channels + c;
            room.add_products(input + plane * in, output + plane * out,
                              totals.data() + (c - begin) * taps_.count());
          }
        }
        std::copy(totals.begin(), totals.end(), weights + begin * taps_.count());
      });
      return;
    }
    share(s.batch * s.channels, [&](std::int64_t begin, std::int64_t end, Room room) {
      for (std::int64_t plane = begin; plane < end; ++plane) {
        const float* const own = weights + plane % s.channels * taps_.count();
        if (pass_ == ConvPass::forward) {
          room.forward(input + plane * in, own, output + plane * out);
        } else {
          room.backward(output + plane * out, own, input + plane * in);
        }
      }
    });
  }

 private:
  /// Where a thread has its planes.
  class Room {
   public:
    Room(Depthwise& all, int thread)
        : all_(all),
          phases_(all.scratch_.at(thread * all.plan_.floats_per_thread())),
          weights_(all.plan_.taps.size()) {
      for (const auto& place : all.first_places_) {
        firsts_.push_back(phases_ + place.phase * all.plan_.phase_room() + place.offset);
      }
    }

    void forward(const float* input, const float* weights, float* output) const {
      const ConvShape& s = shape();
      split(input);
      sum_rows({.taps = all_.taps_.of(phases_, weights),
                .pitch = all_.plan_.pitch,
                .result = output,
                .rows = s.output_height(),
                .columns = s.output_width(),
                .step = s.output_width()});
    }

    void backward(const float* gradient, const float* weights, float* input) {
      const ConvShape& s = shape();
      const float* const spread_out = spread(gradient);
      for (std::int64_t y = 0; y < std::min(s.stride_height, s.height); ++y) {
        float* own = weights_.data();
        const auto taps_of_column = [&](std::int64_t x) {
          const SomeTaps& taps = all_.taps_back_[index_of(y, x)];
          const float* const first = own;
          for (const std::int64_t weight : taps.weights) *own++ = weights[weight];
          return taps.of(spread_out, first);
        };
        RowSums sums{.taps = taps_of_column(0),
                     .pitch = all_.plan_.pitch,
                     .result = input + y * s.width,
                     .rows = (s.height - y + s.stride_height - 1) / s.stride_height,
                     .columns = s.width,
                     .step = s.stride_height * s.width};
        if (s.stride_width == 1) {
          sum_rows(sums);
        } else if (s.stride_width == 2) {
          sum_rows_in_turn(sums, taps_of_column(1));
        } else {
          for (std::int64_t x = 0; x < std::min(s.stride_width, s.width); ++x) {
            own = weights_.data();
            sums.taps = taps_of_column(x);
            sum_columns(sums, x);
          }
        }
      }
    }

    void add_products(const float* input, const float* gradient, double* totals) const {
      const ConvShape& s = shape();
      split(input);
      multiply_planes({.plane = phases_,
                       .offsets = all_.taps_.offsets.data(),
                       .taps = all_.taps_.count(),
                       .pitch = all_.plan_.pitch,
                       .gradient = gradient,
                       .rows = s.output_height(),
                       .columns = s.output_width(),
                       .totals = totals});
    }

   private:
    const ConvShape& shape() const { return all_.plan_.shape; }
    /// Of those that begin in row y and column x of the input.
    std::size_t index_of(std::int64_t y, std::int64_t x) const {
      return static_cast<std::size_t>(x * shape().stride_height + y);
    }

    /// A plane of the input into its phases. Padding is zero from the beginning, and stays so.
    void split(const float* input) const {
      const ConvShape& s = shape();
      const RowCopies copies{.from = input,
                             .rows = s.height,
                             .columns = s.width,
                             .to = firsts_.data(),
                             .planes = s.stride_height,
                             .pitch = all_.plan_.pitch};
      if (s.stride_width == 1) return copy_rows(copies);
      if (s.stride_width == 2) return split_rows(copies, firsts_.data() + index_of(0, 1));
      for (std::int64_t first = 0; first < s.stride_width; ++first) {
        float* const* const planes = firsts_.data() + index_of(0, first);
        copies.each_row([&](const float* from, std::int64_t plane, std::int64_t place) {
          float* to = planes[plane] + place;
          for (std::int64_t x = first; x < s.width; x += s.stride_width) *to++ = from[x];
        });
      }
    }

    /// The gradient with rows of the plan's length, zeros between them, before the first and behind
    /// the last.
    const float* spread(const float* gradient) const {
      const ConvShape& s = shape();
      const DepthwisePlan& plan = all_.plan_;
      float* const first = phases_ + plan.phases() * plan.phase_room() + plan.largest_offset;
      copy_rows({.from = gradient,
                 .rows = s.output_height(),
                 .columns = s.output_width(),
                 .to = &first,
                 .pitch = plan.pitch});
      return first;
    }

    /// Every stride-th column from `first` on, by way of the room of a phase.
    void sum_columns(RowSums sums, std::int64_t first) const {
      const std::int64_t stride = shape().stride_width, pitch = all_.plan_.pitch;
      float* const result = std::exchange(sums.result, phases_);
      const std::int64_t step = std::exchange(sums.step, pitch);
      sums.columns = (shape().width - first + stride - 1) / stride;
      sum_rows(sums);
      for (std::int64_t y = 0; y < sums.rows; ++y) {
        for (std::int64_t x = 0; x < sums.columns; ++x) {
          result[y * step + first + x * stride] = phases_[y * pitch + x];
        }
      }
    }

    Depthwise& all_;
    float* phases_;
    std::vector<float> weights_;  // those of some taps
    std::vector<float*> firsts_;  // where first_places_ are
  };

  SharedThreads threads_;
  DepthwisePlan plan_;
  ConvPass pass_;
  Scratch scratch_;
  SomeTaps taps_;  // all, from the first phase on
  /// Of the first rows of the input, the first columns, as many as the strides: column by column.
  std::vector<DepthwisePlan::Place> first_places_;
  std::vector<SomeTaps> taps_back_;  // of the gradient at these places
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
