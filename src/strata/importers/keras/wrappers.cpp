// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"
#include "strata/importers/keras/network.hpp"

#include <algorithm>
#include <array>

namespace strata::keras {
namespace {

// These treat every step alike without being told so.
constexpr std::array<std::string_view, 6> stepwise = {"Dense",     "Activation", "Dropout",
                                                      "LeakyReLU", "ReLU",       "ELU"};

Layer& inner_of(LayerCall& call) {
  if (call.layer.inner == nullptr) {
    fail(ErrorKind::input, "expected an object for 'layer', got nothing");
  }
  return *call.layer.inner;
}

}  // namespace

// Every step is a sample: time is folded into the batch, and out again.
Values make_time_distributed(LayerCall& call) {
  Layer& inner = inner_of(call);
  Value x = call.only_input();
  const bool is_stepwise =
      std::find(stepwise.begin(), stepwise.end(), inner.class_name) != stepwise.end();
  if (is_stepwise) return apply_inside(call, inner, {x});

  const std::size_t rank = call.rank(x);
  if (rank < 3) {
    fail(ErrorKind::input, "expected an input of at least 3 axes, got {}",
         call.net.text(call.shape(x)));
  }
  if (x.channels_at == 1) x = call.with_channels_at(x, rank > 3 ? 2 : 0);
  const Shape stored = call.net.stored(x);
  const std::span<const Dim> extents = stored;
  Shape folded = {call.net.symbols().multiply(stored[0], stored[1])};
  for (const Dim extent : extents.subspan(2)) folded.push_back(extent);
  const std::size_t folded_channels_at = x.channels_at == 2 ? 1 : 0;
  const Value samples{call.add(Reshape{folded}, {x.id}, "fold"), folded_channels_at};

  Values results = apply_inside(call, inner, {samples});
  for (Value& result : results) {
    const Shape made = call.net.stored(result);
    const std::span<const Dim> rest = made;
    Shape unfolded = {stored[0], stored[1]};
    for (const Dim extent : rest.subspan(1)) unfolded.push_back(extent);
    result = {call.add(Reshape{unfolded}, {result.id}, "unfold"),
              result.channels_at == 1 ? std::size_t{2} : 0};
  }
  return results;
}

// Spectral normalisation and the like: what they do to the weights is not counted.
Values make_wrapper(LayerCall& call) {
  call.note(WarningCode::operator_not_counted, "what the wrapper does to weights is not counted");
  return apply_inside(call, inner_of(call), call.inputs);
}

}  // namespace strata::keras
