// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/locked_output.hpp"
#include "strata/sweep/sink.hpp"

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

/// A file of lines that only grows, and that survives being cut off anywhere.
namespace strata {

/// What such a file begins with.
struct ResultHead {
  std::string text;
  std::string row_end = {};  ///< what every row ends with, where rows say which results they are of
};

class ResultFile {
 public:
  /// Opens and locks it. Errors leave what is there as it is: a file is present and may not be
  /// touched (usage), is of another sweep (usage), or cannot be written (environment).
  /// A file is begun with the first head; one that has any of the others goes on as it is.
  /// `begin_of_row(n)` is what the line of point n begins with. Points may
  /// be missing between two lines only when that is said.
  ResultFile(std::filesystem::path path, IfPresent if_present, std::span<const ResultHead> heads,
             const std::function<std::string(std::int64_t)>& begin_of_row,
             bool may_lack_points = false);

  /// The first point behind those that were there.
  std::int64_t done() const { return done_; }
  /// Errors (environment): it cannot be written, or is not there any more.
  void append(std::string_view text);
  /// Which of the heads it has; not the first where an earlier version began it.
  std::size_t head() const { return head_; }

 private:
  void refuse_results_of(std::span<const ResultHead> heads) const;
  bool holds_this_sweep(std::span<const ResultHead> heads);
  bool has_row_end(const ResultHead& head) const;
  void continue_behind_last_row(std::string_view head,
                                const std::function<std::string(std::int64_t)>& begin_of_row);

  LockedOutput output_;
  bool may_lack_points_ = false;
  std::size_t head_ = 0;
  std::int64_t done_ = 0;
};

}  // namespace strata
