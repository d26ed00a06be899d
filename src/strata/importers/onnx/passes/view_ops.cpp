// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/view_ops.hpp"

#include "strata/importers/onnx/passes/pattern.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

namespace strata::onnx {
namespace {

std::span<const DraftId> data_of(const DraftNode& node) {
  return std::span(node.inputs).first(node.first_own);
}

std::span<const DraftId> own_of(const DraftNode& node) {
  return std::span(node.inputs).subspan(node.first_own);
}

// The one atom of an axis; −1 when it has none or several.
int only_atom(const View& view, std::int64_t axis) {
  const std::vector<int>& atoms = view.axes[normal_axis(axis, view.axes.size())];
  return atoms.size() == 1 ? atoms.front() : -1;
}

// The last axis is the last run of the base.
bool ends_with_last_axis(const View& view) {
  if (view.axes.empty() || view.axes.back().empty()) return false;
  int expected = static_cast<int>(view.atoms.size() - view.axes.back().size());
  for (const int atom : view.axes.back()) {
    if (atom != expected++) return false;
  }
  return true;
}

bool is_all_ones(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](Dim d) { return d.is(1); });
}

}  // namespace

ViewWriter::ViewWriter(Draft& draft) : draft_(draft), entries_(draft.tensors.size()) {}

View ViewWriter::view(DraftId old, const DraftNode& node) const {
  if (entries_[old].view != nullptr) return *entries_[old].view;
  const DraftId plain = entries_[old].plain == no_tensor ? old : entries_[old].plain;
  View result = view_of(plain, draft_.shape(old));
  result.origin = node.origin;
  return result;
}

// A view that is its base is no view.
void ViewWriter::set(DraftId old, View view) {
  if (view.is_in_order() && draft_.shape(view.base) == draft_.shape(old)) {
    set(old, view.base);
    return;
  }
  entries_[old].view = std::make_unique<View>(std::move(view));
}

DraftId ViewWriter::tensor(DraftId old) {
  Entry& entry = entries_[old];
  if (entry.view != nullptr) return made(*entry.view);
  return entry.plain == no_tensor ? old : entry.plain;  // stored tensors and inputs stay
}

std::vector<DraftId> ViewWriter::add_all(const DraftNode& like, Operator op,
                                         std::span<const DraftId> data) {
  std::vector<DraftId> own;
  for (const DraftId id : own_of(like)) own.push_back(tensor(id));
  const NodeId id = draft_.append(draft_.make(std::move(op), data, own, like.origin, like.suffix));
  return draft_.nodes[id].outputs;
}

DraftId ViewWriter::add(const DraftNode& like, Operator op, std::span<const DraftId> data,
                        const char* suffix) {
  const NodeId id = draft_.append(draft_.make(std::move(op), data, {}, like.origin, suffix));
  return draft_.nodes[id].outputs.front();
}

DraftId ViewWriter::reshaped(const DraftNode& like, DraftId tensor, const Shape& shape) {
  if (draft_.shape(tensor) == shape) return tensor;
  std::vector<DraftId>& known = reshapes_[tensor];
  for (const DraftId id : known) {
    if (draft_.shape(id) == shape) return id;
  }
  const DraftId result = add(like, Reshape{shape}, std::array{tensor}, "reshape");
  constexpr std::size_t most_known = 64;  // each is compared; real networks ask for a few
  if (known.size() < most_known) known.push_back(result);
  return result;
}

DraftId ViewWriter::made(View& view) {
  if (view.made != no_tensor) return view.made;
  DraftNode like;
  like.origin = view.origin;
  Shape shape;
  for (const std::vector<int>& axis : view.axes) {
    Dim extent = 1;
    for (const int atom : axis) {
      extent = draft_.symbols.multiply(extent, view.atoms[static_cast<std::size_t>(atom)]);
    }
    shape.push_back(extent);
  }
  DraftId result = view.base;
  if (!view.is_in_order()) {
    Axes permutation;
    for (const int atom : view.order()) permutation.push_back(atom);
    result = add(like, Transpose{permutation}, std::array{as_atoms(like, view)}, "transpose");
  }
  view.made = reshaped(like, result, shape);
  return view.made;
}

DraftId ViewWriter::as_atoms(const DraftNode& node, const View& view) {
  return reshaped(node, view.base, Shape(std::span<const Dim>(view.atoms)));
}

