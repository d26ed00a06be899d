// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coin/Cbc_C_Interface.h>

namespace strata {

/// The functions of CBC that Strata calls. CBC brings some forty libraries, and loading them takes
/// longer than most commands run: they are loaded when a solver is first asked for.
struct CbcFunctions {
  decltype(&Cbc_newModel) new_model;
  decltype(&Cbc_deleteModel) delete_model;
  decltype(&Cbc_loadProblem) load_problem;
  decltype(&Cbc_setInteger) set_integer;
  decltype(&Cbc_setParameter) set_parameter;
  decltype(&Cbc_setMIPStartI) set_start;
  decltype(&Cbc_solve) solve;
  decltype(&Cbc_isProvenInfeasible) is_proven_infeasible;
  decltype(&Cbc_getBestPossibleObjValue) best_possible_value;
  decltype(&Cbc_getObjValue) value;
  decltype(&Cbc_getColSolution) column_solution;
  decltype(&Cbc_bestSolution) best_solution;
};

/// Errors (environment): the library that was there when Strata was built cannot be loaded now.
const CbcFunctions& cbc_functions();

}  // namespace strata
