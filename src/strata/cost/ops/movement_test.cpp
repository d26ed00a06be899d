// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"

#include <functional>

namespace strata::naive {
namespace {

/// Y[at] = X[source_of(at)], or zero where there is no source.
template <class Op>
struct NaiveMove {
  Op op;
  std::function<std::optional<Index>(const Index& at)> source_of;
  bool is_one_to_one = true;

  template <class T>
  void forward(Run<T>& run) const {
    for_each_index(run.output().shape(), [&](const Index& at) {
      const std::optional<Index> source = source_of(at);
      run.output().set(at, source ? run.input(0)(*source) : T(0));
    });
  }

  template <class T>
  void backward(Run<T>& run) const {
    if (!run.wants(0)) return;
    Buffer<T> dx(run.input(0).shape());
    for_each_index(run.output().shape(), [&](const Index& at) {
      const std::optional<Index> source = source_of(at);
      if (!source) return;
      if (is_one_to_one) {
        dx[*source] = run.output_gradient()(at);
      } else {
        dx[*source] += run.output_gradient()(at);
      }
    });
    run.input_gradient(0).set_all(dx);
  }
};

/// Nothing moves.
template <class Op>
struct NaiveAlias {
  Op op;

  template <class T>
  void forward(Run<T>& run) const {
    run.alias_output();
  }
  template <class T>
  void backward(Run<T>& run) const {
    run.alias_gradient(0);
  }
};

TEST(TransposeCost, equals_the_loops) {
  for_random_cases(50, [](Random& random) {
    const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
    std::vector<std::size_t> axes(x.size());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = axes.size() - 1 - i;
    Transpose op;
    if (random.coin()) {
      for (std::size_t i = axes.size(); i-- > 1;) {
        std::swap(axes[i],
                  axes[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i)))]);
      }
      for (const std::size_t axis : axes) op.permutation.push_back(static_cast<std::int64_t>(axis));
    }
    const auto source_of = [&](const Index& at) {
      Index source(at.size());
      for (std::size_t i = 0; i < at.size(); ++i) source[axes[i]] = at[i];
      return source;
    };
    check(NaiveMove<Transpose>{op, source_of}, {{x, any_role(random)}},
          {.dtype = any_dtype(random)});
  });
}

TEST(ChannelShuffleCost, equals_the_loops) {
  for_random_cases(50, [](Random& random) {
    const ChannelShuffle op{random.between(1, 3)};
    const std::int64_t per_group = random.between(1, 3);
    const Index x = joined({random.between(1, 2), op.groups * per_group},
                           random.shape(static_cast<std::size_t>(random.between(0, 2)), 3));
    const auto source_of = [&](const Index& at) {
      return with(at, 1, at[1] % op.groups * per_group + at[1] / op.groups);
    };
    check(NaiveMove<ChannelShuffle>{op, source_of}, {{x, any_role(random)}},
          {.dtype = any_dtype(random)});
  });
}

TEST(SpaceToDepthCost, equals_the_loops) {
  for_random_cases(50, [](Random& random) {
    const SpaceToDepth op{random.between(1, 3), random.coin()};
    const std::int64_t b = op.block, channels = random.between(1, 2), height = random.between(1, 3),
                       width = random.between(1, 3);
    const Index deep = {random.between(1, 2), channels * b * b, height, width};
    const Index wide = {deep[0], channels, height * b, width * b};
    const auto source_of = [&](const Index& at) -> Index {
      if (op.inverse)
        return {at[0], (at[2] % b * b + at[3] % b) * channels + at[1], at[2] / b, at[3] / b};
      const std::int64_t block = at[1] / channels;
      return {at[0], at[1] % channels, at[2] * b + block / b, at[3] * b + block % b};
    };
    check(NaiveMove<SpaceToDepth>{op, source_of}, {{op.inverse ? deep : wide, any_role(random)}},
          {.dtype = any_dtype(random)});
  });
}

TEST(SliceCost, equals_the_loops) {
  for_random_cases(100, [](Random& random) {
    const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 6);
    Slice op;
    Index first(x.size(), 0), step(x.size(), 1);
    for (std::size_t axis = 0; axis < x.size(); ++axis) {
      if (random.coin()) continue;
      const std::int64_t from = random.between(0, x[axis] - 1), to = random.between(0, x[axis] - 1);
      const std::int64_t stride = random.between(1, 3);
      first[axis] = from;
      step[axis] = to >= from ? stride : -stride;
      op.axes.push_back(static_cast<std::int64_t>(axis));
      op.begin.push_back(random.coin() ? from : from - x[axis]);  // −1 is the last
      op.end.push_back(to >= from ? to + 1 : to == 0 ? -x[axis] - 1 : to - 1);
      op.step.push_back(step[axis]);
    }
    const auto source_of = [&](const Index& at) {
      Index source = first;
      for (std::size_t axis = 0; axis < at.size(); ++axis) source[axis] += at[axis] * step[axis];
      return source;
    };
    check(NaiveMove<Slice>{op, source_of}, {{x, any_role(random)}},
          {.touch = Touch::parts, .dtype = any_dtype(random)});
  });
}

