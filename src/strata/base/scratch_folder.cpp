// SPDX-License-Identifier: Apache-2.0
#include "strata/base/scratch_folder.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace strata {

ScratchFolder::ScratchFolder(std::string_view name) {
  std::error_code problem;
  const std::filesystem::path among = std::filesystem::temp_directory_path(problem);
  if (problem) fail(ErrorKind::environment, "no folder for temporary files: {}", problem.message());
  make(among / fmt::format("strata-{}-", name));
}

ScratchFolder ScratchFolder::beside(const std::filesystem::path& file, std::string_view name) {
  ScratchFolder folder;
  folder.make(fmt::format("{}.{}-", file.string(), name));
  return folder;
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), is_kept_(other.is_kept_) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty() && !is_kept_) std::filesystem::remove_all(path_, ignored);
}

void ScratchFolder::make(const std::filesystem::path& begin) {
  std::string pattern = begin.string() + "XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr)
    fail(ErrorKind::environment, "the folder {} cannot be made: {}", pattern,
         std::generic_category().message(errno));
  path_ = pattern;
}

}  // namespace strata
