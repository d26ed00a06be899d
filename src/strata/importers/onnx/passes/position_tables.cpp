// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/passes.hpp"
#include "strata/importers/onnx/passes/readers.hpp"
#include "strata/importers/onnx/tensor_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

// Attention within windows adds a bias to its scores: a number per head and relative position, from
// a learnt table. An exporter that folds constants stores what it looked up, [1, heads, N, N], many
// times the table.
namespace strata::onnx {
namespace {

/// A stored bias, and the table that it was looked up in.
struct PositionBias {
  DraftId bias;
  std::int64_t heads;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t positions = 0;  ///< rows of the table
  bool is_assumed = false;     ///< by the shape alone
};

// [1, …, heads, rows, columns] in numbers.
std::optional<PositionBias> per_head_bias(const Draft& draft, DraftId id) {
  const Shape& shape = draft.shape(id);
  if (shape.size() < 3) return std::nullopt;
  const std::size_t lead = shape.size() - 3;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!shape[axis].is_number() || (axis < lead && !shape[axis].is(1))) return std::nullopt;
  }
  const PositionBias bias{id, shape[lead].factor, shape[lead + 1].factor, shape[lead + 2].factor};
  if (bias.heads < 2 || bias.rows < 2 || bias.columns < 2) return std::nullopt;
  return bias;
}

// A window of side w has (2w − 1)² relative positions.
std::optional<std::int64_t> positions_of_window(std::int64_t places) {
  const std::int64_t side = std::llround(std::sqrt(static_cast<double>(places)));
  if (side * side != places) return std::nullopt;
  return (2 * side - 1) * (2 * side - 1);
}

// By its numbers where they can be seen: places with the same numbers in all heads are one
// position.
bool find_positions(const Draft& draft, PositionBias& bias) {
  const TensorDef* const data = draft.tensors[bias.bias].data;
  const std::optional<std::int64_t> seen =
      data == nullptr ? std::nullopt : different_columns(*data, bias.heads);
  const std::int64_t places = bias.rows * bias.columns;
  if (seen && *seen > 1) {
    bias.positions = *seen;
    return *seen <= places / 2;
  }
  // 'layers.0.attention.bias' is stored as the network has it; 'onnx::Add_42' was computed.
  const bool is_computed = draft.tensors[bias.bias].name.find('.') == std::string_view::npos;
  const std::optional<std::int64_t> of_window = positions_of_window(bias.rows);
  if (bias.rows != bias.columns || !of_window || !is_computed) return false;
  bias.positions = *of_window;
  bias.is_assumed = true;
  return true;
}

bool is_added_to_scores(const Draft& draft, const Readers& readers, DraftId bias) {
  const std::span<const NodeId> nodes = readers.of(bias);
  return !nodes.empty() && std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const auto* op = std::get_if<Elementwise>(draft.nodes[id].op.get());
    return op != nullptr && op->kind == ElementwiseKind::add &&
           leads_to_softmax(draft, readers, draft.nodes[id].outputs[0]);
  });
}

DraftId looked_up(Draft& draft, Rewriter& rewriter, const PositionBias& bias,
                  std::uint32_t origin) {
  const Shape shape = draft.shape(bias.bias);
  const DraftId table =
      draft.add_tensor({.type = {{bias.positions, bias.heads}, draft.type(bias.bias).dtype},
                        .name = draft.tensors[bias.bias].name,
                        .role = "table",
                        .kind = TensorKind::parameter});
  const DraftId places = draft.add_tensor({.type = {{bias.rows * bias.columns}, DType::int64},
                                           .role = "positions",
                                           .kind = TensorKind::constant});
  const DraftId rows = rewriter.add(Embedding{bias.positions, bias.heads}, std::array{places},
                                    std::array{table}, origin, "positions");
  const DraftId heads_last =
      rewriter.add(Reshape{{bias.rows, bias.columns, bias.heads}}, {rows}, origin, "split");
  const DraftId heads_first =
      rewriter.add(Transpose{{2, 0, 1}}, {heads_last}, origin, "heads_first");
  return rewriter.add(Reshape{shape}, {heads_first}, origin, "bias");
}

void warn_of_tables(Session& session, std::size_t count, std::size_t assumed) {
  if (count == 0) return;
  session.warn(WarningCode::value_assumed,
               fmt::format("the export stores {} position {} expanded to all pairs of places; the "
                           "learnt table behind {} is put back{}",
                           count, count == 1 ? "bias" : "biases", count == 1 ? "it" : "each",
                           assumed == 0 ? "" : ", with a row per relative position in a window"));
}

}  // namespace

void restore_position_tables(Session& session) {
  Draft& draft = session.draft;
  const Readers readers(draft);
  Rewriter rewriter(draft);
  std::size_t count = 0;
  std::size_t assumed = 0;
  const auto stored = static_cast<DraftId>(draft.tensors.size());
  for (DraftId id = 0; id < stored; ++id) {
    const DraftTensor& tensor = draft.tensors[id];
    if (tensor.kind != TensorKind::parameter || session.signature.is_learnt(tensor.name)) continue;
    std::optional<PositionBias> bias = per_head_bias(draft, id);
    if (!bias || !is_added_to_scores(draft, readers, id) || !find_positions(draft, *bias)) continue;
    const NodeId first = readers.of(id).front();
    rewriter.place_before(first);
    rewriter.replace(id, looked_up(draft, rewriter, *bias, draft.nodes[first].origin));
    ++count;
    assumed += bias->is_assumed ? 1 : 0;
  }
  if (rewriter.has_changes()) rewriter.apply();
  warn_of_tables(session, count, assumed);
}

}  // namespace strata::onnx
