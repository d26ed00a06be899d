// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/pooling/pool_rows.hpp"
#include "strata/measure/cpu/pooling/row_pool.hpp"
#include "strata/measure/cpu/pooling/tap_spread.hpp"
#include "strata/measure/cpu/pooling/window_pool.hpp"

#include <limits>
#include <type_traits>
#include <vector>

namespace strata::cpu_training {

std::int64_t bytes_per_tap(const PoolPlan& plan) { return plan.window() <= 256 ? 1 : 4; }

namespace {

/// For each output of a row, the first tap along it that lies inside.
struct MaxDefaults {
  std::vector<std::int32_t> taps;

  explicit MaxDefaults(const PoolPlan& plan)
      : taps(static_cast<std::size_t>(plan.out[2] + room_behind_rows)) {
    for (std::int64_t o = 0; o < plan.out[2]; ++o) {
      taps[static_cast<std::size_t>(o)] = static_cast<std::int32_t>(plan.inside(2, o).first);
    }
  }
};

/// Every row of a plane is reduced along itself first, once, whatever the number of windows that it
/// belongs to; then rows of windows are compared. In this order the first of equals in memory wins,
/// as in PyTorch, without being looked for.
template <class T>
struct MaxRoom {
  std::int64_t width;     // of a reduced row, in whole vectors
  std::vector<T> padded;  // a row between numbers that never win
  std::vector<std::int32_t> first_taps;
  std::vector<T> most, result;  // of the rows of a plane, of a row of outputs
  std::vector<std::int32_t> taps, which;

