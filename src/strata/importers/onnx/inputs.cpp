// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/onnx/declared_types.hpp"
#include "strata/importers/onnx/limits.hpp"
#include "strata/importers/onnx/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::onnx {
namespace {

constexpr std::int64_t usual_batch = 32;

/// Inputs of operators that are weights by their nature, as bits of positions.
struct WeightInputs {
  std::string_view op;
  unsigned positions;
};

constexpr std::array<WeightInputs, 16> weight_inputs = {{
    {"Conv", 0b110},
    {"ConvTranspose", 0b110},
    {"ConvInteger", 0b10},
    {"QLinearConv", 0b100111000},
    {"BatchNormalization", 0b11110},
    {"InstanceNormalization", 0b110},
    {"GroupNormalization", 0b110},
    {"LayerNormalization", 0b110},
    {"SimplifiedLayerNormalization", 0b10},
    {"SkipLayerNormalization", 0b11100},
    {"RMSNormalization", 0b10},
    {"LSTM", 0b10001110},
    {"GRU", 0b1110},
    {"RNN", 0b1110},
    {"PRelu", 0b10},
    {"BiasGelu", 0b10},
}};

bool is_weight_position(std::string_view op, std::size_t position) {
  for (const WeightInputs& row : weight_inputs) {
    if (row.op == op) return position < 32 && (row.positions >> position & 1U) != 0;
  }
  return false;
}

// "; its inputs are: ids, mask", as many as are read with pleasure.
std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t most = 10;
  if (names.empty()) return "; it has none";
  std::string text = names.size() == 1 ? "; its input is: " : "; its inputs are: ";
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

/// What is to be known of one input before any shape is made.
struct Input {
  const ValueDef* def = nullptr;
  FlatValueId id = no_flat_value;
  TypeDef type;
  bool is_used = false;
  bool is_weight = false;      ///< every use is as a weight, or PyTorch's name for it says so
  bool is_time_first = false;  ///< a recurrent operator reads it as [time, batch, features]

  std::size_t batch_axis() const { return is_time_first ? 1 : 0; }
  bool may_have_batch() const { return is_used && !is_weight && type.extents.size() >= 2; }
};

class InputReader {
 public:
  InputReader(Session& session, bool fix_batch) : session_(session), fix_batch_(fix_batch) {}

  void read() {
    collect();
    look_at_uses();
    apply_given_shapes();
    find_batch();
    for (const Input& input : inputs_) {
      try {
        enter(input);
      } catch (Error& error) {
        error.add_context(fmt::format("input {}", quoted(input.def->name)));
        throw;
      }
    }
    warn_of_weights();
  }

 private:
  // Files of training tools list every weight as an input: one warning for all.
  void warn_of_weights() {
    if (weights_ == 0) return;
    const std::string first = quoted(first_weight_);
    session_.warn(WarningCode::value_assumed,
                  weights_ == 1
                      ? fmt::format("input {} is used as a weight; taken for learnt", first)
                      : fmt::format("{} inputs are used as weights; taken for learnt (the first "
                                    "is {})",
                                    weights_, first));
  }

  void collect() {
    const std::vector<ValueDef>& defs = session_.model.graph->inputs;
    for (std::size_t i = 0; i < defs.size(); ++i) {
      const FlatValueId id = session_.flat.inputs[i];
      if (id == no_flat_value) continue;
      try {
        inputs_.push_back({&defs[i], id, parse_type(defs[i].type)});
      } catch (Error& error) {
        error.add_context(fmt::format("input {}", quoted(defs[i].name)));
        throw;
      }
    }
  }

  void look_at_uses() {
    const FlatGraph& flat = session_.flat;
    std::vector<Input*> by_value(flat.value_names.size(), nullptr);
    for (Input& input : inputs_) {
      by_value[input.id] = &input;
      input.is_weight = true;  // until a use speaks against it
    }
    for (const FlatNode& node : flat.nodes) {
      const std::span<const FlatValueId> operands = flat.inputs_of(node);
      for (std::size_t position = 0; position < operands.size(); ++position) {
        Input* const input = by_value[operands[position]];
        if (input == nullptr) continue;
        input->is_used = true;
        if (!is_weight_position(node.def->op, position)) input->is_weight = false;
        if (position == 0 && is_time_first_recurrent(node)) input->is_time_first = true;
      }
    }
    for (const FlatValueId output : flat.outputs) {
      if (by_value[output] != nullptr) by_value[output]->is_used = true;
    }
    for (Input& input : inputs_) {
      const std::string_view name = input.def->name;
      const bool is_named_so = name.ends_with(".weight") || name.ends_with(".bias");
      input.is_weight = input.is_used && (input.is_weight || is_named_so);
    }
  }

  bool is_time_first_recurrent(const FlatNode& node) const {
    const std::string_view op = node.def->op;
    if (op != "LSTM" && op != "GRU" && op != "RNN") return false;
    const AttributeDef* const layout = find_attribute(session_.flat, node, "layout");
    if (layout == nullptr || session_.entries_read > most_entries_read) return true;
    const AttributeContent content = parse_attribute(layout->message);
    session_.entries_read += content.entries;
    return content.integer.value_or(0) == 0;
  }

