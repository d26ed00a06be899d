// SPDX-License-Identifier: Apache-2.0
#include "strata/training/synthetic.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <limits>

namespace strata {
namespace {

constexpr std::int64_t megabyte = std::int64_t{1} << 20;

class Chain {
 public:
  explicit Chain(std::uint32_t layers) : layers_(layers) {
    program_.samples = 1;
    program_.steps.reserve(std::size_t{2} * layers);
    program_.uses.reserve(std::size_t{8} * layers);
    program_.values.reserve(std::size_t{4} * layers + 2);
  }

  Program program() && {
    add(ValueKind::input, 0, true);
    for (std::uint32_t i = 0; i < layers_; ++i) {
      add(ValueKind::feature, i + 1, false);
      add(ValueKind::weight, i, true);
    }
    for (std::uint32_t i = 0; i < layers_; ++i) {
      begin(i, Pass::forward);
      use(feature(i), true, false);
      use(weight(i), true, false);
      use(feature(i + 1), false, true);
    }
    ValueId above = add(ValueKind::gradient, layers_, true);
    for (std::uint32_t i = layers_; i-- > 0;) {
      begin(i, Pass::backward);
      use(feature(i), true, false);
      use(above, true, false);
      use(weight(i), true, false);
      const ValueId weight_gradient = add(ValueKind::weight_gradient, i, false);
      program_.values[weight_gradient].is_result = true;
      use(weight_gradient, false, true);
      if (i == 0) break;
      above = add(ValueKind::gradient, i, false);
      use(above, false, true);
    }
    return std::move(program_);
  }

 private:
  static ValueId feature(std::uint32_t i) { return i == 0 ? 0 : 2 * i - 1; }
  static ValueId weight(std::uint32_t i) { return 2 * i + 2; }

  // Sizes differ from layer to layer, so that room is never left or missing everywhere at once.
  ValueId add(ValueKind kind, std::uint32_t layer, bool is_given) {
    const bool is_weight = kind == ValueKind::weight || kind == ValueKind::weight_gradient;
    const std::int64_t bytes = (is_weight ? megabyte / 4 : megabyte) * (1 + layer % 7);
    program_.values.push_back({.kind = kind,
                               .is_given = is_given,
                               .tensor = layer,
                               .bytes = bytes,
                               .row_bytes = bytes / 64});
    return static_cast<ValueId>(program_.values.size() - 1);
  }

  void begin(std::uint32_t layer, Pass pass) {
    const bool is_dense = layer % 3 == 0;
    const std::int64_t mac = is_dense ? megabyte * 16 * (1 + layer % 7) : 0;
    program_.steps.push_back({.pass = pass,
                              .layer_class = is_dense ? LayerClass::dense : LayerClass::pointwise,
                              .first_use = static_cast<std::uint32_t>(program_.uses.size()),
                              .flop = 2 * mac + megabyte,
                              .mac = mac});
  }

  void use(ValueId value, bool reads, bool writes) {
    program_.uses.push_back({value, reads, writes});
  }

  std::uint32_t layers_;
  Program program_;
};

}  // namespace

Program chain_program(std::size_t steps) {
  constexpr std::size_t longest = std::numeric_limits<std::uint32_t>::max() / 8;
  if (steps > longest)
    fail(ErrorKind::usage, "a chain of {} steps is too long: at most {}", steps, longest);
  return Chain(static_cast<std::uint32_t>(std::max<std::size_t>(steps / 2, 1))).program();
}

}  // namespace strata
