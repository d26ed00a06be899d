// SPDX-License-Identifier: Apache-2.0
// A stack of recurrent layers: one product for the inputs of all time steps, then step by step a
// product with the state and a kernel for the cell.
#include "strata/measure/cuda/products/recurrent.cuh"

#include "strata/measure/cuda/index_map.cuh"
#include "strata/measure/cuda/moving/movement.cuh"
#include "strata/measure/cuda/products/recurrent_ways.cuh"
#include "strata/measure/cuda/sums/reduce.cuh"

#include <algorithm>

namespace strata::cuda::train {
namespace {

std::int64_t gates_of(CellKind cell) {
  return cell == CellKind::lstm ? 4 : cell == CellKind::gru ? 3 : 1;
}

class RecurrentNode final : public CudaNode {
 public:
  RecurrentNode(NodeFacts facts, const Recurrent& op) : CudaNode(std::move(facts)), op_(op) {
    const BoundTensor& x = input(0);
    dtype_ = x.dtype;
    batch_ = x[0];
    times_ = x[1];
    features_ = x[2];
    directions_ = op.bidirectional ? 2 : 1;
    width_ = op.projection > 0 ? op.projection : op.hidden;
    rows_ = batch_ * times_;
    gate_rows_ = gates_of(op.cell) * op.hidden;
    plan_kept();
    plan_scratch();
    recurrent_ = make(batch_, gate_rows_, width_, false, true, times_ * directions_ * width_);
    from_given_ = make(batch_, gate_rows_, width_, false, true, width_);
    // Choosing takes time and waits for the device: here, not when the node runs.
    for (const Cell& cell : cells_) choose_products(cell);
  }

  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.backward_is_one = true;
    needs.scratch_bytes = scratch_.bytes() + (facts().is_training ? 0 : kept_.bytes());
    if (!facts().is_training) return needs;
    needs.inputs = needs.outputs = true;
    needs.saved_bytes = kept_.bytes();
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) return forward(memory);
    if (pass == Pass::backward) backward(memory);
  }

  std::string implementation(Pass) const override { return "step by step, " + recurrent_->name(); }

 private:
  /// Where a layer in one direction keeps what; offsets into what forward leaves.
  struct Cell {
    std::int64_t layer = 0, direction = 0;
    std::int64_t gates = 0, cells = 0, unprojected = 0;
  };
  bool is_lstm() const { return op_.cell == CellKind::lstm; }
  bool is_gru() const { return op_.cell == CellKind::gru; }
  std::int64_t bytes() const { return bytes_per_element(dtype_); }

  void plan_kept() {
    for (std::int64_t layer = 0; layer + 1 < op_.layers; ++layer)
      hidden_.push_back(kept_.add(rows_ * directions_ * width_ * bytes()));
    for (std::int64_t layer = 0; layer < op_.layers; ++layer) {
      for (std::int64_t direction = 0; direction < directions_; ++direction) {
        Cell cell{layer, direction};
        if (is_lstm() || is_gru()) cell.gates = kept_.add(rows_ * 4 * op_.hidden * bytes());
        if (is_lstm()) cell.cells = kept_.add(rows_ * op_.hidden * bytes());
        if (op_.projection > 0) cell.unprojected = kept_.add(rows_ * op_.hidden * bytes());
        cells_.push_back(cell);
      }
    }
  }

  void plan_scratch() {
    const std::int64_t widest = std::max(features_, directions_ * width_);
    of_input_ = scratch_.add(rows_ * gate_rows_ * bytes());  // in backward: gate gradients
    of_state_ = scratch_.add((facts().is_training ? rows_ : batch_) * gate_rows_ * bytes());
    if (!facts().is_training) return;
    for (std::int64_t& room : between_) room = scratch_.add(rows_ * widest * bytes());
    state_gradient_ = scratch_.add(batch_ * std::max(width_, op_.hidden) * bytes());
    cell_gradient_ = scratch_.add(batch_ * op_.hidden * sum_bytes(dtype_));
    before_ = scratch_.add(rows_ * width_ * bytes());
    if (op_.projection > 0) {
      state_gradients_ = scratch_.add(rows_ * width_ * bytes());
      unprojected_gradient_ = scratch_.add(batch_ * op_.hidden * bytes());
    }
    ChannelArray bias;
    bias.rows = rows_;
    bias.channels = gate_rows_;
    bias.dtype = dtype_;
    sums_ = scratch_.add(channel_sum_scratch(bias) * sum_bytes(dtype_));
  }