std::optional<DraftId> ViewWriter::with_last_axis(const DraftNode& node, const View& view) {
  if (!ends_with_last_axis(view)) return std::nullopt;
  const std::size_t run = view.axes.back().size();
  const std::size_t lead = view.atoms.size() - run;
  Dim extent = 1;
  for (std::size_t i = lead; i < view.atoms.size(); ++i) {
    extent = draft_.symbols.multiply(extent, view.atoms[i]);
  }
  const Shape& base = draft_.shape(view.base);
  if (!base.empty() && base.back() == extent) return view.base;
  Shape shape;
  for (std::size_t i = 0; i < lead; ++i) shape.push_back(view.atoms[i]);
  shape.push_back(extent);
  return reshaped(node, view.base, shape);
}

void ViewWriter::write(const DraftNode& node) {
  if (const auto* transpose = std::get_if<Transpose>(node.op.get())) {
    View transposed = permuted(view(node.inputs[0], node), transpose->permutation);
    transposed.origin = node.origin;
    return set(node.outputs[0], std::move(transposed));
  }
  if (std::holds_alternative<Reshape>(*node.op)) {
    const std::optional<View> grouped =
        regrouped(view(node.inputs[0], node), draft_.shape(node.outputs[0]), draft_.symbols);
    if (grouped) return set(node.outputs[0], *grouped);
    return write_plain(node);
  }
  if (std::holds_alternative<MatMul>(*node.op)) return write_matmul(node);
  const std::span<const DraftId> data = data_of(node);
  const bool meets_view =
      std::any_of(data.begin(), data.end(), [this](DraftId id) { return is_view(id); });
  if (!meets_view || !write_on_view(node)) write_plain(node);
}

void ViewWriter::write_plain(const DraftNode& node) {
  std::vector<DraftId> data;
  for (const DraftId id : data_of(node)) data.push_back(tensor(id));
  const std::vector<DraftId> outputs = add_all(node, *node.op, data);
  for (std::size_t i = 0; i < outputs.size(); ++i) set(node.outputs[i], outputs[i]);
}

bool ViewWriter::write_on_view(const DraftNode& node) {
  return std::visit(
      [&](const auto& op) {
        using Op = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<Op, Unary>) {
          return op.kind != UnaryKind::prelu && write_pointwise(node);
        } else if constexpr (std::is_same_v<Op, Cast> || std::is_same_v<Op, Dropout>) {
          return write_pointwise(node);
        } else if constexpr (std::is_same_v<Op, Linear>) {
          return write_on_last_axis(node);
        } else if constexpr (std::is_same_v<Op, LayerNorm> || std::is_same_v<Op, RmsNorm>) {
          return op.axis == -1 && write_on_last_axis(node);
        } else if constexpr (std::is_same_v<Op, Elementwise>) {
          return write_elementwise(node);
        } else if constexpr (std::is_same_v<Op, Reduce>) {
          return write_reduce(node);
        } else if constexpr (std::is_same_v<Op, Gather>) {
          return write_gather(node);
        } else if constexpr (std::is_same_v<Op, Slice>) {
          return write_slice(node);
        } else if constexpr (std::is_same_v<Op, Split>) {
          return write_split(node);
        } else if constexpr (std::is_same_v<Op, Softmax>) {
          return write_softmax(node);
        } else if constexpr (std::is_same_v<Op, Concat>) {
          return write_concat(node);
        } else {
          return false;
        }
      },
      *node.op);
}

bool ViewWriter::write_pointwise(const DraftNode& node) {
  View result = view(node.inputs[0], node);
  result.base = add_all(node, *node.op, std::array{result.base}).front();
  result.made = no_tensor;
  set(node.outputs[0], std::move(result));
  return true;
}

// Y = f(X) on the last axis, row by row: rows may come in any order.
bool ViewWriter::write_on_last_axis(const DraftNode& node) {
  View result = view(node.inputs[0], node);
  const std::optional<DraftId> x = with_last_axis(node, result);
  if (!x) return false;
  const Dim extent = draft_.shape(node.outputs[0]).back();
  result.base = add_all(node, *node.op, std::array{*x}).front();
  result.made = no_tensor;
  result.atoms.resize(result.atoms.size() - result.axes.back().size());
  result.axes.back().clear();
  if (!extent.is(1)) {
    result.axes.back().push_back(static_cast<int>(result.atoms.size()));
    result.atoms.push_back(extent);
  }
  set(node.outputs[0], std::move(result));
  return true;
}

