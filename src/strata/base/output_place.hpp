// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

namespace strata {

/// Where an output goes: a folder, held open so that nobody can exchange it meanwhile, and a name
/// in it. Links are followed if whoever runs this process or root made them: somebody else's in a
/// shared folder would choose which file is written.
class OutputPlace {
 public:
  /// Errors: a folder on the way is missing (usage), cannot be entered (environment), or a link
  /// belongs to somebody else (usage); the path names a folder (usage).
  explicit OutputPlace(std::filesystem::path path);
  ~OutputPlace();
  OutputPlace(const OutputPlace&) = delete;
  OutputPlace& operator=(const OutputPlace&) = delete;

  /// As it was given.
  const std::filesystem::path& path() const { return path_; }
  int folder() const { return folder_; }
  const std::string& name() const { return name_; }
  /// Behind links.
  std::filesystem::path folder_path() const;
  /// What is there; empty: nothing yet.
  const std::optional<struct stat>& present() const { return present_; }
  /// A pipe or a device: bytes go to it as they are, it cannot be replaced or read.
  bool is_special() const { return present_ && !S_ISREG(present_->st_mode); }
  /// A descriptor of the pipe or device. A pipe is waited for until somebody reads it, but not for
  /// ever. Errors (environment): it cannot be written, or nobody reads it.
  int open_special() const;
  /// Errors (usage) if what is there belongs to somebody else, in a folder where everybody may
  /// leave files: they would see and could change what is written into it.
  void expect_no_trap() const;
  /// Errors as writing would give them; changes nothing.
  void expect_writable() const;
  /// A wrong path is a slip of whoever typed it (usage); a full disk or a missing permission is the
  /// machine's state (environment).
  [[noreturn]] void fail_to_write(int reason) const;

 private:
  class Walk;

  std::filesystem::path path_;
  std::filesystem::path folder_path_;
  std::string name_;
  int folder_ = -1;
  std::optional<struct stat> present_;
};

}  // namespace strata
