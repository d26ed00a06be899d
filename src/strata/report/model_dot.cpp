// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/model_report.hpp"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>

namespace strata {
namespace {

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

// Lines of a label; \n inside a quoted string of Graphviz is a line break.
std::string label_of(const LayerSummary& layer) {
  std::string lines = in_quotes(layer.name);
  lines.pop_back();
  lines += fmt::format("\\n{}\\n{}", printable(layer.op), shape_text(layer.output_shape));
  if (layer.counts.parameters > 0) {
    lines +=
        fmt::format("\\n{} parameters", format_count(static_cast<double>(layer.counts.parameters)));
  }
  return lines + '"';
}

/// Layers of one block, by the order of their first one; the block without a name stands outside
/// any cluster.
struct DotCluster {
  std::string_view block;
  std::vector<std::size_t> layers;
};

std::vector<DotCluster> clusters_of(const ModelSummary& summary) {
  std::vector<DotCluster> clusters;
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t index = 0; index < summary.layers.size(); ++index) {
    const std::string_view block = summary.layers[index].block;
    const auto [place, is_new] = places.try_emplace(block, clusters.size());
    if (is_new) clusters.push_back({block, {}});
    clusters[place->second].layers.push_back(index);
  }
  return clusters;
}

std::string nodes_text(const ModelSummary& summary) {
  std::string text;
  std::size_t number = 0;
  for (const DotCluster& cluster : clusters_of(summary)) {
    const bool has_frame = !cluster.block.empty();
    if (has_frame)
      text += fmt::format("  subgraph cluster_{} {{\n  label={};\n", number++,
                          in_quotes(cluster.block));
    for (const std::size_t layer : cluster.layers) {
      text += fmt::format("  layer{} [label={}];\n", layer, label_of(summary.layers[layer]));
    }
    if (has_frame) text += "  }\n";
  }
  return text;
}

std::string edges_text(const ModelSummary& summary) {
  std::string text;
  std::unordered_map<std::string_view, std::string> ids;  // of layers seen so far and of inputs
  std::size_t inputs = 0;
  for (std::size_t index = 0; index < summary.layers.size(); ++index) {
    const LayerSummary& layer = summary.layers[index];
    for (const std::string& input : layer.inputs) {
      const auto [source, is_new] = ids.try_emplace(input);
      if (is_new) {
        source->second = fmt::format("input{}", inputs++);
        text += fmt::format("  {} [label={}, shape=ellipse, style=solid];\n", source->second,
                            in_quotes(input));
      }
      text += fmt::format("  {} -> layer{};\n", source->second, index);
    }
    ids[layer.name] = fmt::format("layer{}", index);
  }
  return text;
}

}  // namespace

std::string to_dot(const ModelSummary& summary) {
  return fmt::format(
      "digraph {} {{\n"
      "  rankdir=TB;\n"
      "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#eef3fa\", fontname=\"Helvetica\", "
      "fontsize=10];\n"
      "  graph [style=rounded, color=\"#9aa7b8\", fontname=\"Helvetica\", fontsize=10];\n"
      "{}{}}}\n",
      in_quotes(summary.name), nodes_text(summary), edges_text(summary));
}

}  // namespace strata