// Operands under the same view, scalars, and vectors on the last axis.
bool ViewWriter::write_elementwise(const DraftNode& node) {
  const auto leading = std::find_if(node.inputs.begin(), node.inputs.end(),
                                    [this](DraftId id) { return is_view(id); });
  View result = view(*leading, node);
  const Shape y = draft_.shape(node.outputs[0]);
  if (draft_.shape(*leading) != y) return false;
  bool has_vector = false;
  bool has_one_shape = true;
  for (const DraftId id : node.inputs) {
    if (is_view(id)) {
      const View& other = *entries_[id].view;
      if (!other.has_same_structure(result)) return false;
      has_one_shape = has_one_shape && draft_.shape(other.base) == draft_.shape(result.base);
    } else if (!is_all_ones(draft_.shape(id))) {
      if (!covers_last(draft_, id, {y.back()}) || !ends_with_last_axis(result)) return false;
      has_vector = true;
    }
  }
  // Bases of one shape are combined as they are; others, cut differently, atom by atom. A vector
  // meets its axis in the first case only, and only if the base ends with it.
  const Shape& base = draft_.shape(result.base);
  if (has_vector && (!has_one_shape || base.empty() || base.back() != y.back())) return false;
  std::vector<DraftId> data;
  for (const DraftId id : node.inputs) {
    if (is_view(id)) {
      const View& other = *entries_[id].view;
      data.push_back(has_one_shape ? other.base : as_atoms(node, other));
    } else {
      const Shape given = draft_.shape(id);
      const bool fits = given.size() <= draft_.shape(result.base).size();
      if (is_all_ones(given)) {
        data.push_back(fits ? tensor(id) : reshaped(node, tensor(id), {}));
      } else {
        data.push_back(reshaped(node, tensor(id), {y.back()}));
      }
    }
  }
  result.base = add_all(node, *node.op, data).front();
  result.made = no_tensor;
  set(node.outputs[0], std::move(result));
  return true;
}

bool ViewWriter::write_reduce(const DraftNode& node) {
  const Reduce& op = op_of<Reduce>(node);
  View result = view(node.inputs[0], node);
  std::vector<bool> is_reduced(result.axes.size(), op.axes.empty());
  for (const std::int64_t axis : op.axes) is_reduced[normal_axis(axis, result.axes.size())] = true;
  std::vector<int> atoms;
  for (std::size_t axis = 0; axis < result.axes.size(); ++axis) {
    if (!is_reduced[axis]) continue;
    atoms.insert(atoms.end(), result.axes[axis].begin(), result.axes[axis].end());
  }
  if (atoms.empty()) return false;
  std::sort(atoms.begin(), atoms.end());
  Reduce on_atoms{op.kind, {}, false};
  for (const int atom : atoms) on_atoms.axes.push_back(atom);
  result.base = add_all(node, on_atoms, std::array{as_atoms(node, result)}).front();
  result.made = no_tensor;
  std::vector<std::vector<int>> axes;
  for (std::size_t axis = 0; axis < result.axes.size(); ++axis) {
    if (is_reduced[axis] && !op.keep_axes) continue;
    axes.push_back(is_reduced[axis] ? std::vector<int>{} : result.axes[axis]);
  }
  result.axes = std::move(axes);
  for (auto atom = atoms.rbegin(); atom != atoms.rend(); ++atom) erase_atom(result, *atom);
  set(node.outputs[0], std::move(result));
  return true;
}

// One position of an axis, which goes away.
bool ViewWriter::write_gather(const DraftNode& node) {
  const DraftId indices = node.inputs[1];
  if (!is_view(node.inputs[0]) || is_view(indices) || !draft_.shape(indices).empty()) return false;
  View result = view(node.inputs[0], node);
  const std::int64_t axis = op_of<Gather>(node).axis;
  const int atom = only_atom(result, axis);
  if (atom < 0) return false;
  const std::array data = {as_atoms(node, result), tensor(indices)};
  result.base = add_all(node, Gather{atom}, data).front();
  result.made = no_tensor;
  result.axes.erase(result.axes.begin() +
                    static_cast<std::ptrdiff_t>(normal_axis(axis, result.axes.size())));
  erase_atom(result, atom);
  set(node.outputs[0], std::move(result));
  return true;
}

