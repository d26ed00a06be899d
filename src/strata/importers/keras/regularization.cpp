// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/layers.hpp"

namespace strata::keras {

// Also the kinds that drop whole channels or steps: the mask is smaller, the product is the same.
Values make_dropout(LayerCall& call) {
  const Value x = call.only_input();
  const double rate = call.config.number({"rate", "p"}, 0.5);
  if (rate == 0) return {call.unchanged(x)};
  return {{call.add(Dropout{.probability = rate}, {x.id}), x.channels_at}};
}

Values make_noise(LayerCall& call) {
  call.note(WarningCode::part_ignored, "noise that training adds is not counted");
  return {call.unchanged(call.only_input())};
}

Values make_augmentation(LayerCall& call) {
  call.note(WarningCode::part_ignored, "augmentation of the input by training is not counted");
  return {call.unchanged(call.only_input())};
}

Values make_unchanged(LayerCall& call) { return {call.unchanged(call.only_input())}; }

}  // namespace strata::keras
