// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/dim.hpp"
#include "strata/graph/shape.hpp"
#include "strata/importers/network/document.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::network {

/// The extents of a file: numbers, names of dimensions, and formulas of both ("4*batch", "(seq -
/// 3)/2 + 1"; / rounds down, ceil(a/b) up, max and min take two). "batch" and "seq" are known to
/// every network, other names only when declared: a slip of the pen must not become a new
/// dimension.
class DimReader {
 public:
  explicit DimReader(Symbols& symbols) : symbols_(symbols) {}

  void declare(std::string_view name, std::optional<std::int64_t> default_value);

  Dim read(const Value& value);
  Shape read_shape(const Value& value);
  /// A shape that something really has: extents of at least 1.
  Shape read_positive_shape(const Value& value);

  Dim parse(std::string_view formula);
  Dim named(std::string_view name);

  Symbols& symbols() { return symbols_; }

 private:
  Symbols& symbols_;
  std::vector<std::string> declared_;
};

/// Whether a dimension may be called so: letters, digits and _, no digit first, and none of the
/// functions.
bool is_dim_name(std::string_view name);

/// "batch" and "seq".
bool is_known_dim(std::string_view name);

/// A formula that DimReader reads as the same Dim.
std::string formula_of(Dim dim, const Symbols& symbols);

}  // namespace strata::network
