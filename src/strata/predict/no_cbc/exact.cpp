// SPDX-License-Identifier: Apache-2.0
// Stands for predict/cbc/ in a build without CBC.
#include "strata/predict/exact.hpp"

#include "strata/base/error.hpp"

namespace strata {

ExactPlan exact_plan(const AccessList&, std::int64_t, const PredictOptions&, const ExactOptions&) {
  fail(ErrorKind::environment,
       "exact plans need the solver CBC, which this strata was built without; install "
       "coinor-libcbc-dev and build again, or take --policy best");
}

}  // namespace strata
