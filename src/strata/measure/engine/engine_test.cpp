// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/engine.hpp"

#include "strata/graph/builder.hpp"
#include "strata/measure/engine/reference_device_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace strata {
namespace {

// Everything that makes running a network harder than a chain: a weight of two layers, a looked-up
// table that is also a weight of a product elsewhere, residuals, a value that is multiplied with
// itself, parts whose gradients are one, a part that nobody reads, reshapes.
Graph tangled_network() {
  GraphBuilder b("tangled");
  const Dim batch = b.symbols().parameter("batch", 3);
  const TensorId tokens = b.input("tokens", {batch, 2}, DType::int64);
  const TensorId x = b.input("x", {batch, 6});
  const TensorId rows = b.add("rows", Embedding{5, 3}, {tokens});
  const TensorId flat = b.add("flat", Flatten{1}, {rows});
  const TensorId first = b.add("first", Linear{6}, {flat});
  const TensorId weight = b.own_of(first, 0);
  const TensorId bias = b.own_of(first, 1);
  const TensorId bent = b.add("bent", Unary{UnaryKind::tanh}, {first});
  const std::array<TensorId, 2> own = {weight, bias};
  const std::array<TensorId, 1> again = {bent};
  const TensorId second = b.output_of(b.add_node("second", Linear{6}, again, own));
  const TensorId rest = b.add("rest", Elementwise{}, {second, first});
  const TensorId sum = b.add("sum", Elementwise{}, {rest, x});
  const TensorId squared = b.add("squared", Elementwise{ElementwiseKind::multiply}, {sum, sum});
  const std::array<TensorId, 1> whole = {squared};
  const NodeId parts = b.add_node("parts", Split{1, {2, 2, 2}, 0}, whole);
  const TensorId joined =
      b.add("joined", Elementwise{}, {b.output_of(parts, 0), b.output_of(parts, 1)});
  const TensorId cut = b.add("cut", Unary{UnaryKind::relu}, {joined});
  const TensorId doubled = b.add("doubled", Elementwise{}, {cut, cut});
  const TensorId last = b.add("last", Linear{4, false}, {doubled});
  b.output(last);
  return std::move(b).finish();
}

Graph classifier() {
  GraphBuilder b("classifier");
  const Dim batch = b.symbols().parameter("batch", 8);
  const TensorId x = b.input("x", {batch, 5});
  const TensorId hidden = b.add("hidden", Linear{16}, {x});
  const TensorId bent = b.add("bent", Unary{UnaryKind::tanh}, {hidden});
  b.add("classes", Linear{3}, {bent});
  return std::move(b).finish();
}

struct Trained {
  Graph graph;
  BoundGraph bound;
  reference::Device device;

  explicit Trained(const Graph& network, std::int64_t batch = 3)
      : graph(with_loss(network, Loss::automatic)),
        bound(bind_graph(graph, {{"batch", batch}}, DType::fp64)) {}

  TensorId tensor(std::string_view name) const {
    for (TensorId id = 0; id < graph.tensors.size(); ++id) {
      if (graph.tensors[id].name == name) return id;
    }
    ADD_FAILURE() << "no tensor " << name;
    return 0;
  }
  std::vector<TensorId> parameters() const {
    std::vector<TensorId> ids;
    for (TensorId id = 0; id < graph.tensors.size(); ++id) {
      if (graph.tensors[id].kind == TensorKind::parameter) ids.push_back(id);
    }
    return ids;
  }
};

Engine::Options without_update() {
  Engine::Options options;
  options.training.optimizer = Optimizer::none;
  return options;
}

// The derivative of the loss by each number of each parameter, taken from the loss alone.
void expect_gradients_of_differences(Trained& trained, Engine& engine) {
  constexpr double h = 1e-5;
  for (const TensorId parameter : trained.parameters()) {
    SCOPED_TRACE(trained.graph.tensors[parameter].name);
    engine.iterate(nullptr);
    const std::vector<double> gradient = engine.read_gradient(parameter);
    std::vector<double> values = engine.read(parameter);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double before = values[i];
      const auto loss_at = [&](double value) {
        values[i] = value;
        engine.write(parameter, values);
        engine.iterate(nullptr);
        return engine.loss().value();
      };
      const double slope = (loss_at(before + h) - loss_at(before - h)) / (2 * h);
      EXPECT_NEAR(gradient[i], slope, 1e-6) << "number " << i;
      values[i] = before;
      engine.write(parameter, values);
    }
  }
}

