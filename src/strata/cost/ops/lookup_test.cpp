// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"

#include <cmath>

namespace strata::naive {
namespace {

/// Neighbours of output i along one axis and how much each weighs; centres of pixels are aligned,
/// edges are repeated.
struct Taps {
  Index places;
  std::vector<double> weights;
};

Taps taps_of(ResizeKind kind, std::int64_t in, std::int64_t out, std::int64_t i) {
  if (in == out) return {{i}, {1}};
  if (kind == ResizeKind::nearest) return {{i * in / out}, {1}};
  const double centre =
      (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
  const double floor = std::floor(centre), beyond = centre - floor;
  Taps taps;
  for (const std::int64_t k : kind == ResizeKind::linear ? Index{0, 1} : Index{-1, 0, 1, 2}) {
    taps.places.push_back(
        std::clamp<std::int64_t>(static_cast<std::int64_t>(floor) + k, 0, in - 1));
    const double d = std::fabs(beyond - static_cast<double>(k)),
                 a = -0.75;  // Keys' cubic convolution
    taps.weights.push_back(kind == ResizeKind::linear ? 1 - d
                           : d <= 1                   ? (a + 2) * d * d * d - (a + 3) * d * d + 1
                                    : a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a);
  }
  return taps;
}

struct NaiveResize {
  Resize op;

  template <class T>
  void forward(Run<T>& run) const {
    if (run.input(0).shape() == run.output().shape()) return run.alias_output();
    for_each_index(run.output().shape(), [&](const Index& at) {
      T sum = 0;
      for_each_tap(run, at, [&](const Index& place, double weight) {
        sum = op.kind == ResizeKind::nearest ? run.input(0)(place)
                                             : sum + run.input(0)(place) * T(weight);
      });
      run.output().set(at, sum);
    });
  }

  template <class T>
  void backward(Run<T>& run) const {
    if (run.input(0).shape() == run.output().shape()) return run.alias_gradient(0);
    if (!run.wants(0)) return;
    Buffer<T> dx(run.input(0).shape());
    for_each_index(run.output().shape(), [&](const Index& at) {
      const T dy = run.output_gradient()(at);
      for_each_tap(run, at, [&](const Index& place, double weight) {
        dx[place] += op.kind == ResizeKind::nearest ? dy : dy * T(weight);
      });
    });
    run.input_gradient(0).set_all(dx);
  }

 private:
  template <class T, class F>
  void for_each_tap(Run<T>& run, const Index& at, F f) const {
    std::vector<Taps> taps;
    Index counts;
    for (std::size_t axis = 2; axis < at.size(); ++axis) {
      taps.push_back(taps_of(op.kind, run.input(0)[axis], run.output()[axis], at[axis]));
      counts.push_back(static_cast<std::int64_t>(taps.back().places.size()));
    }
    for_each_index(counts, [&](const Index& choice) {
      Index place = {at[0], at[1]};
      double weight = 1;  // follows from the shapes: not counted
      for (std::size_t axis = 0; axis < choice.size(); ++axis) {
        const auto k = static_cast<std::size_t>(choice[axis]);
        place.push_back(taps[axis].places[k]);
        weight *= taps[axis].weights[k];
      }
      f(place, weight);
    });
  }
};

TEST(ResizeCost, equals_the_loops) {
  for_random_cases(150, [](Random& random) {
    Resize op{.kind = random.pick({ResizeKind::nearest, ResizeKind::linear, ResizeKind::cubic})};
    const auto axes = static_cast<std::size_t>(random.between(1, 3));
    const Index x = joined(random.shape(2, 2), random.shape(axes, 4));
    const bool has_scale = random.coin();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      (has_scale ? op.scale : op.output)
          .push_back(has_scale ? random.between(1, 3) : random.between(1, 5));
    }
    // Making an image smaller passes pixels over.
    check(NaiveResize{op}, {{x, any_role(random)}},
          {.touch = Touch::gaps, .dtype = any_dtype(random)});
  });
}

/// Y[…, j] = table[index[…], j]
struct NaiveEmbedding {
  Embedding op;

  template <class T>
  void forward(Run<T>& run) const {
    for_each_index(run.output().shape(), [&](const Index& at) {
      run.output().set(at, run.own(0)({row(run, at), at.back()}));
    });
  }
  template <class T>
  void backward(Run<T>& run) const {
    if (!run.wants(run.first_own())) return;
    Buffer<T> gradient(run.own(0).shape());
    for_each_index(run.output().shape(), [&](const Index& at) {
      gradient[{row(run, at), at.back()}] += run.output_gradient()(at);
    });
    run.input_gradient(run.first_own()).set_all(gradient);
  }

 private:
  template <class T>
  static std::int64_t row(Run<T>& run, const Index& at) {
    return whole(run.input(0)(part(at, 0, at.size() - 1)));
  }
};

TEST(EmbeddingCost, equals_the_loops) {
  for_random_cases(80, [](Random& random) {
    const Embedding op{.vocabulary = random.between(1, 12), .width = random.between(1, 4)};
    Source indices{random.shape(static_cast<std::size_t>(random.between(1, 3)), 4),
                   Role::network_input, random.pick({DType::int64, DType::int32})};
    indices.indices_below = op.vocabulary;
    check(NaiveEmbedding{op}, {indices}, {.touch = Touch::parts, .dtype = any_dtype(random)});
  });
}

TEST(EmbeddingCost, keeps_its_indices) {
  const Subject subject(Embedding{.vocabulary = 10, .width = 4},
                        {{{2, 3}, Role::network_input, DType::int64}}, {});
  const Kept kept =
      kept_for_backward(subject.bound, subject.node, cost_of(subject.bound, subject.node));
  EXPECT_EQ(kept.text, "indices");
  EXPECT_EQ(kept.bytes, 2 * 3 * 8);
}

struct NaiveGather {
  Gather op;
  std::size_t axis;

  template <class T>
  void forward(Run<T>& run) const {
    for_each_index(run.output().shape(),
                   [&](const Index& at) { run.output().set(at, run.input(0)(source(run, at))); });
  }
  template <class T>
  void backward(Run<T>& run) const {
    if (!run.wants(0)) return;
    Buffer<T> gradient(run.input(0).shape());
    for_each_index(run.output().shape(), [&](const Index& at) {
      gradient[source(run, at)] += run.output_gradient()(at);
    });
    run.input_gradient(0).set_all(gradient);
  }

 private:
  template <class T>
  Index source(Run<T>& run, const Index& at) const {
    const std::size_t end = axis + run.input(1).axes();
    const std::int64_t chosen = whole(run.input(1)(part(at, axis, end)));
    return joined(joined(part(at, 0, axis), {chosen}), part(at, end, at.size()));
  }
};

TEST(GatherCost, equals_the_loops) {
  for_random_cases(80, [](Random& random) {
    const Index data = random.shape(static_cast<std::size_t>(random.between(1, 3)), 4);
    const std::int64_t axis = random.between(0, static_cast<std::int64_t>(data.size()) - 1);
    Source indices{random.shape(static_cast<std::size_t>(random.between(0, 2)), 3),
                   Role::network_input, DType::int64};
    indices.indices_below = data[static_cast<std::size_t>(axis)];
    const Gather op{random.coin() ? axis : axis - static_cast<std::int64_t>(data.size())};
    check(NaiveGather{op, static_cast<std::size_t>(axis)}, {{data, any_role(random)}, indices},
          {.touch = Touch::parts, .dtype = any_dtype(random)});
  });
}

}  // namespace
}  // namespace strata::naive
