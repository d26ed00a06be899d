// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/machine/machine.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace strata {

/// Why a machine file is refused; "accepted" when it is not.
inline std::string refusal(const nlohmann::json& document) {
  try {
    read_machine(document.dump());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

}  // namespace strata
