// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"

#include <initializer_list>
#include <string>

/// What commands with outputs in several forms have in common.
namespace strata {

/// What takes long must not end with an output that cannot be written: an error, as writing would
/// give it, before a command begins.
void expect_writable_outputs(const Command& command, const Arguments& given);

/// Two outputs in one place would destroy each other: an error (usage).
void check_outputs(const Arguments& given, std::initializer_list<const Flag*> flags);

/// A picture as SVG and, when it is wanted, as PNG beside it.
void write_picture(std::string path, const std::string& svg, bool wants_png);

/// Writes what was asked for, where it was asked for.
class OutputFiles {
 public:
  explicit OutputFiles(const Arguments& given) : given_(given) {}

  /// Makes the text and writes it, when the flag was given.
  template <class ToText>
  void write(const Flag& flag, const ToText& to_text) {
    if (given_.has(flag)) write_text(flag, to_text());
  }
  /// The same of what is there so far: a file always holds something whole, standard output waits
  /// for the end.
  template <class ToText>
  void write_so_far(const Flag& flag, const ToText& to_text) {
    if (given_.has(flag) && given_.value(flag) != "-") write_text(flag, to_text());
  }
  /// An output that goes to standard output replaces the table.
  bool took_stdout() const { return took_stdout_; }

 private:
  void write_text(const Flag& flag, const std::string& text);

  const Arguments& given_;
  bool took_stdout_ = false;
};

}  // namespace strata
