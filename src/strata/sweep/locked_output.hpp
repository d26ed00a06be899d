// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace strata {

/// A file that this process writes and no other process of Strata does, for as long as it is open.
class LockedOutput {
 public:
  /// Makes the file where there is none; changes nothing of one that is there. Errors: it cannot be
  /// written (usage for a wrong path, else environment), or another process writes it
  /// (environment).
  explicit LockedOutput(std::filesystem::path path);
  ~LockedOutput();
  LockedOutput(const LockedOutput&) = delete;
  LockedOutput& operator=(const LockedOutput&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  bool is_regular() const { return is_regular_; }

  void empty() const;
  /// Errors (environment): the file was removed or replaced meanwhile, and what is written is lost.
  void expect_still_there() const;
  [[noreturn]] void fail_to(std::string_view act, int reason) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  bool is_regular_ = false;
};

}  // namespace strata
