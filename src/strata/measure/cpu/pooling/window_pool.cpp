// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/pooling/window_pool.hpp"

#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/moving/layout_loops.hpp"
#include "strata/measure/cpu/moving/pair_sums.hpp"
#include "strata/measure/cpu/pooling/pool_loops.hpp"
#include "strata/measure/cpu/pooling/window_loops.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace strata::cpu_training {
namespace {

static_assert(room_behind_rows >= room_behind_held);

constexpr std::int64_t longest_result = ResultStream<float>::longest;
/// The processor makes the next while the last are on their way to memory, when they are few.
constexpr std::int64_t band_numbers = 512;
constexpr std::int64_t numbers_held = 4096;  // a third of the first cache

/// Rows of windows that are made at once from rows that are held for them.
struct Band {
  std::int64_t begin, end;
};

/// Rows of results [out] by windows of three over rows [in].
struct Threes {
  std::int64_t stride, top, left;  // padding before the first
  std::int64_t in_rows, in_width, out_rows, out_width;

  HeldRows held() const {
    HeldRows held{.stride = stride, .left = left, .width = in_width};
    const std::int64_t reach =
        std::max(left + in_width, (out_width - 1) * stride + 3) + room_behind_held * stride;
    held.odd_at = stride == 1 ? 0 : (reach / 2 + 15) / 16 * 16;
    held.pitch = stride == 1 ? (reach + 15) / 16 * 16 : 2 * held.odd_at;
    return held;
  }
  std::int64_t rows_at_once() const {
    const std::int64_t most =
        std::min(numbers_held / (stride * held().pitch), band_numbers / out_width);
    return std::clamp<std::int64_t>(most, 1, out_rows);
  }
  std::int64_t rows_of(std::int64_t windows) const { return (windows - 1) * stride + 3; }

  /// Calls work(band) for all rows of results.
  template <class Work>
  void each_band(const Work& work) const {
    const std::int64_t step = rows_at_once();
    for (std::int64_t row = 0; row < out_rows; row += step) {
      work(Band{row, std::min(out_rows, row + step)});
    }
  }
};

/// The rows that a band of windows looks at.
class BandRows {
 public:
  BandRows(const Threes& threes, float outside)
      : threes_(threes),
        held_(threes.held()),
        outside_(outside),
        room_(static_cast<std::size_t>(held_.pitch * (threes.rows_of(threes.rows_at_once()) + 1)),
              outside),
        rows_(static_cast<std::size_t>(threes.rows_of(threes.rows_at_once()))) {}

  const HeldRows& held() const { return held_; }
  const float* const* rows() const { return rows_.data(); }
  bool has_no_number() const { return has_no_number_; }

  /// hold(first, count, room) takes rows of the plane into the room.
  template <class Hold>
  void take(const Band& band, const Hold& hold) {
    const std::int64_t from = band.begin * threes_.stride - threes_.top;
    const std::int64_t count = threes_.rows_of(band.end - band.begin);
    const std::int64_t first = std::max<std::int64_t>(from, 0);
    const std::int64_t last = std::min(from + count, threes_.in_rows);
    // The first slot is for what lies outside.
    float* const room = room_.data() + held_.pitch;
    hold(first, last - first, room);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = from + i;
      rows_[static_cast<std::size_t>(i)] =
          row < first || row >= last ? room_.data() : room + (row - first) * held_.pitch;
    }
  }
  /// Rows of the plane as they are; nothing is read from `end` on.
  void take_plane(const Band& band, const float* plane, const float* end) {
    take(band, [&](std::int64_t first, std::int64_t count, float* room) {
      has_no_number_ =
          window_loops()->hold(held_, plane + first * threes_.in_width, end, count, outside_, room);
    });
  }
  void repeat_second() { rows_[0] = rows_[1]; }

 private:
  Threes threes_;
  HeldRows held_;
  float outside_;
  std::vector<float> room_;
  std::vector<const float*> rows_;
  bool has_no_number_ = false;
};