  explicit MaxRoom(const PoolPlan& plan)
      : width((plan.out[2] + 15) / 16 * 16),
        padded(static_cast<std::size_t>(plan.padded_width() +
                                        (width - plan.out[2]) * plan.stride[2] + 2 * room_behind),
               -std::numeric_limits<T>::infinity()),
        first_taps(static_cast<std::size_t>(width + room_behind)),
        most(static_cast<std::size_t>(plan.in_rows() * width + room_behind)),
        result(first_taps.size()),
        taps(most.size()),
        which(first_taps.size()) {
    for (std::int64_t o = 0; o < plan.out[2]; ++o) {
      first_taps[static_cast<std::size_t>(o)] = static_cast<std::int32_t>(plan.inside(2, o).first);
    }
  }
};

template <class T>
void reduce_rows(const PoolPlan& plan, const T* plane, MaxRoom<T>& room) {
  for (std::int64_t row = 0; row < plan.in_rows(); ++row) {
    const T* const x = plane + row * plan.in[2];
    std::copy(x, x + plan.in[2], room.padded.begin() + plan.pad[2]);
    vector_loops<T>().largest_of_taps(room.padded.data(), plan.kernel[2], plan.dilation[2],
                                      plan.stride[2], room.first_taps.data(),
                                      room.most.data() + row * room.width,
                                      room.taps.data() + row * room.width, room.width);
  }
}

/// A row of outputs from the reduced rows of its windows: room.result, and in room.which the taps.
template <class T>
void larger_of_rows(const PoolPlan& plan, std::int64_t z, std::int64_t y, MaxRoom<T>& room) {
  bool is_first = true;
  each_input_row(plan, z, y, [&](std::int64_t place, std::int64_t tap_row) {
    const std::int64_t at = place / plan.in[2] * room.width;
    const T* const most = room.most.data() + at;
    const std::int32_t* const taps = room.taps.data() + at;
    const auto before = static_cast<std::int32_t>(tap_row * plan.kernel[2]);
    if (is_first) {
      is_first = false;
      std::copy_n(most, room.width, room.result.data());
      for (std::int64_t o = 0; o < room.width; ++o) {
        room.which[static_cast<std::size_t>(o)] = before + taps[o];
      }
      return;
    }
    vector_loops<T>().larger_row(most, taps, before, room.result.data(), room.which.data(),
                                 room.width);
  });
  if (!is_first) return;
  std::fill(room.result.begin(), room.result.end(), -std::numeric_limits<T>::infinity());
  std::fill(room.which.begin(), room.which.end(), 0);
}

template <class T>
void keep_taps(const PoolPlan& plan, const MaxRoom<T>& room, void* saved, std::int64_t at) {
  if (bytes_per_tap(plan) == 1) {
    return vector_loops<T>().narrow(room.which.data(), real<std::uint8_t>(saved) + at, plan.out[2]);
  }
  std::copy_n(room.which.begin(), plan.out[2], real<std::int32_t>(saved) + at);
}

/// Adds each gradient of a plane where its maximum lay.
template <class T, class Tap>
void scatter(const PoolPlan& plan, const std::vector<std::int64_t>& tap_places, const T* dy,
             const Tap* taps, T* dx) {
  std::int64_t first = 0, last = plan.out[2];  // windows that hold something
  while (first < last && plan.inside(2, first).count() == 0) ++first;
  while (last > first && plan.inside(2, last - 1).count() == 0) --last;
  for (std::int64_t row = 0; row < plan.out_rows(); ++row) {
    const std::int64_t z = row / plan.out[1], y = row % plan.out[1];
    if (plan.inside(0, z).count() == 0 || plan.inside(1, y).count() == 0) continue;
    const std::int64_t origin =
        (plan.begin(0, z) * plan.in[1] + plan.begin(1, y)) * plan.in[2] - plan.pad[2];
    const T* const from = dy + row * plan.out[2];
    const Tap* const which = taps + row * plan.out[2];
    for (std::int64_t o = first; o < last; ++o) {
      dx[origin + o * plan.stride[2] + tap_places[static_cast<std::size_t>(which[o])]] += from[o];
    }
  }
}

/// Small windows are looked at whole: less is computed when rows are reduced first, but more is
/// stored on the way.
bool is_small(const PoolPlan& plan) { return plan.window() <= 12 && plan.stride[2] <= 2; }

template <class T>
void small_windows_forward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  const T* const x = real<T>(m.inputs[0]);
  const RowLists lists = rows_of_windows(plan);
  const MaxDefaults defaults(plan);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    WindowRows<T> windows(plan, lists, nothing, x);
    std::vector<std::uint8_t> taps(static_cast<std::size_t>(plan.out_plane() + room_behind_rows));
    std::vector<T> room;
    ResultStream<T> stream(real<T>(m.outputs[0]), begin * plan.out_plane(), plan.is_beyond);
    ResultStream<std::uint8_t> kept(real<std::uint8_t>(m.saved), begin * plan.out_plane(),
                                    plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      windows.begin(x + plane * plan.in_plane());
      for (std::int64_t row = 0; row < plan.out_rows(); ++row) {
        const std::vector<WindowRow<T>>& rows = windows.of(row);
        std::uint8_t* const which = taps.data() + row * plan.out[2];
        make_row(stream, room, plan.out[2], [&](T* to) {
          if (rows.empty()) {
            std::fill_n(to, plan.out[2], nothing);
            std::fill_n(which, plan.out[2], std::uint8_t(0));
            return;
          }
          const WindowShape shape{static_cast<std::int64_t>(rows.size()), plan.kernel[2],
                                  plan.dilation[2], plan.stride[2]};
          pool_loops<T>().largest(rows.data(), shape, defaults.taps.data(), to,
                                  m.saved != nullptr ? which : nullptr, plan.out[2]);
        });
      }
      if (m.saved != nullptr) kept.copy(taps.data(), plan.out_plane());
    }
  });
}

template <class T>
void small_windows_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  const SpreadPlan spread(plan);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    RowsHeld<T> gradients = spread.room<T>();
    RowsHeld<std::uint8_t> taps = spread.room<std::uint8_t>();
    std::vector<SpreadRow<T>> rows;
    std::vector<T> room;
    ResultStream<T> stream(real<T>(m.input_gradients[0]), begin * plan.in_plane(), plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const T* const dy = real<T>(m.output_gradients[0]) + plane * plan.out_plane();
      const std::uint8_t* const which = real<std::uint8_t>(m.saved) + plane * plan.out_plane();
      gradients.forget();
      taps.forget();
      for (std::int64_t row = 0; row < plan.in_rows(); ++row) {
        rows.clear();
        for (const auto& [from, tap_row] : spread.holders(row)) {
          gradients.make_up_to(spread.last_with(from), [&](std::int64_t made, T* to) {
            std::copy_n(dy + made * plan.out[2], plan.out[2], to);
          });
          taps.make_up_to(spread.last_with(from), [&](std::int64_t made, std::uint8_t* to) {
            std::copy_n(which + made * plan.out[2], plan.out[2], to);
          });
          rows.push_back(
              {gradients[from], taps[from], static_cast<std::int32_t>(tap_row * plan.kernel[2])});
        }
        make_row(stream, room, plan.in[2], [&](T* to) {
          pool_loops<T>().spread(rows.data(), static_cast<std::int64_t>(rows.size()),
                                 spread.along(), to, plan.in[2]);
        });
      }
    }
  });
}

}  // namespace

