// SPDX-License-Identifier: Apache-2.0
#include "strata/training/order.hpp"

#include "strata/base/error.hpp"

#include <cstddef>

namespace strata {
namespace {

class Walk {
 public:
  explicit Walk(const Graph& graph)
      : graph_(graph),
        first_reader_(graph.tensors.size() + 1, 0),
        missing_(graph.nodes.size(), 0),
        is_done_(graph.nodes.size(), false) {
    order_.reserve(graph.nodes.size());
    mark_fed_tensors();
    list_readers();
  }

  std::vector<NodeId> order() && {
    for (const TensorId input : graph_.inputs) {
      arrive(input);
      run_what_is_ready();
    }
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) run(node);  // of stored tensors alone
    return std::move(order_);
  }

 private:
  // Whether a tensor depends on an input of the network.
  void mark_fed_tensors() {
    is_fed_.assign(graph_.tensors.size(), false);
    for (const TensorId input : graph_.inputs) is_fed_[input] = true;
    for (const Node& node : graph_.nodes) {
      bool is_fed = false;
      for (const TensorId input : node.inputs) is_fed = is_fed || is_fed_[input];
      for (const TensorId output : node.outputs) is_fed_[output] = is_fed;
    }
  }

  void list_readers() {
    for (const Node& node : graph_.nodes) {
      for (const TensorId input : node.inputs) ++first_reader_[input + 1];
    }
    for (std::size_t i = 1; i < first_reader_.size(); ++i) first_reader_[i] += first_reader_[i - 1];
    readers_.resize(first_reader_.back());
    std::vector<std::uint32_t> next(first_reader_.begin(), first_reader_.end() - 1);
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
      for (const TensorId input : graph_.nodes[node].inputs) {
        readers_[next[input]++] = node;
        if (is_fed_[input]) ++missing_[node];
      }
    }
  }

  // Readers become ready last to first, so that the first is on top of the stack.
  void arrive(TensorId tensor) {
    for (std::uint32_t i = first_reader_[tensor + 1]; i > first_reader_[tensor]; --i) {
      const NodeId reader = readers_[i - 1];
      if (--missing_[reader] == 0) ready_.push_back(reader);
    }
  }

  void run_what_is_ready() {
    while (!ready_.empty()) {
      const NodeId node = ready_.back();
      ready_.pop_back();
      run(node);
      const std::vector<TensorId>& outputs = graph_.nodes[node].outputs;
      for (auto output = outputs.rbegin(); output != outputs.rend(); ++output) {
        if (is_fed_[*output]) arrive(*output);
      }
    }
  }

  // Runs the node after those of its producers that wait for no input of the network.
  void run(NodeId node) {
    std::vector<NodeId> stack{node};
    while (!stack.empty()) {
      const NodeId top = stack.back();
      if (is_done_[top]) {
        stack.pop_back();
        continue;
      }
      const std::size_t before = stack.size();
      for (const TensorId input : graph_.nodes[top].inputs) {
        const NodeId producer = graph_.tensors[input].producer;
        if (producer != no_node && !is_done_[producer]) stack.push_back(producer);
      }
      if (stack.size() > before) continue;
      stack.pop_back();
      is_done_[top] = true;
      order_.push_back(top);
    }
  }

  const Graph& graph_;
  std::vector<bool> is_fed_;
  std::vector<std::uint32_t> first_reader_;  // of each tensor, into readers_
  std::vector<NodeId> readers_;
  std::vector<std::uint32_t> missing_;  // inputs that the node still waits for
  std::vector<bool> is_done_;
  std::vector<NodeId> ready_;
  std::vector<NodeId> order_;
};

}  // namespace

std::vector<NodeId> execution_order(const Graph& graph) {
  std::vector<NodeId> order = Walk(graph).order();
  STRATA_CHECK(order.size() == graph.nodes.size(), "every node runs once");
  return order;
}

}  // namespace strata