Threes threes_of(const PoolPlan& plan) {
  return {.stride = plan.stride[2],
          .top = plan.pad[1],
          .left = plan.pad[2],
          .in_rows = plan.in[1],
          .in_width = plan.in[2],
          .out_rows = plan.out[1],
          .out_width = plan.out[2]};
}

bool is_flat(const PoolPlan& plan) {
  return window_loops() != nullptr && !plan.is_adaptive && plan.in[0] == 1 && plan.out[0] == 1 &&
         plan.kernel[0] == 1 && std::max(plan.in[2], plan.out[2]) <= longest_result / 2;
}

}  // namespace

bool has_windows_of_three(const PoolPlan& plan) {
  bool fits = is_flat(plan) && plan.stride[1] == plan.stride[2] && plan.stride[2] <= 2;
  for (const std::size_t axis : {1U, 2U}) {
    fits = fits && plan.kernel[axis] == 3 && plan.dilation[axis] == 1 && plan.pad[axis] <= 1 &&
           plan.begin(axis, plan.out[axis] - 1) < plan.in[axis];
  }
  return fits;
}

void largest_of_threes(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  const Threes threes = threes_of(plan);
  const auto* const x = real<const float>(m.inputs[0]);
  const float* const x_end = x + plan.planes * plan.in_plane();
  std::vector<std::int32_t> defaults(static_cast<std::size_t>(plan.out[2] + room_behind_held));
  if (plan.pad[2] > 0) defaults[0] = 1;
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    BandRows rows(threes, -std::numeric_limits<float>::infinity());
    ResultStream<std::uint8_t> taps(real<std::uint8_t>(m.saved), begin * plan.out_plane(),
                                    plan.is_beyond);
    ResultStream<float> stream(real<float>(m.outputs[0]), begin * plan.out_plane(), plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      threes.each_band([&](const Band& band) {
        rows.take_plane(band, x + plane * plan.in_plane(), x_end);
        const bool is_first_above = band.begin == 0 && threes.top > 0;
        if (is_first_above) rows.repeat_second();
        const std::int64_t count = (band.end - band.begin) * plan.out[2];
        window_loops()->largest(rows.held(), rows.rows(), band.end - band.begin, defaults.data(),
                                is_first_above, rows.has_no_number(), stream.next(count),
                                m.saved != nullptr ? taps.next(count) : nullptr, plan.out[2]);
      });
    }
  });
}

namespace {

/// Rows of outputs with their gradients and taps, as many as a band of dx needs.
class TapRows {
 public:
  TapRows(const PoolPlan& plan, std::int64_t most)
      : plan_(plan),
        pitch_((margin + std::max(plan.out[2], plan.in[2]) + room_behind_held + 15) / 16 * 16),
        gradients_(static_cast<std::size_t>((most + 1) * pitch_)),
        taps_(gradients_.size(), -1),
        rows_(static_cast<std::size_t>(most)) {}

  /// From row `first` on, which need not be there.
  const TapsRow* take(const float* dy, const std::uint8_t* taps, std::int64_t first,
                      std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = first + i;
      const bool is_there = row >= 0 && row < plan_.out[1];
      const std::int64_t to = (is_there ? i + 1 : 0) * pitch_ + margin;  // nothing is in the first
      rows_[static_cast<std::size_t>(i)] = {gradients_.data() + to, taps_.data() + to};
      if (!is_there) continue;
      window_loops()->hold_taps(dy + row * plan_.out[2], taps + row * plan_.out[2],
                                gradients_.data() + to, taps_.data() + to, plan_.out[2]);
    }
    return rows_.data();
  }

 private:
  static constexpr std::int64_t margin = 16;

  PoolPlan plan_;
  std::int64_t pitch_;
  std::vector<float> gradients_;
  std::vector<std::int32_t> taps_;
  std::vector<TapsRow> rows_;
};

}  // namespace

