// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/references.hpp"
#include "strata/importers/network/document.hpp"

namespace strata::keras {
namespace {

/// A depth-first walk without recursion: a file may chain as many layers as it likes.
class Walk {
 public:
  explicit Walk(const Model& model) : model_(model) {
    states_.reserve(model.layers.size());
    for (const Layer& layer : model.layers) states_.emplace_back(layer.calls.size(), State::fresh);
  }

  std::vector<Step> run() {
    for (std::uint32_t layer = 0; layer < model_.layers.size(); ++layer) {
      for (std::uint32_t call = 0; call < model_.layers[layer].calls.size(); ++call) {
        visit({layer, call});
      }
    }
    return std::move(order_);
  }

 private:
  enum class State : std::uint8_t { fresh, open, done };

  struct Frame {
    Step step;
    std::size_t argument = 0;
    std::size_t tensor = 0;
  };

  State& state(Step step) { return states_[step.layer][step.call]; }

  void visit(Step first) {
    enter(first);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (const Reference* needed = next_needed(frame)) {
        enter({needed->layer, needed->call});
      } else {
        state(frame.step) = State::done;
        order_.push_back(frame.step);
        stack_.pop_back();
      }
    }
  }

  void enter(Step step) {
    switch (state(step)) {
      case State::done: return;
      case State::open:
        fail(ErrorKind::input, "layer {} needs its own output",
             network::in_quotes(model_.layers[step.layer].name));
      case State::fresh: state(step) = State::open; stack_.push_back({step});
    }
  }

  const Reference* next_needed(Frame& frame) const {
    const Call& call = model_.layers[frame.step.layer].calls[frame.step.call];
    for (; frame.argument < call.arguments.size(); ++frame.argument, frame.tensor = 0) {
      const std::vector<Reference>& tensors = call.arguments[frame.argument].tensors;
      if (frame.tensor < tensors.size()) return &tensors[frame.tensor++];
    }
    return nullptr;
  }

  const Model& model_;
  std::vector<std::vector<State>> states_;
  std::vector<Frame> stack_;
  std::vector<Step> order_;
};

}  // namespace

std::vector<Step> order_of_calls(const Model& model) { return Walk(model).run(); }

}  // namespace strata::keras