TEST(Engine, computes_the_gradients_of_a_whole_network) {
  Trained trained(tangled_network());
  Engine engine(trained.bound, trained.device, without_update());
  expect_gradients_of_differences(trained, engine);
}

TEST(Engine, computes_them_where_both_gradients_are_one_computation) {
  Trained trained(tangled_network());
  trained.device.settings.backward_is_one = true;
  Engine engine(trained.bound, trained.device, without_update());
  expect_gradients_of_differences(trained, engine);
  std::size_t joined = 0;
  for (const Engine::Part& part : engine.parts()) {
    const bool is_linear = part.node != no_node && !part.is_gradient_sum &&
                           std::holds_alternative<Linear>(trained.graph.nodes[part.node].op);
    if (is_linear) {
      EXPECT_TRUE(part.pass == Pass::forward || part.pass == Pass::backward ||
                  part.pass == Pass::update);
    }
    if (part.pass == Pass::backward) ++joined;
  }
  EXPECT_EQ(joined, 3U);
}

TEST(Engine, computes_the_same_in_memory_that_is_used_again) {
  Trained trained(tangled_network());
  Engine::Options options = without_update();
  Engine sparing(trained.bound, trained.device, options);
  options.keeps_everything = true;
  Engine lavish(trained.bound, trained.device, options);
  EXPECT_LT(sparing.peak_bytes(), lavish.peak_bytes());
  for (Engine* engine : {&sparing, &lavish}) engine->iterate(nullptr);
  EXPECT_EQ(sparing.loss(), lavish.loss());
  for (const TensorId parameter : trained.parameters())
    EXPECT_EQ(sparing.read_gradient(parameter), lavish.read_gradient(parameter));
  EXPECT_EQ(lavish.read(trained.tensor("bent")).size(), 18U);
  EXPECT_THROW(sparing.read(trained.tensor("bent")), Error);
}

TEST(Engine, learns) {
  Trained trained(classifier(), 8);
  Engine::Options options;
  options.rule.learning_rate = 0.1;
  Engine engine(trained.bound, trained.device, options);
  engine.iterate(nullptr);
  const double before = engine.loss().value();
  for (int i = 0; i < 60; ++i) engine.iterate(nullptr);
  EXPECT_LT(engine.loss().value(), 0.2 * before);
}

TEST(Engine, begins_with_the_same_numbers_for_the_same_seed) {
  Trained trained(classifier());
  const auto first_loss = [&](std::uint64_t seed) {
    Engine::Options options = without_update();
    options.seed = seed;
    Engine engine(trained.bound, trained.device, options);
    engine.iterate(nullptr);
    return engine.loss().value();
  };
  EXPECT_EQ(first_loss(1), first_loss(1));
  EXPECT_NE(first_loss(1), first_loss(2));
}

TEST(Engine, goes_on_without_a_layer_that_has_no_kernels) {
  Trained trained(tangled_network());
  trained.device.settings.without = {"tanh", "embedding"};
  Engine engine(trained.bound, trained.device, without_update());
  engine.iterate(nullptr);
  EXPECT_TRUE(std::isfinite(engine.loss().value()));
  std::size_t not_run = 0;
  for (const Engine::Part& part : engine.parts()) {
    if (part.not_run.empty()) continue;
    ++not_run;
    EXPECT_EQ(part.not_run.find("no loops for"), 0U);
  }
  EXPECT_EQ(not_run, 4U);  // forward and backward of each
  EXPECT_EQ(engine.running().size() + not_run, engine.parts().size());
  const TensorId table = trained.tensor("rows.weight");
  for (const double number : engine.read_gradient(table)) EXPECT_EQ(number, 0);
}