void largest_of_threes_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  const std::int64_t stride = plan.stride[1], pad = plan.pad[1];
  // Rows of dx that outputs before the first of a band reach as well.
  const std::int64_t lead = stride == 1 ? 2 : 1;
  const std::int64_t at_once =
      std::clamp<std::int64_t>(band_numbers / (stride * plan.in[2]), 1, plan.in[1] / stride + 1);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    TapRows rows(plan, lead + at_once);
    ResultStream<float> stream(real<float>(m.input_gradients[0]), begin * plan.in_plane(),
                               plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const std::int64_t at = plane * plan.out_plane();
      // Row o of outputs completes rows o · stride − pad and, with stride 2, the next.
      for (std::int64_t o = stride == 1 ? pad : 0; o * stride - pad < plan.in[1]; o += at_once) {
        const std::int64_t first = o * stride - pad, wanted = std::max<std::int64_t>(0, first);
        const std::int64_t last = std::min(plan.in[1], (o + at_once) * stride - pad);
        const SpreadRows shape{.stride = stride,
                               .pad = plan.pad[2],
                               .count = lead + (last - first + stride - 1) / stride,
                               .first = lead * stride + wanted - first,
                               .rows = last - wanted,
                               .width = plan.in[2]};
        const TapsRow* const taken =
            rows.take(real<const float>(m.output_gradients[0]) + at,
                      real<const std::uint8_t>(m.saved) + at, o - lead, shape.count);
        window_loops()->spread(taken, shape, stream.next(shape.rows * plan.in[2]));
      }
    }
  });
}

void mean_of_threes(const PoolPlan& plan, const Workers& workers, const PoolShares& shares,
                    const NodeMemory& m) {
  const Threes threes = threes_of(plan);
  const auto* const x = real<const float>(m.inputs[0]);
  const float* const x_end = x + plan.planes * plan.in_plane();
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    BandRows rows(threes, 0.0F);
    ResultStream<float> stream(real<float>(m.outputs[0]), begin * plan.out_plane(), plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      threes.each_band([&](const Band& band) {
        rows.take_plane(band, x + plane * plan.in_plane(), x_end);
        window_loops()->sum(rows.held(), rows.rows(), band.end - band.begin,
                            shares.of_rows + band.begin, shares.of_columns,
                            stream.next((band.end - band.begin) * plan.out[2]), plan.out[2]);
      });
    }
  });
}

void mean_of_threes_backward(const PoolPlan& plan, const Workers& workers, const PoolShares& shares,
                             const NodeMemory& m) {
  // Number x gets the outputs x + pad − 2 … x + pad.
  const Threes threes{.stride = 1,
                      .top = 2 - plan.pad[1],
                      .left = 2 - plan.pad[2],
                      .in_rows = plan.out[1],
                      .in_width = plan.out[2],
                      .out_rows = plan.in[1],
                      .out_width = plan.in[2]};
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    BandRows rows(threes, 0.0F);
    ResultStream<float> stream(real<float>(m.input_gradients[0]), begin * plan.in_plane(),
                               plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const auto* const dy = real<const float>(m.output_gradients[0]) + plane * plan.out_plane();
      threes.each_band([&](const Band& band) {
        rows.take(band, [&](std::int64_t first, std::int64_t count, float* room) {
          for (std::int64_t row = 0; row < count; ++row) {
            window_loops()->hold_shares(dy + (first + row) * plan.out[2], shares.of_columns,
                                        shares.of_rows[first + row],
                                        room + row * rows.held().pitch + threes.left, plan.out[2]);
          }
        });
        window_loops()->sum(rows.held(), rows.rows(), band.end - band.begin, nullptr, nullptr,
                            stream.next((band.end - band.begin) * plan.in[2]), plan.in[2]);
      });
    }
  });
}

bool has_pairs(const PoolPlan& plan) {
  bool fits = is_flat(plan);
  for (const std::size_t axis : {1U, 2U}) {
    fits = fits && plan.kernel[axis] == 2 && plan.stride[axis] == 2 && plan.dilation[axis] == 1 &&
           plan.pad[axis] == 0 && plan.in[axis] == 2 * plan.out[axis];
  }
  return fits;
}

