// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/output_place.hpp"

#include <sys/types.h>

#include <filesystem>
#include <string_view>

namespace strata {

/// A file that is there whole or not at all: it is written under a name that nobody can guess,
/// readable by nobody else, and takes its place in the end. So nobody else in a shared folder can
/// have it write into a file of his choice. Links of one's own are followed; pipes and devices are
/// written to as they are. What was not finished is removed. Errors name the file and the reason.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  /// For a library that opens files by name. Errors (usage): it is a pipe or a device.
  const std::filesystem::path& name_meanwhile() const;
  /// The file takes its place, with the permissions of the caller's own file that it replaces or,
  /// being new, with those that the user's umask says. Errors (environment) where somebody removed
  /// it.
  void finish();

 private:
  void make_file();
  mode_t mode() const;

  OutputPlace place_;
  std::filesystem::path temporary_;  ///< empty: what is written goes to the target itself
  int descriptor_ = -1;
};

}  // namespace strata
