// SPDX-License-Identifier: Apache-2.0
#include "cli/machine_at_hand.hpp"

#include "strata/api/kept_files.hpp"
#include "strata/base/error.hpp"
#include "strata/base/this_run.hpp"
#include "strata/machine/load_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace strata {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::optional<fs::path> measured_machines_folder() { return kept_folder("machines"); }

std::string measured_machine_file(std::string_view host, std::string_view part) {
  return fmt::format("{}-{}.json", file_name_of(host), part);
}

std::optional<fs::path> machine_at_hand() {
  const auto folder = measured_machines_folder();
  if (!folder) return std::nullopt;
  for (const char* part : {"gpu0", "cpu"}) {
    const fs::path file = *folder / measured_machine_file(this_host(), part);
    std::error_code ignored;
    if (fs::exists(file, ignored)) return file;
  }
  return std::nullopt;
}

std::vector<Machine> measured_machines() {
  const auto folder = measured_machines_folder();
  if (!folder) return {};
  std::vector<fs::path> files;
  for (const char* part : {"gpu0", "cpu"}) {
    files.push_back(*folder / measured_machine_file(this_host(), part));
  }
  std::error_code failure;
  for (fs::directory_iterator entry(*folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path());
  }
  std::sort(files.begin() + 2, files.end());
  std::vector<Machine> machines;
  for (const fs::path& file : files) {
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) continue;  // a pipe would make everybody wait
    try {
      Machine machine = load_machine(file.string());
      const bool is_known =
          std::any_of(machines.begin(), machines.end(),
                      [&](const Machine& other) { return other.name == machine.name; });
      if (!is_known) machines.push_back(std::move(machine));
    } catch (const Error&) {
      continue;
    }
  }
  return machines;
}

std::optional<Machine> measured_machine_named(std::string_view name) {
  for (Machine& machine : measured_machines()) {
    if (machine.name == name) return std::move(machine);
  }
  return std::nullopt;
}

Machine default_machine() {
  const auto file = machine_at_hand();
  if (!file) return load_machine("h100-sxm");
  try {
    if (!fs::is_regular_file(*file)) fail(ErrorKind::input, "{}: not a file", file->string());
    Machine machine = load_machine(file->string());
    machine.title += ", the machine at hand";
    return machine;
  } catch (const Error& error) {
    fail(
        error.kind(),
        "{}\n(it is what this machine was measured to reach; measure it again with `strata machine "
        "measure`, remove the file, or name a machine with --on)",
        error.what());
  }
}

}  // namespace strata