void largest_of_pairs(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  const std::int64_t width = plan.out[2], at_once = rows_of_piece<float>(width);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * plan.out_plane(), rows = (end - begin) * plan.out[1];
    ResultStream<float> most(real<float>(m.outputs[0]), at, plan.is_beyond);
    ResultStream<std::uint8_t> which(real<std::uint8_t>(m.saved), at, plan.is_beyond);
    const auto* const x = real<const float>(m.inputs[0]) + begin * plan.in_plane();
    for (std::int64_t first = 0; first < rows; first += at_once) {
      const std::int64_t count = std::min(at_once, rows - first);
      fetch_ahead(x, first * 4 * width, count * 4 * width, rows * 4 * width);
      window_loops()->largest_of_pairs(x + first * 4 * width, most.next(count * width),
                                       m.saved != nullptr ? which.next(count * width) : nullptr,
                                       width, count);
    }
  });
}

void largest_of_pairs_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  const std::int64_t width = plan.out[2], at_once = rows_of_piece<float>(4 * width);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * plan.out_plane(), count = (end - begin) * plan.out_plane();
    ResultStream<float> stream(real<float>(m.input_gradients[0]), begin * plan.in_plane(),
                               plan.is_beyond);
    const auto* const dy = real<const float>(m.output_gradients[0]) + at;
    const auto* const which = real<const std::uint8_t>(m.saved) + at;
    for (std::int64_t done = 0; done < count; done += at_once * width) {
      const std::int64_t length = std::min(at_once * width, count - done);
      fetch_ahead(dy, done, length, count);
      fetch_ahead(which, done, length, count);
      window_loops()->spread_pairs(dy + done, which + done, stream.next(4 * length), width,
                                   length / width);
    }
  });
}

void mean_of_pairs(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    ResultStream<float> stream(real<float>(m.outputs[0]), begin * plan.out_plane(), plan.is_beyond);
    sum_pairs(real<const float>(m.inputs[0]) + begin * plan.in_plane(), 0.25F, plan.out[2],
              (end - begin) * plan.out[1], stream);
  });
}

void mean_of_pairs_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    ResultStream<float> stream(real<float>(m.input_gradients[0]), begin * plan.in_plane(),
                               plan.is_beyond);
    const auto* dy = real<const float>(m.output_gradients[0]) + begin * plan.out_plane();
    if (stream_of<float>() == nullptr) {
      const std::int64_t rows = (end - begin) * plan.out[1];
      return layout_loops()->twice_rows(dy, 0.25F, stream.next(2 * rows * plan.in[2]), plan.out[2],
                                        rows);
    }
    for (std::int64_t row = 0; row < (end - begin) * plan.out[1]; ++row, dy += plan.out[2]) {
      for (int time = 0; time < 2; ++time) {
        layout_loops()->twice(dy, 0.25F, stream.next(plan.in[2]), plan.out[2]);
      }
    }
  });
}

bool has_short_planes(const PoolPlan& plan) {
  constexpr std::int64_t shortest = 256;  // that are worth a call each
  return layout_loops() != nullptr && plan.is_adaptive && !plan.is_maximum &&
         plan.out_plane() == 1 && plan.in_plane() < shortest;
}

void mean_of_planes(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  const auto* const x = real<const float>(m.inputs[0]);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    layout_loops()->sums_of_rows(
        x + begin * plan.in_plane(), plan.in_plane(), 1 / static_cast<float>(plan.in_plane()),
        real<float>(m.outputs[0]) + begin, end - begin, x + plan.planes * plan.in_plane());
  });
}

void mean_of_planes_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  const std::int64_t at_once =
      stream_of<float>() == nullptr ? plan.planes : band_numbers / plan.in_plane();
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    ResultStream<float> stream(real<float>(m.input_gradients[0]), begin * plan.in_plane(),
                               plan.is_beyond);
    const auto* const dy = real<const float>(m.output_gradients[0]);
    for (std::int64_t plane = begin; plane < end; plane += at_once) {
      const std::int64_t count = std::min(at_once, end - plane);
      layout_loops()->rows_of_same(dy + plane, plan.in_plane(),
                                   1 / static_cast<float>(plan.in_plane()),
                                   stream.next(count * plan.in_plane()), count);
    }
  });
}

}  // namespace strata::cpu_training
