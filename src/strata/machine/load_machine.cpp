// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/load_machine.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/machine/numbers.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>

namespace strata {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_file_bytes = 8 << 20;  // a few pages, and samples where it was measured

std::string text_of(const fs::path& path) {
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (!fs::exists(status)) fail(ErrorKind::input, "no such file");
  if (fs::is_directory(status)) fail(ErrorKind::input, "is a folder, not a machine file");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ErrorKind::input, "cannot be read");
  std::string text(most_file_bytes + 1, '\0');  // not the size it says: it may be a pipe
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most_file_bytes) fail(ErrorKind::input, "too large for a machine file");
  return text;
}

Machine read_file(const fs::path& path) {
  try {
    return read_machine(text_of(path));
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
}

bool names_file(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".json");
}

FindMachine& found_elsewhere() {
  static FindMachine find;
  return find;
}

using ParseNumber = double (*)(std::string_view text, std::string_view what);
double bytes(std::string_view text, std::string_view what) {
  return static_cast<double>(parse_bytes(text, what));
}

struct Field {
  std::string path;
  ParseNumber parse;
  std::function<Sourced&()> number;  // makes it when the machine says nothing of it
};

Sourced& made(std::optional<Sourced>& number) { return number ? *number : number.emplace(); }

std::vector<Field> fields(Machine& machine) {
  std::vector<Field> all;
  for (Peak& peak : machine.peaks) {
    all.push_back(
        {fmt::format("machine.peaks.{}.{}.flop_per_s", name_of(peak.dtype), name_of(peak.unit)),
         parse_flop_per_s, [&peak]() -> Sourced& { return peak.flop_per_s; }});
  }
  for (MemoryLevel& level : machine.memory) {
    const std::string place = fmt::format("machine.memory.{}", path_part(level.name));
    all.push_back({place + ".capacity_bytes", bytes,
                   [&level]() -> Sourced& { return level.capacity_bytes; }});
    all.push_back({place + ".bandwidth_bytes_per_s", parse_bytes_per_s,
                   [&level]() -> Sourced& { return made(level.bandwidth_bytes_per_s); }});
  }
  all.push_back({"machine.launch_latency_s", parse_time,
                 [&machine]() -> Sourced& { return made(machine.launch_latency_s); }});
  all.push_back({"machine.graph_node_latency_s", parse_time,
                 [&machine]() -> Sourced& { return made(machine.graph_node_latency_s); }});
  return all;
}

}  // namespace

void also_find_machines(FindMachine find) { found_elsewhere() = std::move(find); }

Machine load_machine(std::string_view name_or_path) {
  if (names_file(name_or_path)) return read_file(fs::path(name_or_path));
  std::vector<std::string> names;
  for (const Machine& machine : shipped_machines()) {
    if (same_name(machine.name, name_or_path)) return machine;
    names.push_back(machine.name);
  }
  if (found_elsewhere()) {
    if (auto machine = found_elsewhere()(name_or_path)) return std::move(*machine);
  }
  fail(ErrorKind::input, "no machine named '{}'{} (strata machine list; a file ends in .json)",
       name_or_path, did_you_mean(name_or_path, names));
}

Machine load_recorded_machine(std::string_view name_or_path) {
  std::error_code problem;
  const fs::path path(name_or_path);
  if (names_file(name_or_path) && fs::exists(path, problem) && !fs::is_regular_file(path, problem))
    fail(ErrorKind::input, "{}: expected a file, got a folder, a device or a pipe", name_or_path);
  return load_machine(name_or_path);
}

std::vector<std::string> fields_of(const Machine& machine) {
  Machine copy = machine;
  std::vector<std::string> paths;
  for (const Field& field : fields(copy)) paths.push_back(field.path);
  return paths;
}

void set_field(Machine& machine, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    fail(ErrorKind::usage,
         "--set expects machine.FIELD=VALUE, for example machine.memory.L2.capacity_bytes=128MiB, "
         "got '{}'",
         assignment);
  }
  const std::string path = path_part(trimmed(assignment.substr(0, equals)));
  const std::string_view value = assignment.substr(equals + 1);
  for (const Field& field : fields(machine)) {
    if (field.path != path) continue;
    const double number = field.parse(value, field.path);
    if (!(number > 0)) fail(ErrorKind::usage, "{} must be positive, got '{}'", path, value);
    field.number() = {number, fmt::format("--set {}", trimmed(assignment))};
    return;
  }
  fail(ErrorKind::usage, "{} has no number '{}'{}\nits numbers:\n  {}", machine.name, path,
       did_you_mean(path, fields_of(machine)), fmt::join(fields_of(machine), "\n  "));
}

}  // namespace strata
