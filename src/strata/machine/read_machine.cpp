// SPDX-License-Identifier: Apache-2.0
#include "strata/base/object_reader.hpp"
#include "strata/base/printable.hpp"
#include "strata/machine/check_machine.hpp"
#include "strata/machine/machine.hpp"

namespace strata {
namespace {

using FileJson = ObjectReader::Json;

// A machine is a few pages of text; a larger file is something else.
constexpr std::size_t most_entries = 256;    // of lists that people read
constexpr std::size_t most_numbers = 10000;  // of samples and points

// Names and sources stand in tables, figures and messages of every command.
std::string shown_plain_text(const FileJson& json, const std::string& place) {
  return printable(plain_text(json, place));
}
std::string shown_text(ObjectReader& object, const char* key) {
  return printable(object.text(key));
}

Measurement evidence_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  Measurement evidence;
  evidence.method = shown_text(object, "method");
  evidence.samples_s = object.list("samples_s", most_numbers, not_negative_number);
  evidence.deviation_s = object.maybe_not_negative("deviation_s");
  evidence.relative_spread = object.maybe_not_negative("relative_spread");
  evidence.clock_hz = object.maybe_positive("clock_hz");
  evidence.power_w = object.maybe_positive("power_w");
  evidence.share = object.maybe("share", [](const FileJson& inner, const std::string& where) {
    ObjectReader share(inner, where);
    PeakShare read{share.positive("share"), shown_text(share, "of")};
    share.finish();
    return read;
  });
  evidence.notes = object.list("notes", most_entries, shown_plain_text);
  object.finish();
  return evidence;
}

Sourced sourced_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  Sourced number{object.positive("value"), shown_text(object, "source"),
                 object.maybe("evidence", evidence_from)};
  object.finish();
  return number;
}

Sourced share_from(const FileJson& json, const std::string& place) {
  Sourced share = sourced_from(json, place);
  if (share.value > 1)
    fail(ErrorKind::input, "{}.value: expected a share of at most 1, got {}", place, share.value);
  return share;
}

/// 2.5, or {"value": 2.5, "currency": "EUR", "source": "offer of May"}.
Price price_from(const FileJson& json, const std::string& place) {
  constexpr const char* whoever_wrote_it = "as given";
  if (json.is_number()) return {{positive_number(json, place), whoever_wrote_it}};
  ObjectReader object(json, place);
  Price price{{object.positive("value"),
               object.maybe("source", shown_plain_text).value_or(whoever_wrote_it)},
              object.maybe("currency", shown_plain_text).value_or("")};
  object.finish();
  return price;
}

Peak peak_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  const std::string dtype = shown_text(object, "dtype");
  const std::optional<DType> known = dtype_named(dtype);
  if (!known) fail(ErrorKind::input, "{}.dtype: unknown data type '{}'", place, dtype);
  Peak peak;
  peak.dtype = *known;
  peak.unit = static_cast<ComputeUnit>(object.choice("unit", compute_unit_names()));
  peak.flop_per_s = {object.positive("flop_per_s"), shown_text(object, "source"),
                     object.maybe("evidence", evidence_from)};
  peak.flop_per_clock = object.maybe("flop_per_clock", sourced_from);
  peak.clock_hz = object.maybe("clock_hz", sourced_from);
  peak.lasting = object.maybe("lasting", share_from);
  object.finish();
  return peak;
}

MixBandwidth mix_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  MixBandwidth mix;
  mix.mix = static_cast<AccessMix>(object.choice("mix", access_mix_names()));
  mix.bytes_per_s = {object.positive("bytes_per_s"), shown_text(object, "source"),
                     object.maybe("evidence", evidence_from)};
  object.finish();
  return mix;
}

MemoryLevel level_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  MemoryLevel level;
  level.name = shown_text(object, "name");
  level.is_on_chip = object.truth("on_chip");
  level.capacity_bytes =
      sourced_from(object.required("capacity_bytes"), object.place_of("capacity_bytes"));
  level.bandwidth_bytes_per_s = object.maybe("bandwidth_bytes_per_s", sourced_from);
  level.lasting = object.maybe("lasting", share_from);
  level.instances = object.maybe_count("instances").value_or(1);
  level.mixes = object.list("mixes", access_mix_names().size(), mix_from);
  object.finish();
  return level;
}

