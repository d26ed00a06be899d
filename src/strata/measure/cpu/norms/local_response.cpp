// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/engine/constants.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace strata::cpu_training {
namespace {

using namespace training_constants;
static_assert(local_response_beta == 0.75, "the loops compute with roots");

/// X is [N, C, space]; a stretch of space at a time, channel after channel, so that the window of
/// channels stays in a cache near by.
struct ResponsePlan {
  std::int64_t batch = 0, channels = 0, space = 0, size = 0;
  bool is_beyond = false;  // the result is larger than the caches
  static constexpr std::int64_t longest = 4096;

  std::int64_t stretches() const { return (space + longest - 1) / longest; }
  std::int64_t stretch() const { return (space + stretches() - 1) / stretches(); }
  template <class T>
  T factor() const {
    return T(local_response_alpha / static_cast<double>(size));
  }
  /// The stream at results + place: where a stretch is all of the space, channels follow each
  /// other.
  template <class T>
  void go_on(std::optional<ResultStream<T>>& stream, T* results, std::int64_t place) const {
    if (!stream || stretches() > 1) stream.emplace(results, place, is_beyond);
  }
  /// Calls work(place of the first number, length) for each stretch, on all threads.
  template <class Work>
  void each_stretch(const Workers& workers, const Work& work) const {
    workers.ranges(batch * stretches(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t left = unit % stretches() * stretch();
        work(unit / stretches() * channels * space + left, std::min(stretch(), space - left));
      }
    });
  }
};

template <class T>
using StretchRow = std::array<T, static_cast<std::size_t>(ResponsePlan::longest)>;

template <class T>
void response_forward(const ResponsePlan& plan, const Workers& workers, const NodeMemory& m) {
  const T* const x = real<T>(m.inputs[0]);
  T *const y = real<T>(m.outputs[0]), *const saved = real<T>(m.saved);
  const VectorLoops<T>& loops = vector_loops<T>();
  plan.each_stretch(workers, [&](std::int64_t at, std::int64_t length) {
    StretchRow<T> unused, zeros;
    zeros.fill(T(0));
    std::vector<const T*> window(static_cast<std::size_t>(plan.size)), part(window);
    std::optional<ResultStream<T>> result, scales;
    for (std::int64_t c = 0; c < plan.channels; ++c) {
      const std::int64_t first = std::max<std::int64_t>(0, c - plan.size / 2);
      const std::int64_t last = std::min(c - plan.size / 2 + plan.size, plan.channels);
      for (std::int64_t k = first; k < last; ++k) {
        window[static_cast<std::size_t>(k - first)] = x + at + k * plan.space;
      }
      const std::int64_t place = at + c * plan.space;
      plan.go_on(result, y, place);
      plan.go_on(scales, saved, place);
      result->pieces(length, [&](std::int64_t i, std::int64_t count, T* to) {
        if (last < plan.channels) fetch_following(x + at + last * plan.space + i, count);
        // At the edges zeros stand for channels that are not there.
        for (std::int64_t k = 0; k < plan.size; ++k) {
          const auto row = static_cast<std::size_t>(k);
          part[row] = k < last - first ? window[row] + i : zeros.data();
        }
        loops.respond(part.data(), plan.size, x + place + i, T(local_response_k), plan.factor<T>(),
                      to, saved != nullptr ? scales->next(count) : unused.data(), count);
      });
    }
  });
}

/// dx = dy·t^−β − 2αβ/size · x · Σ over the windows that hold the channel of dy·y/t
template <class T>
void response_backward(const ResponsePlan& plan, const Workers& workers, const NodeMemory& m) {
  T* const dx = real<T>(m.input_gradients[0]);
  if (dx == nullptr) return;
  const T *const x = real<T>(m.inputs[0]), *const saved = real<T>(m.saved);
  const T *const y = real<T>(m.outputs[0]), *const dy = real<T>(m.output_gradients[0]);
  const T factor = T(2 * local_response_beta) * plan.factor<T>();
  const VectorLoops<T>& loops = vector_loops<T>();
  plan.each_stretch(workers, [&](std::int64_t at, std::int64_t length) {
    // What of the last `size` channels is still needed.
    std::vector<T> room(static_cast<std::size_t>(2 * plan.size * length));
    const auto ratio = [&](std::int64_t c) { return room.data() + c % plan.size * length; };
    const auto scaled = [&](std::int64_t c) { return ratio(c) + plan.size * length; };
    StretchRow<T> zeros;
    zeros.fill(T(0));
    std::vector<const T*> window(static_cast<std::size_t>(plan.size));
    std::optional<ResultStream<T>> result;
    std::int64_t made = 0;
    for (std::int64_t c = 0; c < plan.channels; ++c) {
      const std::int64_t last = std::min(c + plan.size / 2, plan.channels - 1);
      for (; made <= last; ++made) {
        const std::int64_t place = at + made * plan.space;
        loops.response_terms(dy + place, y + place, saved + place, ratio(made), scaled(made),
                             length);
      }
      const std::int64_t first = c + plan.size / 2 - plan.size + 1;
      const std::int64_t place = at + c * plan.space;
      plan.go_on(result, dx, place);
      result->pieces(length, [&](std::int64_t i, std::int64_t count, T* to) {
        if (made < plan.channels) {
          const std::int64_t next = at + made * plan.space + i;
          for (const T* from : {dy, y, saved}) fetch_following(from + next, count);
          fetch_following(x + place + plan.space + i, count);
        }
        for (std::int64_t k = 0; k < plan.size; ++k) {
          const bool is_there = first + k >= 0 && first + k <= last;
          window[static_cast<std::size_t>(k)] = is_there ? ratio(first + k) + i : zeros.data();
        }
        loops.response_gradient(window.data(), plan.size, scaled(c) + i, x + place + i, factor, to,
                                count);
      });
    }
  });
}

}  // namespace

KernelsOrReason make_kernels(const LocalResponseNorm& op, const Setting& s) {
  ResponsePlan plan{.batch = s.input()[0], .channels = s.input()[1], .size = op.size};
  plan.space = s.input().elements / (plan.batch * plan.channels);
  plan.is_beyond = is_beyond_caches(s.output().bytes);
  return with_real(s.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    const Workers& workers = s.workers;
    return kernels_by(
        {[=, &workers](const NodeMemory& m) { response_forward<T>(plan, workers, m); },
         [=, &workers](const NodeMemory& m) { response_backward<T>(plan, workers, m); },
         {.inputs = true, .outputs = true, .saved_bytes = s.wants(0) ? s.input().bytes : 0}},
        s);
  });
}

}  // namespace strata::cpu_training
