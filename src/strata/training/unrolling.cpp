// SPDX-License-Identifier: Apache-2.0
#include "strata/training/unrolling.hpp"

#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"
#include "strata/training/time_axis.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace strata {
namespace {

const Recurrent* recurrent_of(const Node& node) { return std::get_if<Recurrent>(&node.op); }

class Unroller {
 public:
  Unroller(const BoundGraph& bound, const std::vector<NodeId>& order)
      : bound_(bound), graph_(*bound.graph), order_(order), is_alias_(graph_.nodes.size(), false) {}

  void find_roots(Mode mode) {
    result_.root.resize(bound_.tensors.size());
    for (TensorId id = 0; id < result_.root.size(); ++id) result_.root[id] = id;
    for (const NodeId id : order_) {
      const Node& node = graph_.nodes[id];
      for (const Access& access : cost_of(bound_, id, mode).forward.accesses) {
        if (access.mode != AccessMode::alias) continue;
        result_.root[node.outputs[access.index]] = result_.root[node.inputs[0]];
        is_alias_[id] = true;
      }
    }
  }

  void keep_whole() {
    result_.instances.reserve(order_.size());
    for (const NodeId node : order_) {
      if (!is_alias_[node]) result_.instances.push_back({node, 0});
    }
  }

  void cut() {
    result_.cuts_recurrent = true;
    result_.partings.resize(bound_.tensors.size());
    result_.time_axis.assign(bound_.tensors.size(), -1);
    runs_by_time_.assign(graph_.nodes.size(), false);
    for (const Node& node : graph_.nodes) {
      if (recurrent_of(node)) cut_made_by(node);
    }
    find_time_steps();
    for (const Node& node : graph_.nodes) {
      if (recurrent_of(node)) cut_read_by(node);
    }
    if (graph_.recurrent_order == RecurrentOrder::time_major) {
      schedule_by_time();
    } else {
      keep_whole();
    }
  }

  Unrolling take() && { return std::move(result_); }

 private:
  void set_parting(TensorId tensor, Parting parting) {
    Parting& now = result_.partings[result_.root[tensor]];
    if (now.cut == Parting::Cut::whole) now = parting;
  }

  static std::uint32_t count_of(std::int64_t n) {
    if (n >= std::numeric_limits<std::uint32_t>::max() / 64)
      fail(ErrorKind::unsupported, "{} time steps are too many to unroll", n);
    return static_cast<std::uint32_t>(n);
  }

  std::uint32_t times_of(const Node& node) const {
    return count_of(bound_.tensors[node.outputs[0]][1]);
  }

  void cut_made_by(const Node& node) {
    const Recurrent& op = *recurrent_of(node);
    const std::uint32_t directions = op.bidirectional ? 2 : 1;
    set_parting(node.outputs[0], {Parting::Cut::time, times_of(node) * directions, directions});
    result_.time_axis[node.outputs[0]] = 1;
    if (result_.time_axis[node.inputs[0]] < 0) result_.time_axis[node.inputs[0]] = 1;
  }

  // What a recurrent layer reads piece by piece, where nobody else has cut it already.
  void cut_read_by(const Node& node) {
    const Recurrent& op = *recurrent_of(node);
    set_parting(node.inputs[0], {Parting::Cut::time, times_of(node), 1});
    const std::uint32_t cells = count_of(op.layers * (op.bidirectional ? 2 : 1));
    for (std::uint32_t i = 1; i < node.first_own; ++i)
      set_parting(node.inputs[i], {Parting::Cut::cells, cells, 1});
    if (op.fused_gates) return;
    const std::uint32_t gates = gates_of(op.cell);
    for (std::size_t i = node.first_own; i < node.inputs.size(); ++i) {
      if (bound_.tensors[node.inputs[i]][0] == op.hidden * gates)
        set_parting(node.inputs[i], {Parting::Cut::gates, gates, 1});
    }
  }

  // Carries the time axis along the order, and finds the nodes that can run step by step: in
  // time-major networks, all that lies between recurrent layers, and what follows the last one
  // unless it would read weights again in every step.
  void find_time_steps() {
    const bool is_time_major = graph_.recurrent_order == RecurrentOrder::time_major;
    const std::vector<bool> feeds = nodes_that_feed_recurrent();
    for (const NodeId id : order_) {
      const Node& node = graph_.nodes[id];
      if (is_alias_[id]) {
        std::int8_t& axis = result_.time_axis[node.outputs[0]];
        if (axis < 0) axis = axis_after_reshape(bound_, result_.time_axis, node);
        continue;
      }
      if (!is_time_major) continue;
      if (const Recurrent* op = recurrent_of(node)) {
        runs_by_time_[id] = !op->bidirectional;
        continue;
      }
      const bool has_products = class_is_products(node.op);
      if (!has_time_axis(node) || (has_products && !feeds[id])) continue;
      runs_by_time_[id] = true;
      for (const TensorId output : node.outputs) {
        result_.time_axis[output] = 1;
        set_parting(output, {Parting::Cut::time, times_of(node), 1});
      }
      for (std::size_t i = 0; i < node.inputs.size(); ++i) cut_along_time(node, i);
    }
    keep_products_whole();
  }