  void apply_given_shapes() {
    for (const auto& [name, extents] : session_.options.input_shapes) {
      const auto input =
          std::find_if(inputs_.begin(), inputs_.end(),
                       [&name = name](const Input& i) { return i.def->name == name; });
      if (input == inputs_.end()) {
        std::vector<std::string> known;
        for (const Input& i : inputs_) known.emplace_back(printable(i.def->name));
        const std::string guess = did_you_mean(name, known);
        fail(ErrorKind::usage, "no input is called '{}'{}", name,
             guess.empty() ? names_text(known) : guess);
      }
      if (extents.size() > most_axes) {
        fail(ErrorKind::usage, "input '{}': a shape of more than {} axes", name, most_axes);
      }
      input->type.has_shape = true;
      input->type.extents.clear();
      for (const std::int64_t extent : extents) {
        if (extent < 1) {
          fail(ErrorKind::usage, "input '{}': extents are at least 1, got {}", name, extent);
        }
        input->type.extents.push_back({extent, {}});
      }
    }
  }

  // The first axis of the inputs: open, or a number on which all of them agree.
  void find_batch() {
    if (const ExtentDef* const open = open_batch()) {
      session_.batch.dim = symbols().parameter("batch", usual_batch);
      if (!open->name.empty()) session_.named_dims.emplace(open->name, session_.batch.dim);
      return;
    }
    std::optional<std::int64_t> agreed;
    for (const Input& input : inputs_) {
      if (!input.may_have_batch()) continue;
      const std::int64_t number = *input.type.extents[input.batch_axis()].number;
      if (agreed && *agreed != number) return;
      agreed = number;
    }
    if (!agreed) return;
    session_.batch.file_value = *agreed;
    session_.batch.dim = fix_batch_ ? Dim(*agreed) : symbols().parameter("batch", *agreed);
  }

  // Of several open ones the batch is the one that is called so, else the first.
  const ExtentDef* open_batch() const {
    const ExtentDef* first = nullptr;
    for (const Input& input : inputs_) {
      if (!input.may_have_batch()) continue;
      const ExtentDef& extent = input.type.extents[input.batch_axis()];
      if (is_number(extent)) continue;
      if (lower_case(extent.name).find("batch") != std::string::npos) return &extent;
      if (first == nullptr) first = &extent;
    }
    return first;
  }

  static bool is_number(const ExtentDef& extent) {
    return extent.name.empty() && extent.number && *extent.number > 0;
  }

  void enter(const Input& input) {
    if (!input.is_used) {
      session_.warn(WarningCode::part_ignored,
                    fmt::format("input {} is read by no layer", quoted(input.def->name)));
      return;
    }
    if (!input.type.is_tensor) {
      fail(ErrorKind::unsupported, "expected a tensor, got a sequence, a map or an optional");
    }
    if (!input.type.has_shape) {
      fail(ErrorKind::input, "the file does not say its shape; --input name=shape does");
    }
    const TensorType type{shape_of(input), known_dtype(input.type.type)};
    Value& value = session_.values[input.id];
    if (input.is_weight) {
      value.constant =
          session_.add_constant({.type = type, .name = input.def->name, .is_learnt = true});
      if (weights_++ == 0) first_weight_ = input.def->name;
      return;
    }
    value.tensor = session_.draft.add_tensor(
        {.type = type, .name = input.def->name, .kind = TensorKind::input});
    session_.draft.inputs.push_back(value.tensor);
  }

  Shape shape_of(const Input& input) {
    Shape shape;
    for (std::size_t axis = 0; axis < input.type.extents.size(); ++axis) {
      const ExtentDef& extent = input.type.extents[axis];
      if (extent.name.empty() && extent.number.value_or(0) < -1) {
        fail(ErrorKind::input, "extent {} of axis {}", *extent.number, axis);
      }
      shape.push_back(dim_of(input, axis, extent));
    }
    return shape;
  }

  Dim dim_of(const Input& input, std::size_t axis, const ExtentDef& extent) {
    const Batch& batch = session_.batch;
    const bool has_batch = !batch.dim.is_number() || batch.file_value > 0;
    if (input.may_have_batch() && axis == input.batch_axis() && has_batch) {
      if (!is_number(extent) && extent.name.empty()) return batch.dim;
      if (is_number(extent) && *extent.number == batch.file_value) return batch.dim;
    }
    // One label per sample; a lone 1 says nothing.
    const bool is_list = !input.is_weight && input.type.extents.size() == 1;
    if (is_list && is_number(extent) && *extent.number > 1 && *extent.number == batch.file_value) {
      return batch.dim;
    }
    if (is_number(extent)) return *extent.number;
    if (!extent.name.empty()) {
      // CNTK calls whatever is open "None".
      if (input.is_time_first && axis == 0 && lower_case(extent.name) == "none") {
        return named_dim(session_, "seq");
      }
      return named_dim(session_, extent.name);
    }
    return named_dim(session_, fmt::format("{}_{}", input.def->name, axis));
  }

  Symbols& symbols() { return session_.draft.symbols; }

  Session& session_;
  bool fix_batch_;
  std::vector<Input> inputs_;
  std::size_t weights_ = 0;
  std::string_view first_weight_;
};

}  // namespace

void enter_inputs(Session& session, bool fix_batch) { InputReader(session, fix_batch).read(); }

}  // namespace strata::onnx
