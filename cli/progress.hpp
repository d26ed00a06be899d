// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// How far a command is: one line on standard error that is written over, only where that is a
/// terminal. Every command has it. Whatever is printed takes the line away first.
namespace strata {

/// Shows the line now, at most five times a second: "timing layers: 3 of 10". The line is cut to
/// the width of the terminal, and names of strangers in it are made printable.
void show_progress(std::string_view text);
/// "predicting with changes: 5 of 12"; from any thread.
void show_progress(std::string_view what, std::size_t done, std::size_t all);
/// Takes the line away.
void clear_progress();

/// While it lives, and once it has lived for a second, the line says what goes on and for how long:
/// "explain gnmt: 3 s". What show_progress() says takes its place. A thread of its own
/// writes the line, so commands that measure do without it.
class Waiting {
 public:
  explicit Waiting(std::string what);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  const bool is_shown_;  ///< false: another is shown already, or nobody looks
};

/// Takes the line away when a part of a command is over.
class ProgressPart {
 public:
  ProgressPart() = default;
  ~ProgressPart() { clear_progress(); }
  ProgressPart(const ProgressPart&) = delete;
  ProgressPart& operator=(const ProgressPart&) = delete;
};

}  // namespace strata
