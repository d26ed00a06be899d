// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace strata {

/// "void scale<float>(float*)" of "_Z5scaleIfEvPT_"; what is no mangled name stays as it is.
std::string readable_symbol(const std::string& symbol);

}  // namespace strata
