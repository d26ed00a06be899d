// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/report/text_style.hpp"

#include <span>
#include <string>
#include <string_view>

namespace strata {

namespace exit_code {
inline constexpr int done = 0;
inline constexpr int answer_is_no = 1;
inline constexpr int wrong_input = 2;
inline constexpr int environment = 3;
inline constexpr int bug = 4;
inline constexpr int interrupted = 130;
}  // namespace exit_code

struct ExitMeaning {
  int code;
  std::string_view meaning;
};

/// For the man page and `strata help`.
std::span<const ExitMeaning> exit_meanings();

int exit_code_of(ErrorKind kind);

/// What standard error says about a failure. A bug asks for a report and gives the command to put
/// into it.
std::string failure_text(ErrorKind kind, std::string_view message, std::string_view command_line,
                         const TextStyle& style);

}  // namespace strata