template <class T>
void max_pool_forward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  if constexpr (std::is_same_v<T, float>) {
    if (can_pool_rows(plan)) return largest_by_rows(plan, workers, m);
    if (has_windows_of_three(plan)) return largest_of_threes(plan, workers, m);
    if (has_pairs(plan)) return largest_of_pairs(plan, workers, m);
  }
  if (is_small(plan)) return small_windows_forward<T>(plan, workers, m);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    MaxRoom<T> room(plan);
    ResultStream<T> stream(real<T>(m.outputs[0]), begin * plan.out_plane(), plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      reduce_rows(plan, real<T>(m.inputs[0]) + plane * plan.in_plane(), room);
      for (std::int64_t row = 0; row < plan.out_rows(); ++row) {
        larger_of_rows(plan, row / plan.out[1], row % plan.out[1], room);
        stream.copy(room.result.data(), plan.out[2]);
        if (m.saved == nullptr) continue;
        keep_taps(plan, room, m.saved, plane * plan.out_plane() + row * plan.out[2]);
      }
    }
  });
}

template <class T>
void max_pool_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  if (m.input_gradients[0] == nullptr) return;
  if constexpr (std::is_same_v<T, float>) {
    if (can_spread_taps(plan)) return spread_taps(plan, workers, m);
    if (has_windows_of_three(plan)) return largest_of_threes_backward(plan, workers, m);
    if (has_pairs(plan)) return largest_of_pairs_backward(plan, workers, m);
  }
  // With stride 1 every number belongs to as many windows as there are taps: adding where the
  // maxima lay is less work than looking at all of them.
  if (is_small(plan) && plan.stride[2] == 2) {
    return small_windows_backward<T>(plan, workers, m);
  }
  std::vector<std::int64_t> tap_places;  // from the first of a window
  for (std::int64_t kz = 0; kz < plan.kernel[0]; ++kz) {
    for (std::int64_t ky = 0; ky < plan.kernel[1]; ++ky) {
      for (std::int64_t kx = 0; kx < plan.kernel[2]; ++kx) {
        tap_places.push_back((kz * plan.dilation[0] * plan.in[1] + ky * plan.dilation[1]) *
                                 plan.in[2] +
                             kx * plan.dilation[2]);
      }
    }
  }
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> gradient(static_cast<std::size_t>(plan.in_plane()));
    ResultStream<T> stream(real<T>(m.input_gradients[0]), begin * plan.in_plane(), plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const std::int64_t at = plane * plan.out_plane();
      const T* const dy = real<T>(m.output_gradients[0]) + at;
      std::fill(gradient.begin(), gradient.end(), T(0));
      if (bytes_per_tap(plan) == 1) {
        scatter(plan, tap_places, dy, real<std::uint8_t>(m.saved) + at, gradient.data());
      } else {
        scatter(plan, tap_places, dy, real<std::int32_t>(m.saved) + at, gradient.data());
      }
      stream.copy(gradient.data(), plan.in_plane());
    }
  });
}

template void max_pool_forward<float>(const PoolPlan&, const Workers&, const NodeMemory&);
template void max_pool_forward<double>(const PoolPlan&, const Workers&, const NodeMemory&);
template void max_pool_backward<float>(const PoolPlan&, const Workers&, const NodeMemory&);
template void max_pool_backward<double>(const PoolPlan&, const Workers&, const NodeMemory&);

}  // namespace strata::cpu_training
