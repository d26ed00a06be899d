// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/sweep/formula_expression.hpp"

#include <muParser.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace strata {
namespace {

double rounded_down(double value) { return std::floor(value); }
double rounded_up(double value) { return std::ceil(value); }

class MuParserExpression : public Expression {
 public:
  MuParserExpression(const std::string& text, std::size_t variables) : slots_(variables) {
    parser_.DefineFun("floor", rounded_down);
    parser_.DefineFun("ceil", rounded_up);
    for (std::size_t index = 0; index < variables; ++index)
      parser_.DefineVar(variable_name(index), &slots_[index]);
    parser_.SetExpr(text);
    parser_.Eval();  // reads the text; the value is of no interest yet
  }

  double value_of(std::span<const double> variables) override {
    STRATA_CHECK(variables.size() == slots_.size(), "a number for each variable");
    std::copy(variables.begin(), variables.end(), slots_.begin());
    return parser_.Eval();
  }

 private:
  std::vector<double> slots_;  // never grows: the parser points into it
  mu::Parser parser_;
};

ExpressionFault fault_of(const mu::ParserError& error) {
  using Kind = ExpressionFault::Kind;
  ExpressionFault fault;
  fault.position = static_cast<std::size_t>(std::max(0, error.GetPos()));
  switch (error.GetCode()) {
    case mu::ecUNEXPECTED_EOF:
    case mu::ecEMPTY_EXPRESSION:
    case mu::ecMISSING_ELSE_CLAUSE: fault.kind = Kind::unfinished; break;
    case mu::ecMISSING_PARENS: fault.kind = Kind::parenthesis; break;
    case mu::ecTOO_MANY_PARAMS: fault.kind = Kind::too_many_arguments; break;
    case mu::ecTOO_FEW_PARAMS: fault.kind = Kind::too_few_arguments; break;
    default: fault.kind = Kind::unexpected; break;
  }
  return fault;
}

}  // namespace

std::unique_ptr<Expression> read_expression(const std::string& text, std::size_t variables,
                                            ExpressionFault& fault) {
  try {
    return std::make_unique<MuParserExpression>(text, variables);
  } catch (const mu::ParserError& error) {
    fault = fault_of(error);
    return nullptr;
  }
}

}  // namespace strata
