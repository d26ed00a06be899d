// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/palette.hpp"

#include <algorithm>
#include <optional>

namespace strata::chart {

// Okabe and Ito's eight, the best to be told apart on white first. Their yellow is darker here and
// their black is grey, to be seen on white and to differ from text. Lighter ones for dark pages.
// Then a second tone of each; that of sky blue would be another blue, so it is violet.
const Palette light_palette = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
                               "#444444", "#C8B900", "#00406B", "#8A3A00", "#005F45", "#8A4A70",
                               "#8A5F00", "#8A84D6", "#949494", "#746B00"};
const Palette dark_palette = {"#5AA9E6", "#F07F3C", "#2BC79A", "#E39AC2", "#F0B73A", "#A5DCF7",
                              "#D0D0D0", "#F0E442", "#2F6FA3", "#A8501C", "#1A8566", "#A0648A",
                              "#A87A1C", "#8C8CE0", "#808080", "#A39A1E"};

// The map "viridis" (van der Walt and Smith, 2015) in equal steps: its lightness rises evenly, for
// people with any colour vision and in print without colour.
const std::array<std::string_view, shade_count> shade_colors = {
    "#440154", "#481a6c", "#472f7d", "#414487", "#39568c", "#31688e", "#2a788e", "#23888e",
    "#1f988b", "#22a884", "#35b779", "#54c568", "#7ad151", "#a5db36", "#d2e21b", "#fde725"};

namespace {

constexpr std::pair<std::string_view, Color> kinds[] = {
    // Types of layers that often meet differ.
    {"convolution", 0},
    {"batch_norm", 1},
    {"relu", 2},
    {"linear", 3},
    {"max_pool", 4},
    {"add", 5},
    {"other", 6},
    {"update", 7},
    {"attention", 8},
    {"softmax", 9},
    {"dropout", 10},
    {"matmul", 11},
    {"embedding", 12},
    {"gradient_sum", 13},
    {"concat", 14},
    {"loss", 15},
    {"layer_norm", 1},
    {"local_response_norm", 9},
    {"group_norm", 1},
    {"normalisation", 1},
    {"gelu", 2},
    {"relu6", 2},
    {"silu", 2},
    {"element_wise", 2},
    {"gemm", 3},
    {"adaptive_average_pool", 12},
    {"average_pool", 12},
    {"pooling", 4},
    {"multiply", 13},
    {"optimizer", 7},
    {"lstm", 8},
    {"gru", 8},
    {"rnn", 8},
    {"copy", 14},
    {"collective", 4},
    {"reduction", 10},
    {"sort", 15},
    // Bounds and passes.
    {"compute", 0},
    {"memory", 1},
    {"launch", 3},
    {"forward", 0},
    {"backward", 1},
    {"backward_input", 1},
    {"backward_weight", 2},
    // Strategies of convolution.
    {"direct", 0},
    {"unroll", 1},
    {"fft", 2},
    {"winograd2", 3},
    {"winograd4", 11},
};

std::optional<Color> own_color(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kinds), std::end(kinds),
                                         [&](const auto& kind) { return kind.first == name; });
  return found == std::end(kinds) ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::span<const std::pair<std::string_view, Color>> known_kinds() { return kinds; }

std::vector<Color> colors_of_kinds(std::span<const std::string> names) {
  std::array<bool, palette_size> is_taken = {};
  std::vector<std::optional<Color>> found(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::optional<Color> own = own_color(names[i]);
    if (!own || is_taken[*own]) continue;
    is_taken[*own] = true;
    found[i] = own;
  }
  std::vector<Color> colors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!found[i]) {
      const auto free = std::find(is_taken.begin(), is_taken.end(), false);
      const auto next = static_cast<Color>(free - is_taken.begin());
      found[i] = free == is_taken.end() ? i % palette_size : next;
      is_taken[*found[i]] = true;
    }
    colors.push_back(*found[i]);
  }
  return colors;
}

}  // namespace strata::chart