TEST(Engine, updates_the_parameters_of_a_layer_together_where_the_device_can) {
  const auto trained_with = [](std::size_t together, std::size_t& runs) {
    Trained trained(classifier(), 8);
    trained.device.settings.updates_together = together;
    Engine engine(trained.bound, trained.device, {});
    for (int i = 0; i < 5; ++i) engine.iterate(nullptr);
    runs = engine.running().size();
    std::vector<double> all;
    for (const TensorId id : trained.parameters()) {
      const std::vector<double> numbers = engine.read(id);
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    return all;
  };
  std::size_t apart = 0, together = 0;
  EXPECT_EQ(trained_with(1, apart), trained_with(32, together));
  EXPECT_EQ(apart - together, 2U);  // each of two layers has a weight and a bias
}

TEST(Engine, says_what_fits_when_memory_is_short) {
  Trained large(tangled_network(), 64);
  large.device.settings.free_bytes = 20'000;
  std::string message;
  try {
    Engine engine(large.bound, large.device, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    message = error.what();
  }
  EXPECT_EQ(large.device.kernels_made, 0);  // found out before anything was tried
  const std::size_t at = message.find("--batch ");
  ASSERT_NE(at, std::string::npos) << message;
  const std::int64_t fits = std::stoll(message.substr(at + 8));
  EXPECT_GT(fits, 1);
  const auto runs = [&](std::int64_t batch) {
    Trained smaller(tangled_network(), batch);
    smaller.device.settings.free_bytes = 20'000;
    try {
      Engine engine(smaller.bound, smaller.device, {});
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  EXPECT_TRUE(runs(fits / 2)) << message;
  EXPECT_FALSE(runs(fits + 1)) << message;
}

TEST(Engine, runs_forward_alone) {
  Trained trained(classifier());
  Engine::Options options;
  options.training.inference = true;
  const Graph graph = classifier();
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}}, DType::fp64);
  Engine engine(bound, trained.device, options);
  engine.iterate(nullptr);
  for (const Engine::Part& part : engine.parts()) EXPECT_EQ(part.pass, Pass::forward);
  EXPECT_EQ(engine.parts().size(), 3U);
  EXPECT_EQ(engine.loss(), std::nullopt);
  EXPECT_EQ(engine.read(graph.outputs[0]).size(), 6U);
}

TEST(Engine, refuses_what_it_cannot_run) {
  Trained trained(classifier());
  Engine::Options options;
  options.training.micro_batches = 2;
  EXPECT_THROW(Engine(trained.bound, trained.device, options), Error);
  Engine engine(trained.bound, trained.device, {});
  EXPECT_THROW(engine.write(trained.tensor("bent"), std::vector<double>(48)), Error);
  EXPECT_THROW(engine.write(trained.tensor("x"), std::vector<double>(1)), Error);
  EXPECT_THROW(engine.read_gradient(trained.tensor("x")), Error);
}

TEST(WithLoss, adds_one_where_training_would) {
  const Graph plain = classifier();
  const Graph softmax = with_loss(plain, Loss::automatic);
  ASSERT_EQ(softmax.nodes.size(), plain.nodes.size() + 1);
  EXPECT_TRUE(std::holds_alternative<SoftmaxCrossEntropy>(softmax.nodes.back().op));
  EXPECT_EQ(softmax.nodes.back().name, "loss");
  EXPECT_EQ(softmax.inputs.size(), plain.inputs.size() + 1);
  EXPECT_EQ(with_loss(softmax, Loss::automatic).nodes.size(), softmax.nodes.size());
  EXPECT_EQ(with_loss(plain, Loss::none).nodes.size(), plain.nodes.size());
  const Graph squared = with_loss(plain, Loss::squared_error);
  EXPECT_TRUE(std::holds_alternative<SquaredError>(squared.nodes.back().op));
}

}  // namespace
}  // namespace strata