  /// `a_row`: from row to row of A where it is a part of something; c_row likewise.
  std::shared_ptr<const TunedProduct> make(std::int64_t m, std::int64_t n, std::int64_t k, bool ta,
                                           bool tb, std::int64_t a_row = 0, std::int64_t c_row = 0,
                                           bool adds = false) const {
    ProductShape shape = product_of(dtype_, m, n, k, ta, tb);
    if (a_row > 0) shape.a_row = a_row;
    if (c_row > 0) shape.c_row = c_row;
    shape.adds = adds;
    return context().products->product(shape);
  }

  std::shared_ptr<const TunedProduct> input_product(const Cell& cell) const {
    return make(rows_, gate_rows_, layer_inputs(cell), false, true);
  }
  std::shared_ptr<const TunedProduct> projection_product() const {
    return make(batch_, width_, op_.hidden, false, true, times_ * op_.hidden,
                times_ * directions_ * width_);
  }
  std::shared_ptr<const TunedProduct> below_product(const Cell& cell) const {
    return make(rows_, layer_inputs(cell), gate_rows_, false, false, 0, 0, cell.direction > 0);
  }
  std::shared_ptr<const TunedProduct> unprojected_product() const {
    return make(batch_, op_.hidden, width_, false, false, times_ * width_);
  }
  std::shared_ptr<const TunedProduct> state_product() const {
    return make(batch_, width_, gate_rows_, false, false, times_ * gate_rows_, 0, is_gru());
  }
  /// rows × columns of a weight's gradient.
  std::shared_ptr<const TunedProduct> weight_product(std::int64_t rows,
                                                     std::int64_t columns) const {
    return make(rows, columns, rows_, true, false);
  }
  void choose_products(const Cell& cell) const {
    input_product(cell);
    if (op_.projection > 0) projection_product();
    if (!facts().is_training) return;
    below_product(cell);
    state_product();
    weight_product(gate_rows_, layer_inputs(cell));
    weight_product(gate_rows_, width_);
    if (op_.projection == 0) return;
    unprojected_product();
    weight_product(width_, op_.hidden);
  }

  char* kept(const NodeMemory& memory, std::int64_t offset) const {
    char* const base = facts().is_training ? static_cast<char*>(memory.saved)
                                           : static_cast<char*>(memory.scratch) + scratch_.bytes();
    return base + offset;
  }
  char* scratch(const NodeMemory& memory, std::int64_t offset) const {
    return static_cast<char*>(memory.scratch) + offset;
  }
  std::size_t own(const Cell& cell, std::int64_t which) const {
    const std::int64_t tensors = 2 + op_.biases + (op_.projection > 0 ? 1 : 0);
    return first_own() +
           static_cast<std::size_t>((cell.layer * directions_ + cell.direction) * tensors + which);
  }
  std::size_t projection(const Cell& cell) const { return own(cell, 2 + op_.biases); }
  std::int64_t layer_inputs(const Cell& cell) const {
    return cell.layer == 0 ? features_ : directions_ * width_;
  }
  char* layer_input(const NodeMemory& memory, const Cell& cell) const {
    if (cell.layer == 0) return static_cast<char*>(memory.inputs[0]);
    return kept(memory, hidden_[static_cast<std::size_t>(cell.layer - 1)]);
  }
  char* layer_output(const NodeMemory& memory, const Cell& cell) const {
    if (cell.layer + 1 == op_.layers) return static_cast<char*>(memory.outputs[0]);
    return kept(memory, hidden_[static_cast<std::size_t>(cell.layer)]);
  }
  std::int64_t time_of(const Cell& cell, std::int64_t step) const {
    return cell.direction == 0 ? step : times_ - 1 - step;
  }

  /// Rows of time t in an array [batch, times, row].
  StepRows rows_at(char* array, std::int64_t row, std::int64_t t, std::int64_t column = 0) const {
    return {array + (t * row + column) * bytes(), times_ * row};
  }
  StepRows state_rows(const NodeMemory& memory, const Cell& cell, std::int64_t t) const {
    return rows_at(layer_output(memory, cell), directions_ * width_, t, cell.direction * width_);
  }
  /// The state that was given for this layer and direction; null data: none was.
  StepRows given(const std::vector<void*>& tensors, std::size_t which, const Cell& cell,
                 std::int64_t width) const {
    if (which >= tensors.size() || tensors[which] == nullptr) return {};
    const std::int64_t row = cell.layer * directions_ + cell.direction;
    return {static_cast<char*>(tensors[which]) + row * batch_ * width * bytes(), width};
  }
  StepRows given_input(const NodeMemory& memory, std::size_t which, const Cell& cell,
                       std::int64_t width) const {
    return which < first_own() ? given(memory.inputs, which, cell, width) : StepRows{};
  }

