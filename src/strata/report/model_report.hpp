// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/model_summary.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A ModelSummary as text of several kinds: pure functions, one file each. Who calls decides where
/// the text goes.
namespace strata {

enum class GroupBy { layer, type, block };

/// Which rows a table has.
struct ModelView {
  GroupBy by = GroupBy::layer;
  std::size_t top = 0;  ///< only so many rows, those with the most FLOP first; 0: all, in order
};

struct ModelRow {
  std::string_view name;
  const LayerCounts* counts = nullptr;
  const LayerSummary* layer = nullptr;  ///< nullptr for a group
};

std::vector<ModelRow> rows_of(const ModelSummary& summary, const ModelView& view);

/// The numbers of a row under the names that JSON and CSV give them, in base units.
struct CountField {
  std::string_view key;
  std::int64_t (*value)(const LayerCounts& counts);
};
std::span<const CountField> count_fields();

/// "32×64×112×112"; "scalar" when there are no axes.
std::string shape_text(std::span<const std::int64_t> shape, std::string_view separator = "×");

/// A table for people, with totals and where the numbers come from.
std::string to_text(const ModelSummary& summary, const ModelView& view, const TextStyle& style);
/// One line per row of the view.
std::string to_csv(const ModelSummary& summary, const ModelView& view);
/// Everything, whatever the view. Keys and units are documented in docs/cli/show.md.
std::string to_json(const ModelSummary& summary, const Provenance& provenance);
/// The network as a Graphviz digraph, one cluster per block.
std::string to_dot(const ModelSummary& summary);

}  // namespace strata
