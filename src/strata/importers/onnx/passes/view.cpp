// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/view.hpp"

#include <algorithm>

namespace strata::onnx {
namespace {

// Atom `atom` becomes two, the outer one first.
void split_atom(View& view, std::vector<int>& rest, int atom, Dim outer, Dim inner) {
  view.atoms[static_cast<std::size_t>(atom)] = outer;
  view.atoms.insert(view.atoms.begin() + atom + 1, inner);
  const auto shift = [atom](int& other) {
    if (other > atom) ++other;
  };
  for (std::vector<int>& axis : view.axes) std::for_each(axis.begin(), axis.end(), shift);
  std::for_each(rest.begin(), rest.end(), shift);
  rest.insert(rest.begin() + 1, atom + 1);
}

}  // namespace

std::vector<int> View::order() const {
  std::vector<int> result;
  for (const std::vector<int>& axis : axes) result.insert(result.end(), axis.begin(), axis.end());
  return result;
}

bool View::is_in_order() const {
  int next = 0;
  for (const std::vector<int>& axis : axes) {
    for (const int atom : axis) {
      if (atom != next++) return false;
    }
  }
  return true;
}

View view_of(DraftId base, const Shape& shape) {
  View view;
  view.base = base;
  for (const Dim extent : shape) {
    view.axes.emplace_back();
    if (extent.is(1)) continue;
    view.axes.back().push_back(static_cast<int>(view.atoms.size()));
    view.atoms.push_back(extent);
  }
  return view;
}

std::optional<Dim> exact_quotient(Symbols& symbols, Dim a, Dim b) {
  if (a == b) return Dim(1);
  if (b.is(1)) return a;
  if (b.factor < 1 || a.factor % b.factor != 0) return std::nullopt;
  if (b.is_number()) return Dim(a.factor / b.factor, a.symbol);
  if (a.symbol == b.symbol) return Dim(a.factor / b.factor);
  if (a.is_number()) return std::nullopt;
  const std::optional<Dim> quotient = symbols.divide_exactly(a, b);
  if (!quotient || symbols.multiply(*quotient, b) != a) return std::nullopt;
  return quotient;
}

std::optional<View> regrouped(const View& view, const Shape& shape, Symbols& symbols) {
  View result = view;
  result.made = no_tensor;
  result.axes.clear();
  std::vector<int> rest = view.order();
  for (const Dim extent : shape) {
    result.axes.emplace_back();
    Dim missing = extent;
    while (!missing.is(1)) {
      if (rest.empty()) return std::nullopt;
      const int atom = rest.front();
      const Dim size = result.atoms[static_cast<std::size_t>(atom)];
      if (const auto left = exact_quotient(symbols, missing, size)) {
        missing = *left;
      } else if (const auto inner = exact_quotient(symbols, size, missing)) {
        if (result.atoms.size() >= most_axes) return std::nullopt;
        split_atom(result, rest, atom, missing, *inner);
        missing = 1;
      } else {
        return std::nullopt;
      }
      result.axes.back().push_back(atom);
      rest.erase(rest.begin());
    }
  }
  if (!rest.empty()) return std::nullopt;
  return result;
}

View permuted(const View& view, const Axes& permutation) {
  View result = view;
  result.made = no_tensor;
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    result.axes[i] = view.axes[normal_axis(permutation[i], view.axes.size())];
  }
  return result;
}

void erase_atom(View& view, int atom) {
  view.atoms.erase(view.atoms.begin() + atom);
  for (std::vector<int>& axis : view.axes) {
    for (int& other : axis) {
      if (other > atom) --other;
    }
  }
}

}  // namespace strata::onnx
