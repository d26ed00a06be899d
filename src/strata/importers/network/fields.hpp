// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/operators.hpp"
#include "strata/importers/network/dims.hpp"
#include "strata/importers/network/document.hpp"

#include <nlohmann/json.hpp>

/// The fields of an operator between a file and the struct, both ways along the table in
/// graph/operator_fields.hpp.
namespace strata::network {

/// Sets the fields of `op` for which `keys` has a value. One number in place of a list stands for
/// each of `spatial_axes` axes. Returns the first required field that is absent, as a message;
/// empty when all are there. It is the caller's to raise it after looking for unknown keys, because
/// a misspelt key is the likelier cause and the better message.
std::string read_fields(Operator& op, TableReader& keys, DimReader& dims, std::size_t spatial_axes);

/// The fields in which `op` differs from the operator that its name alone gives.
nlohmann::ordered_json written_fields(const Operator& op, const Symbols& symbols,
                                      std::size_t spatial_axes);

/// Shapes and data types as a file has them.
nlohmann::ordered_json written_shape(const Shape& shape, const Symbols& symbols);
DType read_dtype(const Value& value);

/// How many axes the window of an operator on a tensor of that shape slides over: all but samples
/// and channels.
std::size_t spatial_axes_of(const Shape& shape);

}  // namespace strata::network
