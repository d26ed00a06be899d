// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"
#include "strata/graph/builder.hpp"
#include "strata/training/graph_counts_test.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

using naive::Random;

/// A random network of sequences [batch, time, width] in which recurrent layers stand among all
/// that may or may not run time step by time step.
class Sequences {
 public:
  explicit Sequences(Random& random) : random_(random), builder_("sequences") {
    width_ = 2 * random.between(1, 2);
    times_ = random.between(1, 4);
    builder_.graph().recurrent_order =
        random.coin() ? RecurrentOrder::time_major : RecurrentOrder::layer_major;
    shape_ = {2, times_, width_};
    for (std::int64_t i = random.between(1, 2); i > 0; --i)
      made_.push_back(builder_.input("x" + std::to_string(i), shape_));
  }

  Graph graph() && {
    for (std::int64_t i = random_.between(2, 14); i > 0; --i) {
      name_ = "n" + std::to_string(i);
      made_.push_back(next());
    }
    return std::move(builder_).finish();
  }

 private:
  TensorId any() { return made_[random_.between(0, static_cast<std::int64_t>(made_.size()) - 1)]; }

  TensorId add(const std::string& suffix, const Operator& op,
               std::initializer_list<TensorId> inputs) {
    return builder_.add(name_ + suffix, op, inputs);
  }

  TensorId next() {
    switch (random_.between(0, 9)) {
      case 0: return add("", Unary{UnaryKind::gelu}, {any()});
      case 1: return add("", Elementwise{}, {any(), any()});
      case 2: return add("", Elementwise{ElementwiseKind::multiply}, {any(), any()});
      case 3: return add("", Linear{.features = width_}, {any()});
      case 4: return add("", LayerNorm{}, {any()});
      case 5: return attention();
      case 6: return there_and_back();
      case 7: return halves();
      default: return recurrent();
    }
  }

  TensorId recurrent() {
    Recurrent op{.cell = random_.pick({CellKind::lstm, CellKind::gru, CellKind::rnn_tanh})};
    op.bidirectional = random_.rarely(3);
    op.hidden = op.bidirectional ? width_ / 2 : width_;
    op.layers = random_.between(1, 2);
    op.fused_gates = random_.coin();
    return add("", op, {any()});
  }

  // Needs all keys at every time step.
  TensorId attention() {
    const TensorId keys = any();
    const TensorId scores = add(".scores", MatMul{.transpose_b = true}, {any(), keys});
    const TensorId weights = add(".weights", Softmax{random_.coin() ? -1 : 1}, {scores});
    return add("", MatMul{}, {weights, keys});
  }

  TensorId there_and_back() {
    const TensorId rows = add(".rows", Reshape{{2, times_, 1, width_}}, {any()});
    const TensorId active = add(".active", Unary{UnaryKind::tanh}, {rows});
    return add("", Reshape{{2, times_, width_}}, {active});
  }

  TensorId halves() {
    const std::vector<TensorId> inputs{any()};
    const NodeId split = builder_.add_node(name_ + ".split", Split{.axis = 2, .parts = 2}, inputs);
    const TensorId left = builder_.output_of(split, 0), right = builder_.output_of(split, 1);
    return add("", Concat{-1}, {right, left});
  }

  Random& random_;
  GraphBuilder builder_;
  std::int64_t width_ = 0, times_ = 0;
  Shape shape_;
  std::vector<TensorId> made_;
  std::string name_;
};

TEST(Unrolling, keeps_the_work_of_random_networks) {
  std::size_t by_time = 0;
  naive::for_random_cases(400, [&](Random& random) {
    const Graph graph = Sequences(random).graph();
    const BoundGraph bound = bind_graph(graph, {});
    TrainingOptions options;
    options.loss = random.pick({Loss::none, Loss::squared_error});
    options.separate_backward = random.coin();
    options.inference = random.rarely(8);
    options.micro_batches = options.inference ? 1 : random.between(1, 2);
    const Program program = make_program(bound, options);
    EXPECT_EQ(problems_of(program), std::vector<std::string>{});
    graph_counts::expect_work_of_graph(program, bound, options);
    for (const Step& step : program.steps) {
      const bool is_cell =
          step.node != no_node && std::holds_alternative<Recurrent>(graph.nodes[step.node].op);
      by_time += step.time > 0 && !is_cell && !step.is_gradient_sum;
    }
  });
  EXPECT_GT(by_time, 1000U);  // time-major networks did take others along
}

TEST(Unrolling, recomputes_random_networks) {
  std::size_t again = 0;
  naive::for_random_cases(200, [&](Random& random) {
    Graph graph = Sequences(random).graph();
    graph.recurrent_order = RecurrentOrder::layer_major;
    for (Node& node : graph.nodes) node.block = node.name.substr(0, 2);
    const BoundGraph bound = bind_graph(graph, {});
    TrainingOptions options{.loss = Loss::squared_error};
    options.recompute = random.pick({Recompute::all, Recompute::blocks});
    const Program program = make_program(bound, options);
    EXPECT_EQ(problems_of(program), std::vector<std::string>{});
    std::int64_t flop = 0;
    for (const Step& step : program.steps) {
      if (!step.is_gradient_sum && !step.is_recomputed) flop += step.flop;
      again += step.is_recomputed;
    }
    EXPECT_EQ(flop, graph_counts::flop_of_graph(bound, options));
  });
  EXPECT_GT(again, 1000U);
}

}  // namespace
}  // namespace strata
