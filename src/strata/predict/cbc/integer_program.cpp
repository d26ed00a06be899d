// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/cbc/integer_program.hpp"

#include "strata/base/error.hpp"

#include <coin/Cbc_C_Interface.h>
#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <string>

namespace strata {

namespace {

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

template <class Function>
void find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) fail(ErrorKind::environment, "{} lacks {}", STRATA_CBC_LIBRARY, name);
}

CbcFunctions load_library() {
  // Never closed: a solver that was needed once may be needed again.
  void* const library = ::dlopen(STRATA_CBC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    fail(ErrorKind::environment, "the solver of exact plans cannot be loaded: {}", ::dlerror());
  CbcFunctions cbc{};
  find_function(library, "Cbc_newModel", cbc.new_model);
  find_function(library, "Cbc_deleteModel", cbc.delete_model);
  find_function(library, "Cbc_loadProblem", cbc.load_problem);
  find_function(library, "Cbc_setInteger", cbc.set_integer);
  find_function(library, "Cbc_setParameter", cbc.set_parameter);
  find_function(library, "Cbc_setMIPStartI", cbc.set_start);
  find_function(library, "Cbc_solve", cbc.solve);
  find_function(library, "Cbc_isProvenInfeasible", cbc.is_proven_infeasible);
  find_function(library, "Cbc_getBestPossibleObjValue", cbc.best_possible_value);
  find_function(library, "Cbc_getObjValue", cbc.value);
  find_function(library, "Cbc_getColSolution", cbc.column_solution);
  find_function(library, "Cbc_bestSolution", cbc.best_solution);
  return cbc;
}

const CbcFunctions& cbc_functions() {
  static const CbcFunctions cbc = load_library();
  return cbc;
}

struct DeleteModel {
  void operator()(Cbc_Model* model) const { cbc_functions().delete_model(model); }
};
using Model = std::unique_ptr<Cbc_Model, DeleteModel>;

/// CBC takes the matrix by columns.
void load(Cbc_Model* model, const IntegerProgram& problem) {
  const std::size_t columns = problem.columns.size();
  std::vector<CoinBigIndex> starts(columns + 1);
  for (const IntegerProgram::Term& term : problem.terms) ++starts[term.column + 1];
  for (std::size_t i = 0; i < columns; ++i) starts[i + 1] += starts[i];
  std::vector<int> rows(problem.terms.size());
  std::vector<double> factors(problem.terms.size());
  std::vector<CoinBigIndex> place(starts.begin(), starts.end() - 1);
  std::vector<double> least;
  std::vector<double> most;
  for (std::size_t row = 0; row < problem.rows.size(); ++row) {
    const std::size_t end =
        row + 1 < problem.rows.size() ? problem.rows[row + 1].first_term : problem.terms.size();
    for (std::size_t i = problem.rows[row].first_term; i < end; ++i) {
      const auto at = static_cast<std::size_t>(place[problem.terms[i].column]++);
      rows[at] = static_cast<int>(row);
      factors[at] = problem.terms[i].factor;
    }
    least.push_back(problem.rows[row].least);
    most.push_back(problem.rows[row].most);
  }
  std::vector<double> costs;
  for (const IntegerProgram::Column& column : problem.columns) costs.push_back(column.cost);
  const std::vector<double> zeros(columns, 0.0);
  const std::vector<double> ones(columns, 1.0);
  cbc_functions().load_problem(model, static_cast<int>(columns),
                               static_cast<int>(problem.rows.size()), starts.data(), rows.data(),
                               factors.data(), zeros.data(), ones.data(), costs.data(),
                               least.data(), most.data());
  for (std::size_t i = 0; i < columns; ++i)
    if (problem.columns[i].is_whole) cbc_functions().set_integer(model, static_cast<int>(i));
}

void set_start(Cbc_Model* model, const IntegerProgram& problem, std::span<const double> start) {
  std::vector<int> columns;
  std::vector<double> values;
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (!problem.columns[i].is_whole) continue;
    columns.push_back(static_cast<int>(i));
    values.push_back(start[i]);
  }
  cbc_functions().set_start(model, static_cast<int>(columns.size()), columns.data(), values.data());
}

}  // namespace

Solution solve(const IntegerProgram& problem, const SolverLimits& limits) {
  const CbcFunctions& cbc = cbc_functions();
  const Model model(cbc.new_model());
  load(model.get(), problem);
  const auto set = [&](const char* name, const std::string& value) {
    cbc.set_parameter(model.get(), name, value.c_str());
  };
  set("log", "0");
  set("slog", "0");
  set("timeMode", "elapsed");
  set("seconds", std::to_string(limits.time_s));
  set("allowableGap", std::to_string(limits.enough_gap));
  set("ratioGap", "0");
  if (!limits.start.empty()) set_start(model.get(), problem, limits.start);
  cbc.solve(model.get());
  STRATA_CHECK(!cbc.is_proven_infeasible(model.get()), "keeping nothing is always possible");

  Solution solution;
  solution.bound = cbc.best_possible_value(model.get());
  const bool is_linear = std::none_of(problem.columns.begin(), problem.columns.end(),
                                      [](const auto& column) { return column.is_whole; });
  const double* best =
      is_linear ? cbc.column_solution(model.get()) : cbc.best_solution(model.get());
  if (best != nullptr) solution.values.assign(best, best + problem.columns.size());
  if (is_linear) {
    solution.bound = cbc.value(model.get());
  } else if (best != nullptr) {
    // CBC drops what is within the gap of its best and then calls that proven.
    solution.bound = std::min(solution.bound, cbc.value(model.get()) - limits.enough_gap);
  }
  return solution;
}

}  // namespace strata