TEST(PadCost, equals_the_loops) {
  for_random_cases(100, [](Random& random) {
    const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
    Pad op;
    for (const std::int64_t extent : x) {
      // Anything that leaves an output, also one of padding alone.
      op.begin.push_back(random.between(-extent - 1, 3));
      op.end.push_back(std::max(random.between(-extent - 1, 3), 1 - extent - op.begin.back()));
    }
    const auto source_of = [&](const Index& at) -> std::optional<Index> {
      Index source = at;
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        source[axis] -= op.begin[axis];
        if (source[axis] < 0 || source[axis] >= x[axis]) return std::nullopt;
      }
      return source;
    };
    check(NaiveMove<Pad>{op, source_of}, {{x, any_role(random)}},
          {.touch = Touch::parts, .dtype = any_dtype(random)});
  });
}

TEST(ExpandCost, equals_the_loops) {
  for_random_cases(60, [](Random& random) {
    Index x = random.shape(static_cast<std::size_t>(random.between(1, 3)), 3);
    Expand op;
    if (random.coin()) op.shape.push_back(random.between(1, 3));  // a new leading axis
    const bool has_lead = !op.shape.empty();
    for (std::int64_t& extent : x) {
      op.shape.push_back(extent);
      extent = random.coin() ? 1 : extent;
    }
    const bool is_equal = elements_of(x) == [&] {
      std::int64_t elements = 1;
      for (const Dim extent : op.shape) elements *= extent.factor;
      return elements;
    }();
    const Source source{x, any_role(random)};
    if (is_equal) return check(NaiveAlias<Expand>{op}, {source});
    const auto source_of = [&](const Index& at) { return has_lead ? part(at, 1, at.size()) : at; };
    check(NaiveMove<Expand>{op, source_of, false}, {source}, {.dtype = any_dtype(random)});
  });
}

TEST(ReshapeCost, nothing_moves) {
  for_random_cases(50, [](Random& random) {
    const Index x = random.shape(static_cast<std::size_t>(random.between(2, 4)), 4);
    check(NaiveAlias<Reshape>{{Shape{0, -1}}}, {{x, any_role(random)}});
    check(NaiveAlias<Flatten>{{random.between(0, 1)}}, {{x, any_role(random)}});
  });
}

/// Y = the inputs one after the other along an axis.
struct NaiveConcat {
  Concat op;
  std::size_t axis;

  template <class T>
  void forward(Run<T>& run) const {
    for_each_move(run, [&](std::size_t i, const Index& from, const Index& to) {
      run.output().set(to, run.input(i)(from));
    });
  }
  template <class T>
  void backward(Run<T>& run) const {
    for_each_move(run, [&](std::size_t i, const Index& from, const Index& to) {
      if (run.wants(i)) run.input_gradient(i).set(from, run.output_gradient()(to));
    });
  }

 private:
  template <class T, class F>
  void for_each_move(Run<T>& run, F f) const {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < run.input_count(); ++i) {
      for_each_index(run.input(i).shape(),
                     [&](const Index& at) { f(i, at, with(at, axis, begin + at[axis])); });
      begin += run.input(i)[axis];
    }
  }
};

TEST(ConcatCost, equals_the_loops) {
  for_random_cases(80, [](Random& random) {
    const Index shape = random.shape(static_cast<std::size_t>(random.between(1, 4)), 3);
    const std::int64_t axis = random.between(0, static_cast<std::int64_t>(shape.size()) - 1);
    std::vector<Source> sources;
    const std::int64_t inputs = random.rarely(10) ? 20 : random.between(1, 4);
    for (std::int64_t i = 0; i < inputs; ++i) {
      sources.push_back(
          {with(shape, static_cast<std::size_t>(axis), random.between(1, 3)), any_role(random)});
    }
    check(NaiveConcat{{random.coin() ? axis : axis - static_cast<std::int64_t>(shape.size())},
                      static_cast<std::size_t>(axis)},
          sources, {.touch = Touch::parts, .dtype = any_dtype(random)});
  });
}

struct NaiveSplit {
  Split op;
  std::size_t axis;

  template <class T>
  void forward(Run<T>& run) const {
    for_each_move(run, [&](std::size_t i, const Index& from, const Index& to) {
      run.output(i).set(to, run.input(0)(from));
    });
  }
  template <class T>
  void backward(Run<T>& run) const {
    if (!run.wants(0)) return;
    for_each_move(run, [&](std::size_t i, const Index& from, const Index& to) {
      run.input_gradient(0).set(from, run.has_gradient(i) ? run.output_gradient(i)(to) : T(0));
    });
  }

 private:
  template <class T, class F>
  void for_each_move(Run<T>& run, F f) const {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < run.output_count(); ++i) {
      for_each_index(run.output(i).shape(),
                     [&](const Index& at) { f(i, with(at, axis, begin + at[axis]), at); });
      begin += run.output(i)[axis];
    }
  }
};

TEST(SplitCost, equals_the_loops) {
  for_random_cases(80, [](Random& random) {
    Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 3);
    const std::int64_t axis = random.between(0, static_cast<std::int64_t>(x.size()) - 1);
    Split op{.axis = axis};
    std::vector<bool> used = {true};
    std::int64_t extent = 0;
    const std::int64_t parts = random.between(1, 4), equal = random.between(1, 3);
    const bool are_equal = random.coin();
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t size = are_equal ? equal : random.between(1, 3);
      extent += size;
      if (!are_equal) op.sizes.push_back(size);
      if (i > 0) used.push_back(random.coin());
    }
    if (are_equal) op.parts = parts;
    x[static_cast<std::size_t>(axis)] = extent;
    check(NaiveSplit{op, static_cast<std::size_t>(axis)}, {{x, any_role(random)}},
          {.dtype = any_dtype(random), .used_outputs = used});
  });
}

}  // namespace
}  // namespace strata::naive
