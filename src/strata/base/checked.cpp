// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"

#include "strata/base/error.hpp"

namespace strata {

void fail_overflow() { fail(ErrorKind::input, "sizes too large: a count does not fit in 64 bits"); }

}  // namespace strata
