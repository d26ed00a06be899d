// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/locked_output.hpp"
#include "strata/sweep/sink.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

/// A file of lines that only grows, and that survives being cut off anywhere.
namespace strata {

/// What such a file begins with.
struct ResultHead {
  std::string now;     ///< of a file that is begun
  std::string before;  ///< of one that an earlier version began; the same when nothing has changed
};

class ResultFile {
 public:
  /// Opens and locks it. Errors leave what is there as it is: a file is present and may not be
  /// touched (usage), is of another sweep (usage), or cannot be written (environment).
  /// `begin_of_row(n)` is what the line of point n must. Points may
  /// be missing between two lines only when that is said.
  ResultFile(std::filesystem::path path, IfPresent if_present, const ResultHead& head,
             const std::function<std::string(std::int64_t)>& begin_of_row,
             bool may_lack_points = false);

  /// The first point behind those that were there.
  std::int64_t done() const { return done_; }
  /// Errors (environment): it cannot be written, or is not there any more.
  void append(std::string_view text);
  /// Whether what is there was begun by an earlier version and goes on as that would have.
  bool has_earlier_head() const { return has_earlier_head_; }

 private:
  void refuse_results_of(const ResultHead& head) const;
  bool holds_this_sweep(const ResultHead& head);
  void continue_behind_last_row(std::string_view head,
                                const std::function<std::string(std::int64_t)>& begin_of_row);

  LockedOutput output_;
  bool may_lack_points_ = false;
  bool has_earlier_head_ = false;
  std::int64_t done_ = 0;
};

}  // namespace strata
