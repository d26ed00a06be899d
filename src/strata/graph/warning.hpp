// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace strata {

/// Everything Strata may warn about in a network. A closed list: each code has a name that people
/// can look up, and each message says what to do.
enum class WarningCode : std::uint8_t {
  operator_not_counted,  ///< an operator Strata does not know: shapes known, cost not
  batch_norm_folded,  ///< an inference export: convolutions without the normalisation that training
                      ///< has
  dropout_missing,    ///< an inference export without dropout
  batch_fixed_in_file,  ///< the file fixes the batch in a way that cannot be re-bound
  value_assumed,        ///< something the file leaves open was chosen
  part_ignored,  ///< a part of the file has no bearing on the network's cost and was left out
                 // the last: warning_named goes up to here
};

struct Warning {
  WarningCode code = WarningCode::value_assumed;
  std::string message;
  friend bool operator==(const Warning&, const Warning&) = default;
};

/// "operator-not-counted": how a code is shown, looked up and silenced.
std::string_view name_of(WarningCode code);

/// The code of that name, or nothing.
std::optional<WarningCode> warning_named(std::string_view name);

}  // namespace strata
