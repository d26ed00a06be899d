// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/measured_rows.hpp"

#include "strata/graph/operator_names.hpp"

#include <map>
#include <tuple>

namespace strata {
namespace {

class RowNames {
 public:
  RowNames(const BoundGraph& bound, std::size_t network_nodes)
      : graph_(*bound.graph), network_nodes_(network_nodes) {}

  ProfileRow row_of(const Engine::Part& part) const {
    ProfileRow row;
    row.pass = name_of(part.pass);
    row.op = part.is_gradient_sum        ? "gradient_sum"
             : part.pass == Pass::update ? "update"
             : is_loss(part.node)        ? "loss"
                                         : std::string(name_of(graph_.nodes[part.node].op));
    const bool is_plain = part.is_gradient_sum || part.pass == Pass::update || is_loss(part.node);
    row.layer_class =
        name_of(is_plain ? LayerClass::pointwise : class_of(graph_.nodes[part.node].op));
    if (part.node == no_node) {  // the sum for a tensor that no node makes
      row.layer = "sum for gradient of " + graph_.tensors[part.tensor].name;
      row.block = row.layer;
    } else if (is_loss(part.node)) {
      row.layer = row.block = "loss";
    } else {
      const Node& node = graph_.nodes[part.node];
      row.layer = node.name;
      row.block = node.block.empty() ? node.name : node.block;
    }
    return row;
  }

 private:
  bool is_loss(NodeId node) const { return node != no_node && node >= network_nodes_; }

  const Graph& graph_;
  std::size_t network_nodes_;
};

}  // namespace

MeasuredRows rows_of(std::span<const Engine::Part> parts, const BoundGraph& bound,
                     std::size_t network_nodes) {
  const RowNames names(bound, network_nodes);
  MeasuredRows result;
  // A sum for a tensor of no layer is a row of its own.
  using Key = std::tuple<NodeId, TensorId, Pass, bool>;
  std::map<Key, std::size_t> index;
  for (const Engine::Part& part : parts) {
    const Key key{part.node, part.node == no_node ? part.tensor : 0, part.pass,
                  part.is_gradient_sum};
    const auto [place, is_new] = index.try_emplace(key, result.rows.size());
    if (is_new) {
      result.rows.push_back(names.row_of(part));
      result.rows.back().not_run = part.not_run;
    }
    result.row_of.push_back(place->second);
    if (!part.not_run.empty()) continue;  // what did not happen counts nothing
    Totals totals;
    totals.steps = 1;
    totals.flop = part.flop;
    totals.in_bytes = part.read_bytes;
    totals.out_bytes = part.write_bytes;
    totals.launches = part.is_with_another ? 0 : 1;
    totals.zero_flop_launches = part.flop == 0 ? totals.launches : 0;
    ProfileRow& row = result.rows[place->second];
    row.totals += totals;
    add_implementation(row.implementation, part.implementation);
  }
  return result;
}

}  // namespace strata
