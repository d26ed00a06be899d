// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/output_place.hpp"

#include <cstdint>
#include <filesystem>

namespace strata {

/// A file that this process writes and no other process of Strata does, for as long as it is open.
/// Pipes and devices are only written to, and not locked.
class LockedOutput {
 public:
  /// Makes the file where there is none; changes nothing of one that is there. Errors: it cannot be
  /// written (usage for a wrong path, else environment), a link or a planted file of another user
  /// is in its place (usage), nobody reads the pipe, or another process writes the file
  /// (environment).
  explicit LockedOutput(std::filesystem::path file);
  ~LockedOutput();
  LockedOutput(const LockedOutput&) = delete;
  LockedOutput& operator=(const LockedOutput&) = delete;

  const std::filesystem::path& path() const { return place_.path(); }
  int descriptor() const { return descriptor_; }
  bool is_regular() const { return is_regular_; }

  void empty();
  void cut_to(std::int64_t bytes);
  /// What is there now has to stay.
  void note_written();
  /// Errors (environment): the file was removed, replaced, emptied or cut meanwhile, and what is
  /// written is lost.
  void expect_still_there() const;
  [[noreturn]] void fail_to_write(int reason) const { place_.fail_to_write(reason); }
  [[noreturn]] void fail_to_read(int reason) const;

 private:
  OutputPlace place_;
  int descriptor_ = -1;
  bool is_regular_ = false;
  std::int64_t least_bytes_ = 0;  ///< that were there
};

}  // namespace strata
