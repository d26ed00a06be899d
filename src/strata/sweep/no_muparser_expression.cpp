// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/sweep/formula_expression.hpp"

namespace strata {

std::unique_ptr<Expression> read_expression(const std::string& /*text*/, std::size_t /*variables*/,
                                            ExpressionFault& /*fault*/) {
  fail(ErrorKind::environment,
       "formulas need muParser, and this build of Strata is without it; install libmuparser-dev "
       "and build again");
}

}  // namespace strata
