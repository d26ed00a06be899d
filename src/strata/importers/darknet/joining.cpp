// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/darknet/sections.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

namespace strata::darknet {
namespace {

/// Outputs of the sections that the key lists.
std::vector<TensorId> listed(const Section& section, std::string_view key, Assembly& net) {
  std::vector<TensorId> tensors;
  for (const std::int64_t number : section.numbers(key)) {
    tensors.push_back(net.made(net.section_at(key, number)).output);
  }
  if (tensors.empty()) {
    fail(ErrorKind::input, "key '{}' is missing: the sections to read from", key);
  }
  return tensors;
}

// One of `groups` equal parts of the channels.
TensorId channel_group(TensorId x, std::int64_t groups, std::int64_t group, Assembly& net) {
  const std::int64_t part = net.builder().extent(x, 1) / groups;
  const Slice slice{.axes = {1}, .begin = {part * group}, .end = {part * (group + 1)}, .step = {}};
  return net.builder().add(net.numbered("group"), slice, {x});
}

// A shortcut between images of different sizes adds what they have in common: the first channels,
// and every second, third … pixel of the larger one (shortcut_cpu in blas.c).
TensorId fitted(TensorId from, TensorId to, Assembly& net) {
  GraphBuilder& builder = net.builder();
  if (builder.type(from).shape == builder.type(to).shape) return from;
  if (net.axes(from) != 4 || net.axes(to) != 4) {
    fail(ErrorKind::input, "expected images to add, got {} and {}",
         text_of(builder.type(from).shape, builder.symbols()),
         text_of(builder.type(to).shape, builder.symbols()));
  }
  Slice slice;
  for (const std::int64_t axis : {2, 3}) {
    const std::int64_t ratio = builder.extent(from, axis) / builder.extent(to, axis);
    if (ratio < 1 || builder.extent(from, axis) % builder.extent(to, axis) != 0) {
      fail(ErrorKind::unsupported, "a shortcut from {} to {}: sizes must be multiples",
           text_of(builder.type(from).shape, builder.symbols()),
           text_of(builder.type(to).shape, builder.symbols()));
    }
    if (ratio == 1) continue;
    slice.axes.push_back(axis);
    slice.begin.push_back(0);
    slice.end.push_back(builder.extent(from, axis));
    slice.step.push_back(ratio);
  }
  const std::int64_t surplus = builder.extent(from, 1) - builder.extent(to, 1);
  if (surplus > 0) {
    slice.axes.push_back(1);
    slice.begin.push_back(0);
    slice.end.push_back(builder.extent(to, 1));
    slice.step.push_back(1);
  }
  if (!slice.axes.empty()) from = builder.add(net.numbered("fit"), slice, {from});
  if (surplus < 0) {
    from = builder.add(net.numbered("fill"), Pad{{0, 0, 0, 0}, {0, -surplus, 0, 0}}, {from});
  }
  return from;
}

// AlexeyAB's weighted shortcut: a learnt factor per input, or per input and channel. Normalising
// these few numbers is not worth a node.
void weigh(const Section& section, std::vector<TensorId>& terms, Assembly& net) {
  const std::string_view type = section.word("weights_type", "none");
  if (type == "none") return;
  const bool is_per_channel = type == "per_channel";
  if (!is_per_channel && type != "per_feature" && type != "per_layer") {
    fail(ErrorKind::input, "key 'weights_type': expected none, per_feature or per_channel, got {}",
         network::in_quotes(type));
  }
  GraphBuilder& builder = net.builder();
  Shape shape{is_per_channel ? builder.extent(terms[0], 1) : 1};
  if (is_per_channel && net.axes(terms[0]) == 4) shape = {shape[0], 1, 1};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const TensorId weight =
        builder.stored(fmt::format("{}.weight{}", net.numbered("shortcut"), i), shape);
    const Elementwise multiply{ElementwiseKind::multiply};
    terms[i] = builder.add(net.numbered("weigh"), multiply, {terms[i], weight});
  }
}

}  // namespace

Made make_route(const Section& section, Assembly& net) {
  std::vector<TensorId> parts = listed(section, "layers", net);
  const std::int64_t groups = section.number("groups", 1);
  const std::int64_t group = section.number("group_id", 0);
  if (groups < 1 || group < 0 || group >= groups) {
    fail(ErrorKind::input, "expected group_id in 0 … groups − 1, got {} of {}", group, groups);
  }
  if (groups > 1) {
    for (TensorId& part : parts) part = channel_group(part, groups, group, net);
  }
  if (parts.size() == 1) return {parts[0]};
  const Concat concat{.axis = net.axes(parts[0]) == 3 ? 2 : 1};
  return {net.builder().add(net.numbered("route"), concat, parts)};
}

Made make_shortcut(const Section& section, Assembly& net) {
  std::vector<TensorId> terms{net.previous()};
  for (const TensorId from : listed(section, "from", net)) {
    terms.push_back(fitted(from, terms[0], net));
  }
  weigh(section, terms, net);
  const Elementwise add{ElementwiseKind::add};
  const TensorId sum = net.builder().add(net.numbered("shortcut"), add, terms);
  return {net.activated(section, "linear", sum)};
}

// [scale_channels] has one factor per channel (or pixel) of the other section, [sam] one per
// number.
Made make_scale_channels(const Section& section, Assembly& net) {
  std::vector<TensorId> factors = listed(section, "from", net);
  factors.resize(1);
  factors.push_back(net.previous());
  const Elementwise multiply{ElementwiseKind::multiply};
  const TensorId product = net.builder().add(net.numbered(section.kind), multiply, factors);
  return {net.activated(section, "linear", product)};
}

// A learnt image that is the same for every input. It meets the others by broadcasting.
Made make_implicit(const Section& section, Assembly& net) {
  const std::int64_t filters = section.number("filters", 128);
  const std::int64_t atoms = section.number("atoms", 1);
  if (filters < 1 || atoms < 1) {
    fail(ErrorKind::input, "filters and atoms must be at least 1, got {} and {}", filters, atoms);
  }
  return {net.builder().stored(net.numbered("implicit") + ".weight", {1, filters, atoms, 1})};
}

Made make_empty(const Section&, Assembly& net) { return {net.previous()}; }

}  // namespace strata::darknet