bool ViewWriter::write_slice(const DraftNode& node) {
  Slice op = op_of<Slice>(node);
  View result = view(node.inputs[0], node);
  const Shape y = draft_.shape(node.outputs[0]);
  std::vector<int> cut;
  for (std::int64_t& axis : op.axes) {
    const int atom = only_atom(result, axis);
    const Dim left = y[normal_axis(axis, y.size())];
    if (atom < 0 || left.is(1)) return false;
    cut.push_back(atom);
    axis = atom;
  }
  result.base = add_all(node, op, std::array{as_atoms(node, result)}).front();
  result.made = no_tensor;
  for (const int atom : cut) {
    result.atoms[static_cast<std::size_t>(atom)] =
        draft_.shape(result.base)[static_cast<std::size_t>(atom)];
  }
  set(node.outputs[0], std::move(result));
  return true;
}

bool ViewWriter::write_split(const DraftNode& node) {
  Split op = op_of<Split>(node);
  const View whole = view(node.inputs[0], node);
  const int atom = only_atom(whole, op.axis);
  if (atom < 0) return false;
  const std::size_t axis = normal_axis(op.axis, whole.axes.size());
  for (const DraftId output : node.outputs) {
    if (draft_.shape(output)[axis].is(1)) return false;
  }
  op.axis = atom;
  const std::vector<DraftId> parts = add_all(node, op, std::array{as_atoms(node, whole)});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    View part = whole;
    part.base = parts[i];
    part.made = no_tensor;
    part.atoms[static_cast<std::size_t>(atom)] =
        draft_.shape(parts[i])[static_cast<std::size_t>(atom)];
    set(node.outputs[i], std::move(part));
  }
  return true;
}

bool ViewWriter::write_softmax(const DraftNode& node) {
  Softmax op = op_of<Softmax>(node);
  View result = view(node.inputs[0], node);
  const int atom = only_atom(result, op.axis);
  if (atom < 0) return false;
  op.axis = atom;
  result.base = add_all(node, op, std::array{as_atoms(node, result)}).front();
  result.made = no_tensor;
  set(node.outputs[0], std::move(result));
  return true;
}

// Views that differ in nothing but the extent of the joined axis.
bool ViewWriter::write_concat(const DraftNode& node) {
  Concat op = op_of<Concat>(node);
  View result = view(node.inputs[0], node);
  const int atom = only_atom(result, op.axis);
  if (atom < 0) return false;
  for (const DraftId id : node.inputs) {
    View other = view(id, node);
    if (!is_view(id) || other.axes != result.axes) return false;
    other.atoms[static_cast<std::size_t>(atom)] = result.atoms[static_cast<std::size_t>(atom)];
    if (other.atoms != result.atoms) return false;
  }
  std::vector<DraftId> parts;
  for (const DraftId id : node.inputs) parts.push_back(as_atoms(node, view(id, node)));
  op.axis = atom;
  result.base = add_all(node, op, parts).front();
  result.made = no_tensor;
  result.atoms[static_cast<std::size_t>(atom)] =
      draft_.shape(result.base)[static_cast<std::size_t>(atom)];
  set(node.outputs[0], std::move(result));
  return true;
}

// An operand whose last two axes are swapped needs no transpose: the product can do it.
void ViewWriter::write_matmul(const DraftNode& node) {
  MatMul op = op_of<MatMul>(node);
  std::array<DraftId, 2> data{};
  for (std::size_t i = 0; i < 2; ++i) {
    const DraftId id = node.inputs[i];
    if (is_view(id) && !entries_[id].view->is_in_order()) {
      const View& given = *entries_[id].view;
      View swapped = given;
      swapped.made = no_tensor;
      std::swap(swapped.axes[swapped.axes.size() - 1], swapped.axes[swapped.axes.size() - 2]);
      if (swapped.is_in_order()) {
        bool& flag = i == 0 ? op.transpose_a : op.transpose_b;
        flag = !flag;
        data[i] = made(swapped);
        continue;
      }
    }
    data[i] = tensor(id);
  }
  set(node.outputs[0], add_all(node, op, data).front());
}

}  // namespace strata::onnx