  // A product that others need whole, as attention needs its keys, is computed once over all time
  // steps: step by step it would read its weights again in each of them.
  void keep_products_whole() {
    std::vector<bool> is_read_by_time(graph_.nodes.size(), false);
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      if (!runs_by_time_[*id]) continue;
      const Node& node = graph_.nodes[*id];
      if (class_is_products(node.op) && !is_read_by_time[*id]) {
        runs_by_time_[*id] = false;
        result_.partings[node.outputs[0]] = {};
        result_.time_axis[node.outputs[0]] = -1;
        continue;
      }
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const NodeId producer = graph_.tensors[result_.root[node.inputs[i]]].producer;
        if (producer != no_node && reads_own_time(bound_, result_, *id, i))
          is_read_by_time[producer] = true;
      }
    }
  }

  // What a node that runs step by step reads along with its time steps is cut into them too,
  // whoever makes it.
  void cut_along_time(const Node& node, std::size_t input) {
    const TensorId tensor = node.inputs[input];
    std::int8_t& axis = result_.time_axis[tensor];
    const std::int8_t before = axis;
    if (axis < 0 && can_be_cut(tensor)) axis = 1;
    if (is_aligned(node, input)) {
      set_parting(tensor, {Parting::Cut::time, times_of(node), 1});
    } else {
      axis = before;
    }
  }

  // Stored tensors stay whole, last states have the form that their layer gives them.
  bool can_be_cut(TensorId tensor) const {
    const Tensor& it = graph_.tensors[tensor];
    if (it.kind == TensorKind::input) return true;
    return it.kind == TensorKind::activation && result_.root[tensor] == tensor &&
           !recurrent_of(graph_.nodes[it.producer]);
  }

  static bool class_is_products(const Operator& op) {
    return std::holds_alternative<Linear>(op) || std::holds_alternative<MatMul>(op);
  }

  bool is_aligned(const Node& node, std::size_t input) const {
    return input_follows_time(bound_, result_.time_axis, node, input);
  }

  bool has_time_axis(const Node& node) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_aligned(node, i)) return true;
    }
    return false;
  }

  std::vector<bool> nodes_that_feed_recurrent() const {
    std::vector<bool> feeds(graph_.nodes.size(), false);
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      const Node& node = graph_.nodes[*id];
      if (!feeds[*id] && !recurrent_of(node)) continue;
      for (const TensorId input : node.inputs) {
        const NodeId producer = graph_.tensors[input].producer;
        if (producer != no_node) feeds[producer] = true;
      }
    }
    return feeds;
  }

  // A node that runs step by step may share its loop over time with a producer whose same time step
  // is all it needs; what needs more waits for the end of the producer's loop. The loops are
  // numbered, and each node is in the last one in which it can be: the decoder's first layer, which
  // needs nothing of the encoder, runs with the rest of the decoder.
  void schedule_by_time() {
    std::vector<std::uint32_t> loop(graph_.nodes.size(), 0);
    for (const NodeId id : order_) {
      for_each_producer(id, [&](NodeId producer, std::uint32_t distance) {
        loop[id] = std::max(loop[id], loop[producer] + distance);
      });
    }
    constexpr std::uint32_t open = ~std::uint32_t{0};
    std::vector<std::uint32_t> latest(graph_.nodes.size(), open);
    std::uint32_t loops = 0;
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      if (latest[*id] != open) loop[*id] = latest[*id];
      loops = std::max(loops, loop[*id] + 1);
      for_each_producer(*id, [&](NodeId producer, std::uint32_t distance) {
        latest[producer] = std::min(latest[producer], loop[*id] - distance);
      });
    }
    std::vector<std::vector<NodeId>> members(loops);
    for (const NodeId id : order_) {
      if (!is_alias_[id]) members[loop[id]].push_back(id);
    }
    for (const std::vector<NodeId>& nodes : members) add_loop(nodes);
  }

  template <class F>
  void for_each_producer(NodeId id, F f) const {
    if (is_alias_[id]) return;
    const Node& node = graph_.nodes[id];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId producer = graph_.tensors[result_.root[node.inputs[i]]].producer;
      if (producer == no_node) continue;
      const bool shares_loop = runs_by_time_[id] && reads_own_time(bound_, result_, id, i);
      f(producer, runs_by_time_[producer] && !shares_loop ? 1U : 0U);
    }
  }

  void add_loop(const std::vector<NodeId>& nodes) {
    std::uint32_t times = 0;
    for (const NodeId id : nodes) {
      if (runs_by_time_[id]) {
        times = std::max(times, times_of(graph_.nodes[id]));
      } else {
        result_.instances.push_back({id, 0});
      }
    }
    for (std::uint32_t time = 1; time <= times; ++time) {
      for (const NodeId id : nodes) {
        if (runs_by_time_[id] && time <= times_of(graph_.nodes[id]))
          result_.instances.push_back({id, time});
      }
    }
  }

  const BoundGraph& bound_;
  const Graph& graph_;
  const std::vector<NodeId>& order_;
  std::vector<bool> is_alias_;
  std::vector<bool> runs_by_time_;
  Unrolling result_;
};

}  // namespace

Unrolling unroll(const BoundGraph& bound, const std::vector<NodeId>& order, bool unroll_recurrent,
                 bool is_training) {
  Unroller unroller(bound, order);
  unroller.find_roots(is_training ? Mode::training : Mode::inference);
  const std::vector<Node>& nodes = bound.graph->nodes;
  const bool has_recurrent = std::any_of(nodes.begin(), nodes.end(), recurrent_of);
  if (unroll_recurrent && has_recurrent) {
    unroller.cut();
  } else {
    unroller.keep_whole();
  }
  return std::move(unroller).take();
}

bool reads_own_time(const BoundGraph& bound, const Unrolling& unrolling, NodeId id,
                    std::size_t input) {
  if (unrolling.time_axis.empty()) return false;
  const Node& node = bound.graph->nodes[id];
  const Parting parting = unrolling.parting(node.inputs[input]);
  const std::int64_t times = bound.tensors[node.outputs[0]].axes() > 1
                                 ? bound.tensors[node.outputs[0]][1]
                                 : std::int64_t{0};
  return parting.cut == Parting::Cut::time && parting.count / parting.per_time == times &&
         input_follows_time(bound, unrolling.time_axis, node, input);
}

}  // namespace strata