  CellStep step_of(const NodeMemory& memory, const Cell& cell, std::int64_t step) const {
    const std::int64_t t = time_of(cell, step);
    CellStep s;
    s.cell = op_.cell;
    s.batch = batch_;
    s.hidden = op_.hidden;
    s.dtype = dtype_;
    if (is_lstm() || is_gru()) s.gates = rows_at(kept(memory, cell.gates), 4 * op_.hidden, t);
    if (is_lstm()) {
      s.cells = rows_at(kept(memory, cell.cells), op_.hidden, t);
      s.cells_before = step > 0
                           ? rows_at(kept(memory, cell.cells), op_.hidden, time_of(cell, step - 1))
                           : given_input(memory, 2, cell, op_.hidden);
    }
    s.state = op_.projection > 0 ? rows_at(kept(memory, cell.unprojected), op_.hidden, t)
                                 : state_rows(memory, cell, t);
    s.state_before = step > 0 ? state_rows(memory, cell, time_of(cell, step - 1))
                              : given_input(memory, 1, cell, width_);
    return s;
  }

  void forward(const NodeMemory& memory) const {
    for (const Cell& cell : cells_) forward_of(memory, cell);
  }

  void forward_of(const NodeMemory& memory, const Cell& cell) const {
    char* const of_input = scratch(memory, of_input_);
    char* const of_state = scratch(memory, of_state_);
    input_product(cell)->run(layer_input(memory, cell), memory.inputs[own(cell, 0)], of_input);
    for (std::int64_t step = 0; step < times_; ++step) {
      CellStep s = step_of(memory, cell, step);
      s.of_input = rows_at(of_input, gate_rows_, time_of(cell, step));
      if (s.state_before.data != nullptr) {
        (step > 0 ? recurrent_ : from_given_)
            ->run(s.state_before.data, memory.inputs[own(cell, 1)], of_state);
        s.of_state = {of_state, gate_rows_};
      }
      if (op_.biases > 0) s.input_bias = memory.inputs[own(cell, 2)];
      if (op_.biases > 1) s.state_bias = memory.inputs[own(cell, 3)];
      step_forward(s, stream());
      if (op_.projection > 0)
        projection_product()->run(s.state.data, memory.inputs[projection(cell)],
                                  state_rows(memory, cell, time_of(cell, step)).data);
    }
    const std::int64_t last = time_of(cell, times_ - 1);
    copy_rows(given(memory.outputs, 1, cell, width_), state_rows(memory, cell, last), width_);
    if (is_lstm())
      copy_rows(given(memory.outputs, 2, cell, op_.hidden),
                rows_at(kept(memory, cell.cells), op_.hidden, last), op_.hidden);
  }

  void copy_rows(StepRows to, StepRows from, std::int64_t width) const {
    if (to.data != nullptr) add_rows(to, from, {}, batch_, width, dtype_, stream());
  }

  void backward(const NodeMemory& memory) const {
    char* above = memory.output_gradients[0] == nullptr
                      ? nullptr
                      : static_cast<char*>(memory.output_gradients[0]);
    for (std::int64_t layer = op_.layers - 1; layer >= 0; --layer) {
      char* below = scratch(memory, between_[static_cast<std::size_t>(layer % 2)]);
      if (layer == 0) {
        const bool is_wanted = makes(memory, 0);
        below = is_wanted ? static_cast<char*>(memory.input_gradients[0]) : nullptr;
      }
      for (std::int64_t direction = 0; direction < directions_; ++direction) {
        const Cell& cell = cells_[static_cast<std::size_t>(layer * directions_ + direction)];
        through_time(memory, cell, above);
        if (below != nullptr)
          below_product(cell)->run(scratch(memory, of_input_), memory.inputs[own(cell, 0)], below);
        weights(memory, cell);
      }
      above = below;
    }
  }

  void through_time(const NodeMemory& memory, const Cell& cell, char* above) const {
    char* const dh = scratch(memory, state_gradient_);
    fill_zero(scratch(memory, cell_gradient_), batch_ * op_.hidden * sum_bytes(dtype_));
    add_rows({dh, width_}, given(memory.output_gradients, 1, cell, width_), {}, batch_, width_,
             dtype_, stream());
    if (is_lstm()) start_cell_gradient(memory, cell);
    for (std::int64_t step = times_ - 1; step >= 0; --step) {
      const std::int64_t t = time_of(cell, step);
      CellStep s = step_of(memory, cell, step);
      s.gate_gradients = rows_at(scratch(memory, of_input_), gate_rows_, t);
      s.of_state = rows_at(scratch(memory, of_state_), gate_rows_, t);
      const StepRows from_above =
          above == nullptr ? StepRows{}
                           : rows_at(above, directions_ * width_, t, cell.direction * width_);
      s.state_gradient = dh;
      s.cell_gradient = scratch(memory, cell_gradient_);
      if (op_.projection > 0) {
        const StepRows whole = rows_at(scratch(memory, state_gradients_), width_, t);
        add_rows(whole, {dh, width_}, from_above, batch_, width_, dtype_, stream());
        s.state_gradient = scratch(memory, unprojected_gradient_);
        unprojected_product()->run(whole.data, memory.inputs[projection(cell)], s.state_gradient);
      } else {
        s.above = from_above;
      }
      step_backward(s, stream());
      state_product()->run(s.of_state.data, memory.inputs[own(cell, 1)], dh);
    }
    if (first_own() > 1 && makes(memory, 1))
      copy_rows(given(memory.input_gradients, 1, cell, width_), {dh, width_}, width_);
    if (first_own() > 2 && makes(memory, 2)) end_cell_gradient(memory, cell);
  }

