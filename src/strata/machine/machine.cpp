// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/machine.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace strata {
namespace {

using Json = nlohmann::json;

const Json& member(const Json& object, const char* key, std::string_view place) {
  if (!object.is_object())
    fail(ErrorKind::input, "{}: expected an object, got {}", place, object.type_name());
  const auto found = object.find(key);
  if (found == object.end()) fail(ErrorKind::input, "{}: '{}' is missing", place, key);
  return *found;
}

std::string text_member(const Json& object, const char* key, std::string_view place) {
  const Json& value = member(object, key, place);
  if (!value.is_string())
    fail(ErrorKind::input, "{}.{}: expected text, got {}", place, key, value.type_name());
  return value.get<std::string>();
}

double positive(const Json& value, std::string_view place) {
  if (!value.is_number())
    fail(ErrorKind::input, "{}: expected a number, got {}", place, value.type_name());
  const auto number = value.get<double>();
  if (!std::isfinite(number) || number <= 0)
    fail(ErrorKind::input, "{}: must be positive, got {}", place, number);
  return number;
}

Sourced sourced(const Json& object, std::string_view place) {
  return {positive(member(object, "value", place), fmt::format("{}.value", place)),
          text_member(object, "source", place)};
}

Peak peak(const Json& object, std::string_view place) {
  const std::string dtype = text_member(object, "dtype", place);
  const std::optional<DType> known = dtype_named(dtype);
  if (!known) fail(ErrorKind::input, "{}.dtype: unknown data type '{}'", place, dtype);
  const std::string unit = text_member(object, "unit", place);
  if (unit != "vector" && unit != "matrix") {
    fail(ErrorKind::input, "{}.unit: expected vector or matrix, got '{}'", place, unit);
  }
  const double rate =
      positive(member(object, "flop_per_s", place), fmt::format("{}.flop_per_s", place));
  return {*known,
          unit == "matrix" ? ComputeUnit::matrix : ComputeUnit::vector,
          {rate, text_member(object, "source", place)}};
}

MemoryLevel memory_level(const Json& object, std::string_view place) {
  MemoryLevel level;
  level.name = text_member(object, "name", place);
  const Json& on_chip = member(object, "on_chip", place);
  if (!on_chip.is_boolean())
    fail(ErrorKind::input, "{}.on_chip: expected true or false, got {}", place,
         on_chip.type_name());
  level.is_on_chip = on_chip.get<bool>();
  level.capacity_bytes =
      sourced(member(object, "capacity_bytes", place), fmt::format("{}.capacity_bytes", place));
  if (object.contains("bandwidth_bytes_per_s")) {
    level.bandwidth_bytes_per_s =
        sourced(object["bandwidth_bytes_per_s"], fmt::format("{}.bandwidth_bytes_per_s", place));
  }
  return level;
}

template <class Read>
auto list_of(const Json& document, const char* key, Read read) {
  const Json& list = member(document, key, "machine");
  if (!list.is_array() || list.empty())
    fail(ErrorKind::input, "machine.{}: expected a list with at least one entry", key);
  std::vector<decltype(read(list[0], ""))> items;
  for (std::size_t i = 0; i < list.size(); ++i)
    items.push_back(read(list[i], fmt::format("machine.{}[{}]", key, i)));
  return items;
}

}  // namespace

Machine read_machine(std::string_view json_text) {
  const Json document = Json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) fail(ErrorKind::input, "not a JSON document");
  const Json& version = member(document, "strata_machine", "machine");
  if (version != 1)
    fail(ErrorKind::input, "machine.strata_machine: expected version 1, got {}", version.dump());

  Machine machine;
  machine.name = text_member(document, "name", "machine");
  machine.title = text_member(document, "title", "machine");
  machine.kind = text_member(document, "kind", "machine");
  machine.peaks = list_of(document, "peaks", peak);
  machine.memory = list_of(document, "memory", memory_level);
  if (document.contains("launch_latency_s")) {
    machine.launch_latency_s = sourced(document["launch_latency_s"], "machine.launch_latency_s");
  }
  return machine;
}

const std::vector<Machine>& shipped_machines() {
  static const std::vector<Machine> machines = [] {
    std::vector<Machine> read;
    for (const EmbeddedFile& file : embedded_machines()) {
      try {
        read.push_back(read_machine(file.text));
      } catch (Error& error) {
        error.add_context(file.name);
        throw;
      }
    }
    return read;
  }();
  return machines;
}

std::string_view name_of(ComputeUnit unit) {
  return unit == ComputeUnit::matrix ? "matrix" : "vector";
}

}  // namespace strata
