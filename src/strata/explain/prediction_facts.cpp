// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/prediction_facts.hpp"

#include "strata/base/object_reader.hpp"
#include "strata/base/printable.hpp"

#include <algorithm>
#include <limits>

namespace strata {
namespace {

using FactJson = ObjectReader::Json;

constexpr std::size_t most_scopes = 64;
constexpr std::size_t most_stalls = 10'000'000;
constexpr std::uint64_t most_count = std::numeric_limits<std::int64_t>::max();

std::int64_t count_of(ObjectReader& object, const char* key) {
  const FactJson& json = object.required(key);
  if (json.is_number_unsigned() && json.get<std::uint64_t>() <= most_count)
    return json.get<std::int64_t>();
  fail(ErrorKind::input, "{}: expected a whole number from 0 within 64 bits, got {}",
       object.place_of(key), json.is_number() ? json.dump() : json.type_name());
}

double seconds_of(ObjectReader& object, const char* key) {
  return not_negative_number(object.required(key), object.place_of(key));
}

ReuseFacts reuse_of(const FactJson& json, const std::string& place) {
  ObjectReader object(json, place);
  return {.scope = printable(object.text("scope")),
          .offered_bytes = count_of(object, "offered_bytes"),
          .captured_bytes = count_of(object, "captured_bytes"),
          .capacity_50_bytes = count_of(object, "capacity_50_bytes"),
          .capacity_90_bytes = count_of(object, "capacity_90_bytes"),
          .capacity_100_bytes = count_of(object, "capacity_100_bytes")};
}

StallFacts stall_of(const FactJson& json, const std::string& place) {
  ObjectReader object(json, place);
  return {.value = printable(object.text("value")),
          .kind = printable(object.text("kind")),
          .wait_s = seconds_of(object, "wait_s"),
          .steps = count_of(object, "steps")};
}

void read_whole(ObjectReader& document, PredictionFacts& facts) {
  ObjectReader totals(document.required("totals"), "profile.totals");
  facts.refetch_bytes = count_of(totals, "refetch_bytes");
  ObjectReader machine(document.required("machine"), "profile.machine");
  facts.capacity_bytes = count_of(machine, "capacity_bytes");
  facts.bytes_per_s = machine.positive("bandwidth_bytes_per_s");
  ObjectReader capacity(document.required("capacity"), "profile.capacity");
  ObjectReader minimum(capacity.required("minimum"), "profile.capacity.minimum");
  facts.minimum_bytes = count_of(minimum, "bytes");
  facts.minimum_step = printable(minimum.text("step"));
  const FactJson* bounds = document.find("bounds");
  if (bounds != nullptr && !bounds->is_null()) {
    ObjectReader object(*bounds, "profile.bounds");
    facts.bound_s = seconds_of(object, "time_s");
  }
}

MemoryChange memory_change_of(const FactJson& json, const std::string& place) {
  ObjectReader object(json, place);
  return {.change = printable(object.text("change")),
          .needed_bytes = count_of(object, "memory_bytes"),
          .fits = object.truth("fits")};
}

/// What the framework allocates, or the plan of the limit where no framework is asked for.
std::optional<MemoryNeed> memory_in(ObjectReader& document) {
  ObjectReader machine(document.required("machine"), "profile.machine");
  const FactJson* device = machine.find("memory_bytes");
  if (device == nullptr || device->is_null()) return std::nullopt;
  MemoryNeed memory;
  memory.device_bytes = machine.positive("memory_bytes");
  const FactJson* expected = document.find("expected");
  if (expected == nullptr || expected->is_null()) {
    ObjectReader totals(document.required("totals"), "profile.totals");
    memory.needed_bytes = count_of(totals, "footprint_bytes");
    return memory;
  }
  ObjectReader object(*expected, "profile.expected");
  memory.needed_bytes = count_of(object, "memory_bytes");
  const FactJson* batch = object.find("largest_batch");
  if (batch != nullptr && !batch->is_null())
    memory.largest_batch = count_of(object, "largest_batch");
  memory.changes = object.list("memory_changes", most_scopes, memory_change_of);
  return memory;
}

}  // namespace

std::optional<RecordedPrediction> recorded_prediction(std::string_view json_text) {
  const FactJson json = FactJson::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(ErrorKind::input, "not a JSON document");
  ObjectReader document(json, "profile");
  const FactJson* kind = document.find("kind");
  if (kind == nullptr || *kind != "prediction" || document.find("totals") == nullptr)
    return std::nullopt;
  RecordedPrediction recorded;
  read_whole(document, recorded.facts);
  recorded.facts.memory = memory_in(document);
  recorded.facts.reuse = document.list("reuse", most_scopes, reuse_of);
  recorded.facts.stalls = document.list("stalls", most_stalls, stall_of);
  std::stable_sort(recorded.facts.stalls.begin(), recorded.facts.stalls.end(),
                   [](const StallFacts& a, const StallFacts& b) { return a.wait_s > b.wait_s; });
  document.maybe("provenance", [&](const FactJson& provenance, const std::string& place) {
    ObjectReader object(provenance, place);
    if (const FactJson* request = object.find("request")) recorded.request = request->dump();
    return true;
  });
  return recorded;
}

}  // namespace strata
