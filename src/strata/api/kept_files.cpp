// SPDX-License-Identifier: Apache-2.0
#include "strata/api/kept_files.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/text_file.hpp"
#include "strata/predict/expected/check_calibration.hpp"
#include "strata/report/write_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

namespace strata {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> absolute_path_in(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value != '/') return std::nullopt;
  return fs::path(value);
}

Calibration calibration_kept_in(const fs::path& file, std::string_view machine,
                                std::string_view framework) {
  Calibration read = load_calibration(file);
  const auto expect = [&](std::string_view what, std::string_view expected, std::string_view got) {
    if (expected != got)
      fail(ErrorKind::input, "{}: calibration.{}: expected '{}', got '{}'", file.string(), what,
           expected, got);
  };
  expect("machine", machine, read.machine);
  expect("framework", framework, read.framework);
  return read;
}

}  // namespace

std::optional<fs::path> kept_folder(std::string_view what) {
  if (const auto data = absolute_path_in("XDG_DATA_HOME")) return *data / "strata" / what;
  if (const auto home = absolute_path_in("HOME")) return *home / ".local/share/strata" / what;
  return std::nullopt;
}

std::string file_name_of(std::string_view name) {
  std::string made(name);
  std::replace_if(
      made.begin(), made.end(), [](char c) { return c == '/' || c == ',' || c == '\0'; }, '-');
  return made;
}

std::optional<fs::path> calibration_file(std::string_view machine, std::string_view framework) {
  const auto folder = kept_folder("calibrations");
  if (!folder) return std::nullopt;
  return *folder / file_name_of(fmt::format("{}-{}.json", machine, framework));
}

Calibration load_calibration(const fs::path& file) {
  constexpr std::size_t most_file_bytes = 64 << 20;  // every class with all its samples
  const std::string text = read_text_file(file, most_file_bytes);
  try {
    Calibration read = read_calibration(text);
    check_calibration(read);
    return read;
  } catch (Error& error) {
    error.add_context(file.string());
    throw;
  }
}

const Calibration* kept_calibration(std::string_view machine, std::string_view framework) {
  static std::mutex mutex;
  static std::map<fs::path, std::optional<Calibration>> known;
  const auto file = calibration_file(machine, framework);
  if (!file) return nullptr;
  const std::lock_guard lock(mutex);
  const auto found = known.find(*file);
  if (found != known.end()) return found->second ? &*found->second : nullptr;
  std::error_code ignored;
  std::optional<Calibration> read;
  if (fs::exists(*file, ignored)) read = calibration_kept_in(*file, machine, framework);
  const auto kept = known.emplace(*file, std::move(read)).first;
  return kept->second ? &*kept->second : nullptr;
}

void keep_calibration(const Calibration& calibration, const fs::path& file) {
  std::error_code problem;
  fs::create_directories(file.parent_path(), problem);
  if (problem)
    fail(ErrorKind::environment, "{}: {}", file.parent_path().string(), problem.message());
  write_file(file, to_json(calibration));
}

}  // namespace strata
