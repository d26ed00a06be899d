// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/layout.hpp"

namespace strata::keras {

std::size_t stored_axis(std::size_t axis, std::size_t rank, std::size_t channels_at) {
  if (channels_at == 0 || axis < channels_at) return axis;
  return axis == rank - 1 ? channels_at : axis + 1;
}

Shape stored_shape(const Shape& keras, std::size_t channels_at) {
  Shape stored = keras;
  for (std::size_t axis = 0; axis < keras.size(); ++axis) {
    stored[stored_axis(axis, keras.size(), channels_at)] = keras[axis];
  }
  return stored;
}

Shape keras_shape(const Shape& stored, std::size_t channels_at) {
  Shape keras = stored;
  for (std::size_t axis = 0; axis < keras.size(); ++axis) {
    keras[axis] = stored[stored_axis(axis, keras.size(), channels_at)];
  }
  return keras;
}

Axes permutation_between(std::size_t rank, std::size_t from_channels_at,
                         std::size_t to_channels_at) {
  Axes permutation(rank, 0);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    permutation[stored_axis(axis, rank, to_channels_at)] =
        static_cast<std::int64_t>(stored_axis(axis, rank, from_channels_at));
  }
  return permutation;
}

bool moves_nothing(const Axes& permutation, const Shape& shape) {
  std::int64_t last = -1;
  for (const std::int64_t axis : permutation) {
    if (shape[static_cast<std::size_t>(axis)].is(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace strata::keras
