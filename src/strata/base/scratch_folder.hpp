// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace strata {

/// A folder that nobody else may look into, under a name that nobody can guess; gone with its files
/// in the end unless it is kept. Errors (environment): it cannot be made.
class ScratchFolder {
 public:
  /// Among the system's temporary files, with `name` in its own.
  explicit ScratchFolder(std::string_view name);
  /// Beside a file, on the same disk.
  static ScratchFolder beside(const std::filesystem::path& file, std::string_view name);

  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }
  void keep() { is_kept_ = true; }

 private:
  ScratchFolder() = default;
  void make(const std::filesystem::path& begin);

  std::filesystem::path path_;
  bool is_kept_ = false;
};

}  // namespace strata
