// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/fusion_parts.hpp"

#include "strata/framework/tensor_types.hpp"
#include "strata/graph/operator_names.hpp"

#include <algorithm>

namespace strata {
namespace {

/// Of the call with that index.
std::span<const FrameworkOperation> operations_of_call(const FrameworkOperations& written,
                                                       std::size_t call) {
  const std::size_t first = written.calls[call].first;
  const std::size_t end =
      call + 1 < written.calls.size() ? written.calls[call + 1].first : written.operations.size();
  return std::span(written.operations).subspan(first, end - first);
}

/// Where what a part makes can be read: beside it, or by the next kernel only.
std::uint32_t depth_behind(const FusionPart& maker) {
  return maker.depth + (maker.stays || maker.is_reduction ? 1 : 0);
}

}  // namespace

bool is_single_number(const FrameworkOperation& operation) {
  return form_of(operation.kernel_class) == KernelForm::elements && operation.dims[0] <= 1;
}

FusionParts::FusionParts(const Program& program, const Framework& framework,
                         const FrameworkOptions& options, const FrameworkOperations& written)
    : program_(program),
      framework_(framework),
      rules_(*framework.fusion),
      options_(options),
      types_(tensor_types(*program.bound, framework, options.autocast)),
      maker_(program.values.size(), no_part) {
  std::size_t call = 0;
  for (StepId id = 0; id < program.steps.size(); ++id) {
    if (program.steps[id].pass == Pass::update) continue;
    const bool has_call = call < written.calls.size() && written.calls[call].step == id;
    add_step(id,
             has_call ? operations_of_call(written, call) : std::span<const FrameworkOperation>());
    if (has_call) ++call;
  }
  sink();
}

bool FusionParts::is_data(ValueId value) const {
  const ValueKind kind = program_.values[value].kind;
  return kind == ValueKind::input || kind == ValueKind::feature || kind == ValueKind::saved ||
         kind == ValueKind::gradient;
}

double FusionParts::numbers_of(ValueId id) const {
  const Value& value = program_.values[id];
  return static_cast<double>(value.bytes) /
         static_cast<double>(bytes_per_element(program_.bound->tensors[value.tensor].dtype));
}

double FusionParts::stored_bytes(ValueId id) const {
  const Value& value = program_.values[id];
  if (value.kind == ValueKind::saved || !is_floating(program_.bound->tensors[value.tensor].dtype))
    return static_cast<double>(value.bytes);
  if (maker_[id] != no_part && is_lower_product(parts_[maker_[id]])) return lower_bytes(id);
  return numbers_of(id) * static_cast<double>(bytes_per_element(types_[value.tensor]));
}

double FusionParts::lower_bytes(ValueId id) const { return 2 * numbers_of(id); }

bool FusionParts::is_lower_product(const FusionPart& part) const {
  const NodeId node = program_.steps[part.step].node;
  return part.stays && options_.autocast && node != no_node &&
         autocast_kind(framework_.autocast, name_of(program_.bound->graph->nodes[node].op)) ==
             AutocastKind::lower;
}

void FusionParts::add_step(StepId id, std::span<const FrameworkOperation> operations) {
  const Step& step = program_.steps[id];
  FusionPart part{.step = id, .launches = !operations.empty(), .operations = operations};
  const bool is_compiled = step.node != no_node || step.is_gradient_sum;  // the loss is not
  // A transpose is a view that kernels read through. What is cut out of a tensor lies in a whole
  // one, which must be stored.
  part.stays = !is_compiled ||
               (operations.empty() &&
                !(step.node != no_node &&
                  std::holds_alternative<Transpose>(program_.bound->graph->nodes[step.node].op)));
  bool reduces = false, goes_on = false;
  for (const FrameworkOperation& one : operations) {
    if (is_single_number(one)) continue;
    const FusionKind kind = rules_.kind_of(one.kernel_class);
    part.stays |= kind == FusionKind::stays;
    reduces |= kind == FusionKind::reduction;
    goes_on |= kind == FusionKind::pointwise;
    if (std::count(rules_.random.begin(), rules_.random.end(), one.kernel_class) > 0)
      part.random_numbers += one.dims[0];
  }
  if (part.stays || !reduces) {
    add(part);
    return;
  }
  FusionPart reduction = part;
  reduction.is_reduction = true;
  reduction.writes = !goes_on;
  const std::uint32_t behind = depth_behind(add(reduction));
  if (!goes_on) return;
  part.depth = behind;
  part.random_numbers = 0;
  part.operations = {};
  add(part);
}

/// Its depth is at least what it is given with.
const FusionPart& FusionParts::add(FusionPart part) {
  const auto id = static_cast<PartId>(parts_.size());
  each_use(part, [&](const Use& use) {
    const double bytes = static_cast<double>(program_.values[use.value].bytes);
    if (use.reads) part.own_bytes += bytes;
    if (use.writes && part.writes) part.own_bytes += bytes;
    if (use.reads && maker_[use.value] != no_part)
      part.depth = std::max(part.depth, depth_behind(parts_[maker_[use.value]]));
  });
  each_use(part, [&](const Use& use) {
    if (use.writes && part.writes) maker_[use.value] = id;
  });
  parts_.push_back(part);
  return parts_.back();
}

/// A part whose results only deeper kernels read moves to the first of them.
void FusionParts::sink() {
  constexpr std::uint32_t unread = ~std::uint32_t{0};
  std::vector<std::uint32_t> reader_depth(program_.values.size(), unread);
  std::vector<bool> must_be_stored(program_.values.size(), false);
  for (std::size_t i = parts_.size(); i-- > 0;) {
    FusionPart& part = parts_[i];
    std::uint32_t shallowest = unread;
    bool may_sink = !part.stays && !part.is_reduction;
    each_use(part, [&](const Use& use) {
      if (!use.writes) return;
      may_sink &= !must_be_stored[use.value] && !program_.values[use.value].is_result;
      shallowest = std::min(shallowest, reader_depth[use.value]);
    });
    if (may_sink && shallowest != unread) part.depth = std::max(part.depth, shallowest);
    each_use(part, [&](const Use& use) {
      if (!use.reads) return;
      if (part.stays) must_be_stored[use.value] = true;
      reader_depth[use.value] = std::min(reader_depth[use.value], part.depth);
    });
  }
}

}  // namespace strata