  // The gradient of the cell is kept in the type that sums have.
  DType sum_type() const { return dtype_ == DType::fp64 ? DType::fp64 : DType::fp32; }
  void start_cell_gradient(const NodeMemory& memory, const Cell& cell) const {
    const StepRows from = given(memory.output_gradients, 2, cell, op_.hidden);
    if (from.data != nullptr)
      convert(scratch(memory, cell_gradient_), sum_type(), from.data, dtype_, batch_ * op_.hidden,
              stream());
  }
  void end_cell_gradient(const NodeMemory& memory, const Cell& cell) const {
    convert(given(memory.input_gradients, 2, cell, op_.hidden).data, dtype_,
            scratch(memory, cell_gradient_), sum_type(), batch_ * op_.hidden, stream());
  }

  void weights(const NodeMemory& memory, const Cell& cell) const {
    const char* const of_input = scratch(memory, of_input_);
    const char* const of_state = scratch(memory, of_state_);
    const auto gradient = [&](std::size_t which) -> void* {
      return makes(memory, which) ? memory.input_gradients[which] : nullptr;
    };
    if (void* const to = gradient(own(cell, 0)))
      weight_product(gate_rows_, layer_inputs(cell))->run(of_input, layer_input(memory, cell), to);
    if (void* const to = gradient(own(cell, 1))) {
      char* const before = scratch(memory, before_);
      states_before(memory, cell, before);
      weight_product(gate_rows_, width_)->run(of_state, before, to);
    }
    ChannelArray bias;
    bias.rows = rows_;
    bias.channels = gate_rows_;
    bias.dtype = dtype_;
    for (std::int64_t i = 0; i < op_.biases; ++i) {
      if (void* const to = gradient(own(cell, 2 + i)))
        sum_over_channels(bias, to, i == 0 ? of_input : of_state, scratch(memory, sums_), stream());
    }
    if (op_.projection == 0) return;
    if (void* const to = gradient(projection(cell)))
      weight_product(width_, op_.hidden)
          ->run(scratch(memory, state_gradients_), kept(memory, cell.unprojected), to);
  }

  /// For every time step the state before it.
  void states_before(const NodeMemory& memory, const Cell& cell, char* before) const {
    const std::int64_t first = time_of(cell, 0);
    if (times_ > 1) {
      const std::int64_t row = directions_ * width_;
      const std::int64_t to = cell.direction == 0 ? 1 : 0, from = 1 - to;
      const StridedAxes axes{{batch_, times_ - 1, width_},
                             {{times_ * width_, width_, 1}, {times_ * row, row, 1}}};
      copy_strided(before + to * width_ * bytes(),
                   layer_output(memory, cell) + (from * row + cell.direction * width_) * bytes(),
                   bytes(), axes, stream());
    }
    add_rows(rows_at(before, width_, first), given_input(memory, 1, cell, width_), {}, batch_,
             width_, dtype_, stream());
  }

  Recurrent op_;
  DType dtype_ = DType::fp32;
  std::int64_t batch_ = 0, times_ = 0, features_ = 0, directions_ = 1, width_ = 0, rows_ = 0,
               gate_rows_ = 0;
  Scratch kept_, scratch_;
  std::vector<std::int64_t> hidden_;
  std::vector<Cell> cells_;
  std::int64_t of_input_ = 0, of_state_ = 0, between_[2] = {}, state_gradient_ = 0,
               cell_gradient_ = 0, before_ = 0, state_gradients_ = 0, unprojected_gradient_ = 0,
               sums_ = 0;
  std::shared_ptr<const TunedProduct> recurrent_, from_given_;
};

}  // namespace

std::unique_ptr<NodeKernels> make_stepwise(const Recurrent& op, const NodeFacts& facts) {
  return std::make_unique<RecurrentNode>(facts, op);
}

}  // namespace strata::cuda::train