// [bytes, bytes per second]
SizeRate point_from(const FileJson& json, const std::string& place) {
  if (!json.is_array() || json.size() != 2) {
    fail(ErrorKind::input, "{}: expected [bytes, bytes per second], got {}", place,
         json.is_array() ? fmt::format("{} numbers", json.size()) : json.type_name());
  }
  return {positive_number(json[0], place + "[0]"), positive_number(json[1], place + "[1]")};
}

WorkingSetCurve curve_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  WorkingSetCurve curve;
  curve.mix = static_cast<AccessMix>(object.choice("mix", access_mix_names()));
  curve.source = shown_text(object, "source");
  object.required("points");
  curve.points = object.list("points", most_numbers, point_from);
  object.finish();
  return curve;
}

Link link_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  Link link;
  link.name = shown_text(object, "name");
  link.kind = static_cast<LinkKind>(object.choice("kind", link_kind_names()));
  if (object.find("host_memory") != nullptr)
    link.host_memory = static_cast<HostMemory>(object.choice("host_memory", host_memory_names()));
  link.bandwidth_bytes_per_s = sourced_from(object.required("bandwidth_bytes_per_s"),
                                            object.place_of("bandwidth_bytes_per_s"));
  link.latency_s = object.maybe("latency_s", sourced_from);
  link.points = object.list("points", most_numbers, point_from);
  link.joins = object.maybe_count("joins");
  object.finish();
  return link;
}

Clocks clocks_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  Clocks clocks{object.maybe("base_hz", sourced_from), object.maybe("boost_hz", sourced_from),
                object.maybe("seen_hz", sourced_from), object.maybe("memory_hz", sourced_from)};
  object.finish();
  return clocks;
}

Units units_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  Units units{shown_text(object, "name"),
              sourced_from(object.required("count"), object.place_of("count"))};
  object.finish();
  return units;
}

LaunchVariant variant_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  LaunchVariant variant{shown_text(object, "name"),
                        sourced_from(object.required("latency_s"), object.place_of("latency_s"))};
  object.finish();
  return variant;
}

Process process_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  Process process{shown_text(object, "node"), shown_text(object, "source")};
  object.finish();
  return process;
}

Version version_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  Version version{shown_text(object, "of"), shown_text(object, "version")};
  object.finish();
  return version;
}

Measured measured_from(const FileJson& json, const std::string& place) {
  ObjectReader object(json, place);
  Measured measured{shown_text(object, "host"), shown_text(object, "date"),
                    object.list("versions", most_entries, version_from),
                    object.list("warnings", most_entries, shown_plain_text)};
  object.finish();
  return measured;
}

template <class Read>
auto list_of_at_least_one(ObjectReader& object, const char* key, Read read) {
  const FileJson& json = object.required(key);
  if (!json.is_array() || json.empty())
    fail(ErrorKind::input, "{}: expected a list with at least one entry", object.place_of(key));
  return object.list(key, most_entries, read);
}

}  // namespace

Machine read_machine(std::string_view json_text) {
  const FileJson document = FileJson::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) fail(ErrorKind::input, "not a JSON document");
  ObjectReader object(document, "machine");
  const FileJson& version = object.required("strata_machine");
  if (version != 1) {
    fail(ErrorKind::input, "machine.strata_machine: expected version 1, got {}",
         version.is_number() ? version.dump() : version.type_name());
  }

  Machine machine;
  machine.name = shown_text(object, "name");
  machine.title = shown_text(object, "title");
  machine.kind = shown_text(object, "kind");
  machine.vendor = object.maybe("vendor", shown_plain_text).value_or("");
  machine.peaks = list_of_at_least_one(object, "peaks", peak_from);
  machine.memory = list_of_at_least_one(object, "memory", level_from);
  machine.launch_latency_s = object.maybe("launch_latency_s", sourced_from);
  machine.graph_node_latency_s = object.maybe("graph_node_latency_s", sourced_from);
  machine.launch_variants = object.list("launch_variants", most_entries, variant_from);
  machine.clocks = object.maybe("clocks", clocks_from).value_or(Clocks{});
  machine.units = object.maybe("units", units_from);
  machine.power_w = object.maybe("power_w", sourced_from);
  machine.price = object.maybe("price_per_hour", price_from);
  machine.process = object.maybe("process", process_from);
  machine.links = object.list("links", most_entries, link_from);
  machine.curves = object.list("curves", most_entries, curve_from);
  machine.measured = object.maybe("measured", measured_from);
  object.finish();
  if (const auto problem = contradiction_in(machine)) fail(ErrorKind::input, "{}", *problem);
  return machine;
}

}  // namespace strata
