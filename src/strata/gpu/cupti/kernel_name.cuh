// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace strata::cupti {

/// A kernel's name as its author wrote it.
std::string readable_kernel_name(const char* name);

}  // namespace strata::cupti
