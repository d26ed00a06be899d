// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/readable_symbol.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace strata {
namespace {

struct FreeText {
  void operator()(char* text) const { std::free(text); }
};

}  // namespace

std::string readable_symbol(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, FreeText> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status));
  return status == 0 && text != nullptr ? text.get() : symbol;
}

}  // namespace strata
