// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/cbc/solver_library.hpp"

#include "strata/base/error.hpp"

#include <dlfcn.h>

namespace strata {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) fail(ErrorKind::environment, "{} lacks {}", STRATA_CBC_LIBRARY, name);
}

CbcFunctions load() {
  // Never closed: a solver that was needed once may be needed again.
  void* const library = ::dlopen(STRATA_CBC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    fail(ErrorKind::environment, "the solver of exact plans cannot be loaded: {}", ::dlerror());
  CbcFunctions cbc{};
  find(library, "Cbc_newModel", cbc.new_model);
  find(library, "Cbc_deleteModel", cbc.delete_model);
  find(library, "Cbc_loadProblem", cbc.load_problem);
  find(library, "Cbc_setInteger", cbc.set_integer);
  find(library, "Cbc_setParameter", cbc.set_parameter);
  find(library, "Cbc_setMIPStartI", cbc.set_start);
  find(library, "Cbc_solve", cbc.solve);
  find(library, "Cbc_isProvenInfeasible", cbc.is_proven_infeasible);
  find(library, "Cbc_getBestPossibleObjValue", cbc.best_possible_value);
  find(library, "Cbc_getObjValue", cbc.value);
  find(library, "Cbc_getColSolution", cbc.column_solution);
  find(library, "Cbc_bestSolution", cbc.best_solution);
  return cbc;
}

}  // namespace

const CbcFunctions& cbc_functions() {
  static const CbcFunctions cbc = load();
  return cbc;
}

}  // namespace strata
