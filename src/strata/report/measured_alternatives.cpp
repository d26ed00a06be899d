// SPDX-License-Identifier: Apache-2.0
#include "strata/report/measured_alternatives.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace strata {
namespace {

std::int64_t extent_or(const Extents& extents, std::size_t axis, std::int64_t otherwise) {
  return extents.empty() ? otherwise : extents[axis];
}

/// In two dimensions with the same padding on both sides; nothing for others.
std::optional<ConvShape> shape_of_node(const BoundGraph& bound, const Node& node) {
  const auto* const op = std::get_if<Convolution>(&node.op);
  if (op == nullptr || op->transposed || op->kernel.size() != 2) return std::nullopt;
  const BoundTensor& input = bound.tensors[node.inputs[0]];
  if (input.axes() != 4) return std::nullopt;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (extent_or(op->pad_begin, axis, 0) != extent_or(op->pad_end, axis, 0)) return std::nullopt;
  }
  return ConvShape{.batch = input[0],
                   .channels = input[1],
                   .height = input[2],
                   .width = input[3],
                   .filters = op->channels,
                   .kernel_height = op->kernel[0],
                   .kernel_width = op->kernel[1],
                   .stride_height = extent_or(op->stride, 0, 1),
                   .stride_width = extent_or(op->stride, 1, 1),
                   .pad_height = extent_or(op->pad_begin, 0, 0),
                   .pad_width = extent_or(op->pad_begin, 1, 0),
                   .dilation_height = extent_or(op->dilation, 0, 1),
                   .dilation_width = extent_or(op->dilation, 1, 1),
                   .groups = op->groups};
}

const ConvCell* fastest_cell(const ConvResults& results, const ConvShape& shape, ConvPass pass) {
  const ConvCell* best = nullptr;
  for (const ConvCell& cell : results.cells) {
    if (!cell.is_measured() || cell.pass != pass || cell.shape != shape) continue;
    if (best == nullptr || cell.time_s() < best->time_s()) best = &cell;
  }
  return best;
}

struct PassSum {
  double time_s = 0;
  std::int64_t flop = 0;
  std::string algorithm;

  void add(double more_s, std::int64_t more_flop, const std::string& name) {
    time_s += more_s;
    flop += more_flop;
    if (!name.empty() && algorithm.find(name) == algorithm.npos)
      algorithm += (algorithm.empty() ? "" : ", ") + name;
  }
};

/// Rows of convolutions by layer and pass; "backward" is the sum of both gradients, too.
std::map<std::pair<std::string, std::string>, PassSum> convolution_rows(const Profile& profile) {
  std::map<std::pair<std::string, std::string>, PassSum> sums;
  for (const ProfileRow& row : profile.rows) {
    if (row.op != "convolution") continue;
    const auto add = [&](const std::string& pass) {
      sums[{row.layer, pass}].add(row.totals.time_s, row.totals.flop, row.implementation);
    };
    add(row.pass);
    if (row.pass == "backward_input" || row.pass == "backward_weight") add("backward");
  }
  return sums;
}

}  // namespace

std::vector<MeasuredAlternative> alternatives_of(const ConvResults& results,
                                                 const BoundGraph& network,
                                                 const std::string& source) {
  std::vector<MeasuredAlternative> alternatives;
  for (const Node& node : network.graph->nodes) {
    const std::optional<ConvShape> shape = shape_of_node(network, node);
    if (!shape || network.tensors[node.inputs[0]].dtype != results.dtype) continue;
    const auto add = [&](std::string pass, const ConvCell& cell) {
      alternatives.push_back({node.name, std::move(pass), cell.strategy, cell.time_s(), source});
    };
    const ConvCell* const forward = fastest_cell(results, *shape, ConvPass::forward);
    const ConvCell* const input = fastest_cell(results, *shape, ConvPass::input_gradient);
    const ConvCell* const weight = fastest_cell(results, *shape, ConvPass::weight_gradient);
    if (forward != nullptr) add("forward", *forward);
    if (input != nullptr) add("backward_input", *input);
    if (weight != nullptr) add("backward_weight", *weight);
    const bool needs_input = network.tensors[node.inputs[0]].wants_gradient;
    if (weight != nullptr && !needs_input) add("backward", *weight);
    if (weight != nullptr && needs_input && input != nullptr) {
      PassSum both;
      both.add(input->time_s(), 0, input->strategy);
      both.add(weight->time_s(), 0, weight->strategy);
      alternatives.push_back({node.name, "backward", both.algorithm, both.time_s, source});
    }
  }
  return alternatives;
}

std::vector<MeasuredAlternative> alternatives_of(const Profile& measured, const Profile& recorded,
                                                 const std::string& source) {
  std::vector<MeasuredAlternative> alternatives;
  if (measured.evidence != Evidence::measured || measured.subject.dtype != recorded.subject.dtype)
    return alternatives;
  const auto theirs = convolution_rows(measured);
  for (const auto& [key, sum] : convolution_rows(recorded)) {
    const auto same = theirs.find(key);
    // The same arithmetic: the same shape at the same batch.
    if (same == theirs.end() || same->second.flop != sum.flop || sum.flop == 0) continue;
    const PassSum& other = same->second;
    alternatives.push_back({key.first, key.second,
                            other.algorithm.empty() ? "what was measured" : other.algorithm,
                            other.time_s, source});
  }
  return alternatives;
}

}  // namespace strata
