// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/warning.hpp"

namespace strata {

std::string_view name_of(WarningCode code) {
  switch (code) {
    case WarningCode::operator_not_counted: return "operator-not-counted";
    case WarningCode::batch_norm_folded: return "batch-norm-folded";
    case WarningCode::dropout_missing: return "dropout-missing";
    case WarningCode::batch_fixed_in_file: return "batch-fixed-in-file";
    case WarningCode::value_assumed: return "value-assumed";
    case WarningCode::part_ignored: return "part-ignored";
  }
  return "unknown";
}

std::optional<WarningCode> warning_named(std::string_view name) {
  for (int code = 0; code <= static_cast<int>(WarningCode::part_ignored); ++code) {
    if (name_of(static_cast<WarningCode>(code)) == name) return static_cast<WarningCode>(code);
  }
  return std::nullopt;
}

}  // namespace strata
