// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/thesis_example.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace strata {
namespace {

constexpr std::size_t example_layers = 4;
constexpr std::int64_t example_mb = 1'000'000;
constexpr std::array<std::int64_t, example_layers> example_weight_mb = {2, 2, 2, 8};
constexpr std::array<std::int64_t, example_layers> example_forward_ms = {4, 4, 2, 4};
constexpr std::int64_t example_map_mb = 4;

class ExampleBuilder {
 public:
  Program build() && {
    for (std::size_t i = 0; i < example_layers; ++i)
      weights_[i] = add_value(ValueKind::weight, example_weight_mb[i], true, false);
    maps_[0] = add_value(ValueKind::input, example_map_mb, true, false);
    for (std::size_t i = 0; i < example_layers; ++i) {
      maps_[i + 1] = add_value(ValueKind::feature, example_map_mb, false, false);
      add_step(Pass::forward, example_forward_ms[i]);
      read(maps_[i]);
      read(weights_[i]);
      write(maps_[i + 1]);
    }
    ValueId gradient = maps_[example_layers];  // the loss's stands where the output was
    for (std::size_t i = example_layers; i-- > 0;) {
      const ValueId weight_gradient =
          add_value(ValueKind::weight_gradient, example_weight_mb[i], false, true);
      const bool is_first = i == 0;
      add_step(Pass::backward, (is_first ? 1 : 2) * example_forward_ms[i]);
      read(maps_[i]);
      read(gradient);
      read(weights_[i]);
      write(weight_gradient);
      if (is_first) continue;
      gradient = add_value(ValueKind::gradient, example_map_mb, false, false);
      write(gradient);
    }
    return std::move(program_);
  }

 private:
  ValueId add_value(ValueKind kind, std::int64_t megabytes, bool is_given, bool is_result) {
    program_.values.push_back({.kind = kind,
                               .is_given = is_given,
                               .is_result = is_result,
                               .bytes = megabytes * example_mb,
                               .row_bytes = megabytes * example_mb / 100});
    return static_cast<ValueId>(program_.values.size() - 1);
  }
  void add_step(Pass pass, std::int64_t milliseconds) {
    program_.steps.push_back({.pass = pass,
                              .layer_class = LayerClass::dense,
                              .first_use = static_cast<std::uint32_t>(program_.uses.size()),
                              .flop = milliseconds});
  }
  void read(ValueId value) { program_.uses.push_back({value, true, false}); }
  void write(ValueId value) { program_.uses.push_back({value, false, true}); }

  Program program_;
  std::array<ValueId, example_layers> weights_{};
  std::array<ValueId, example_layers + 1> maps_{};
};

}  // namespace

Program thesis_example() { return ExampleBuilder().build(); }

// 1 MB takes 1 ms, and so does an operation.
Hardware thesis_example_hardware() {
  return {.capacity_bytes = 29 * example_mb,
          .bytes_per_s = 1e9,
          .dense_flop_per_s = 1e3,
          .other_flop_per_s = 1e3};
}

std::string thesis_example_layer(StepId step) {
  return fmt::format("Layer {}", step < example_layers ? step + 1 : 2 * example_layers - step);
}

std::string thesis_example_name(StepId step) {
  return thesis_example_layer(step) + (step < example_layers ? "" : " backward");
}

// In the order in which they are made: weights, maps, then per layer from the last the gradients of
// its weight and of what it reads.
std::string thesis_example_name_of_value(ValueId value) {
  constexpr std::size_t maps = example_layers + 1;
  if (value < example_layers) return fmt::format("W{}", value + 1);
  if (value < example_layers + maps) return fmt::format("X{}", value - example_layers + 1);
  const std::size_t gradient = value - example_layers - maps;
  return fmt::format("d{}{}", gradient % 2 == 0 ? "W" : "X", example_layers - gradient / 2);
}

}  // namespace strata
