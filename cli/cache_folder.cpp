// SPDX-License-Identifier: Apache-2.0
#include "cli/cache_folder.hpp"

#include <cstdlib>

namespace strata {
namespace {

std::optional<std::filesystem::path> absolute_folder_named_by(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr || *value != '/') return std::nullopt;
  return std::filesystem::path(value);
}

}  // namespace

std::optional<std::filesystem::path> cache_folder() {
  if (const auto cache = absolute_folder_named_by("XDG_CACHE_HOME")) return *cache / "strata";
  if (const auto home = absolute_folder_named_by("HOME")) return *home / ".cache/strata";
  return std::nullopt;
}

std::filesystem::path remembered_choices_file() {
  const auto folder = cache_folder();
  return folder ? *folder / "choices-1.tsv" : std::filesystem::path();
}

}  // namespace strata
