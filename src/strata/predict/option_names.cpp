// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/option_names.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <span>

namespace strata {

void fail_unknown_choice(std::string_view what, std::string_view name,
                         const std::string_view* first, std::size_t count) {
  fail(ErrorKind::usage, "{}: '{}' is none of {}", what, name,
       alternatives(std::span(first, count)));
}

}  // namespace strata
