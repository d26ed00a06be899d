// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/warning.hpp"
#include "strata/report/text_style.hpp"

#include <span>
#include <string>
#include <string_view>

/// Where text goes. Standard output is the result and nothing else; everything that is not the
/// result goes to standard error. Of a guest (cli/guest.hpp) both are kept for its
/// caller.
namespace strata {

/// Thrown when nobody reads standard output any more (`strata show … | head`): the program ends
/// quietly.
struct ClosedPipe {};

/// Writes text for people to standard output, all of it or an error. What is not printable is
/// escaped here, whatever was forgotten before: printable_lines() in base/printable.hpp.
void print(std::string_view text);
/// Writes a document (JSON, CSV, a picture), which is safe by its own rules.
void print_bytes(std::string_view text);
/// Writes text for people to standard error; when that is closed there is nobody to tell.
void print_to_stderr(std::string_view text);

/// "warning: … [value-assumed]" on standard error, one line each.
void warn(std::span<const Warning> warnings);

/// What standard output or standard error can show; `color` is the value of --color.
TextStyle style_of_stdout(std::string_view color);
TextStyle style_of_stderr(std::string_view color);

/// Writes a document into a file, or to standard output when `path` is "-", byte by byte.
void write_output(std::string_view path, std::string_view text);

}  // namespace strata
