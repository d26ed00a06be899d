// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/object_reader.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/report/convolution_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace strata {
namespace {

using StoredJson = ObjectReader::Json;

constexpr std::size_t most_stored_bytes = std::size_t{256} << 20;
constexpr std::size_t most_cells = 500'000;
constexpr std::size_t most_series = 1000;
constexpr std::size_t most_stored_points = 10'000;
constexpr std::size_t most_samples = 100'000;
constexpr std::size_t most_of_a_kind = 1000;  // strategies, kernels, roles
constexpr int most_depth = 16;
constexpr std::int64_t most_bytes = std::int64_t{1} << 60;  // sums of two still fit

StoredJson parsed(std::string_view text, std::string_view what) {
  const auto check_depth = [&](int depth, StoredJson::parse_event_t, StoredJson&) {
    if (depth > most_depth) fail(ErrorKind::input, "{} is nested too deeply", what);
    return true;
  };
  StoredJson json = StoredJson::parse(text, check_depth, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(ErrorKind::input, "{} is no JSON", what);
  return json;
}

std::int64_t whole_from(const StoredJson& json, std::string_view place, std::int64_t least,
                        std::int64_t most) {
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX))
    fail(ErrorKind::input, "{}: expected a whole number, got {}", place, json.dump().substr(0, 40));
  const auto number = json.get<std::int64_t>();
  if (number < least || number > most)
    fail(ErrorKind::input, "{}: expected {} to {}, got {}", place, least, most, number);
  return number;
}

std::string name_from(const StoredJson& json, std::string_view place) {
  std::string text = plain_text(json, place);
  if (!is_printable(text)) fail(ErrorKind::input, "{}: holds what cannot be printed", place);
  return text;
}

/// Texts of the lab itself quote what libraries and plug-ins say.
std::string reason_from(const StoredJson& json, std::string_view place) {
  return printable(plain_text(json, place));
}

struct SizePair {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

SizePair pair_from(const StoredJson& json, const std::string& place) {
  if (!json.is_array() || json.size() != 2)
    fail(ErrorKind::input, "{}: expected two numbers", place);
  return {whole_from(json[0], place, INT64_MIN, INT64_MAX),
          whole_from(json[1], place, INT64_MIN, INT64_MAX)};
}

ConvShape shape_from(const StoredJson& json, const std::string& place) {
  ObjectReader object(json, place);
  const auto size = [&](const char* key) {
    return whole_from(object.required(key), object.place_of(key), INT64_MIN, INT64_MAX);
  };
  const auto sides = [&](const char* key) {
    return pair_from(object.required(key), object.place_of(key));
  };
  ConvShape shape;
  shape.batch = size("batch");
  shape.channels = size("channels");
  shape.height = size("height");
  shape.width = size("width");
  shape.filters = size("filters");
  shape.groups = size("groups");
  const SizePair kernel = sides("kernel");
  const SizePair stride = sides("stride");
  const SizePair padding = sides("padding");
  const SizePair dilation = sides("dilation");
  shape.kernel_height = kernel.height;
  shape.kernel_width = kernel.width;
  shape.stride_height = stride.height;
  shape.stride_width = stride.width;
  shape.pad_height = padding.height;
  shape.pad_width = padding.width;
  shape.dilation_height = dilation.height;
  shape.dilation_width = dilation.width;
  object.finish();
  return shape;
}

ConvPoint point_from(const StoredJson& json, const std::string& place) {
  ObjectReader object(json, place);
  ConvPoint point;
  point.label = name_from(object.required("label"), object.place_of("label"));
  point.at = object.maybe("at", [](const StoredJson& at, const std::string& where) {
    return whole_from(at, where, INT64_MIN, INT64_MAX);
  });
  point.shape = shape_from(object.required("shape"), object.place_of("shape"));
  const auto counts =
      object.list("counts", 3, [](const StoredJson& count, const std::string& where) {
        return whole_from(count, where, 0, 1'000'000'000);
      });
  if (counts.size() != 3 && !counts.empty())
    fail(ErrorKind::input, "{}.counts: expected one for each pass", place);
  std::copy(counts.begin(), counts.end(), point.counts.begin());
  object.find("refusal");  // follows from the shape
  object.finish();
  return point;
}

ConvSeries series_from(const StoredJson& json, const std::string& place) {
  ObjectReader object(json, place);
  ConvSeries series;
  series.name = name_from(object.required("name"), object.place_of("name"));
  series.is_sweep = object.truth("is_sweep");
  series.points = object.list("points", most_stored_points, point_from);
  for (const ConvPoint& point : series.points) {
    if (series.is_sweep && !point.at)
      fail(ErrorKind::input, "{}: a point of a sweep lacks its place 'at'", place);
  }
  object.finish();
  return series;
}

/// Files of an older Strata have other names for im2col and col2im.
KernelRole role_from(ObjectReader& object) {
  constexpr auto count = static_cast<std::size_t>(KernelRole::other) + 1;
  static const auto names = [] {
    std::vector<std::string_view> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(name_of(static_cast<KernelRole>(i)));
    all.insert(all.end(), {"unroll", "roll_back"});
    return all;
  }();
  const std::size_t found = object.choice("role", names);
  if (found == count) return KernelRole::im2col;
  return found > count ? KernelRole::col2im : static_cast<KernelRole>(found);
}

ConvPass pass_from(const StoredJson& json, const std::string& place) {
  const std::string name = plain_text(json, place);
  const auto pass = conv_pass_named(name);
  if (!pass) fail(ErrorKind::input, "{}: no pass '{}'", place, printable(name.substr(0, 40)));
  return *pass;
}

void read_times(ObjectReader& object, ConvCell& cell) {
  for (const char* derived : {"time_s", "deviation_s", "spread", "flop_per_s", "direct_flop_per_s"})
    object.find(derived);
  cell.samples_s = object.list("samples_s", most_samples, not_negative_number);
  cell.roles = object.list("roles", most_of_a_kind, [](const StoredJson& json, std::string place) {
    ObjectReader entry(json, std::move(place));
    const KernelRole role = role_from(entry);
    const double seconds = not_negative_number(entry.required("time_s"), entry.place_of("time_s"));
    entry.find("share");
    entry.finish();
    return RoleTime{role, seconds};
  });
  cell.transfers = object.maybe("transfers", [](const StoredJson& json, std::string place) {
    ObjectReader entry(json, std::move(place));
    const HostTransfers transfers{
        not_negative_number(entry.required("pinned_s"), entry.place_of("pinned_s")),
        not_negative_number(entry.required("pageable_s"), entry.place_of("pageable_s"))};
    entry.find("pinned_share");
    entry.find("pageable_share");
    entry.finish();
    return transfers;
  });
}

KernelFacts kernel_from(const StoredJson& json, std::string place) {
  ObjectReader entry(json, std::move(place));
  const auto small = [&](const char* key) {
    return static_cast<int>(whole_from(entry.required(key), entry.place_of(key), 0, 1 << 30));
  };
  KernelFacts kernel;
  kernel.name = reason_from(entry.required("name"), entry.place_of("name"));
  kernel.role = role_from(entry);
  kernel.registers_per_thread = small("registers_per_thread");
  kernel.shared_bytes_per_block = small("shared_bytes_per_block");
  kernel.seconds = entry.maybe_not_negative("time_s").value_or(0);
  entry.finish();
  return kernel;
}

ConvEfficiencies efficiencies_from(const StoredJson& json, std::string place) {
  ObjectReader object(json, std::move(place));
  ConvEfficiencies found;
  for (const ConvEfficiencyName& name : conv_efficiency_names())
    object.find(std::string(name.key).c_str());  // follow from those of the roles
  found.absent = object.maybe("absent", reason_from).value_or("");
  found.roles = object.list("roles", most_of_a_kind, [](const StoredJson& role, std::string where) {
    ObjectReader entry(role, std::move(where));
    ConvEfficiency efficiency{.role = role_from(entry)};
    for (const ConvEfficiencyName& name : conv_efficiency_names())
      efficiency.*name.value = entry.maybe_not_negative(std::string(name.key).c_str());
    entry.finish();
    return efficiency;
  });
  object.finish();
  return found;
}

ConvCell cell_from(const StoredJson& json, const std::string& place) {
  ObjectReader object(json, place);
  const auto amount = [&](const char* key) {
    return whole_from(object.required(key), object.place_of(key), 0, most_bytes);
  };
  ConvCell cell;
  object.find("cell");
  cell.shape = shape_from(object.required("shape"), object.place_of("shape"));
  if (const auto reason = refusal_of(cell.shape))
    fail(ErrorKind::input, "{}.shape: {}", place, *reason);
  cell.pass = pass_from(object.required("pass"), object.place_of("pass"));
  cell.strategy = name_from(object.required("strategy"), object.place_of("strategy"));
  cell.status = static_cast<ConvStatus>(object.choice("status", conv_status_names()));
  cell.reason = object.maybe("reason", reason_from).value_or("");
  cell.tensor_bytes = amount("tensor_bytes");
  cell.scratch_bytes = amount("scratch_bytes");
  object.find("peak_bytes");
  object.find("direct_flop");
  cell.flop = object.maybe("flop", [](const StoredJson& flop, const std::string& where) {
    return whole_from(flop, where, 0, INT64_MAX);
  });
  cell.error = object.maybe_not_negative("error").value_or(0);
  cell.tolerance = object.maybe_not_negative("tolerance").value_or(0);
  cell.checked = object
                     .maybe("checked",
                            [](const StoredJson& checked, const std::string& where) {
                              return whole_from(checked, where, 0, INT64_MAX);
                            })
                     .value_or(0);
  read_times(object, cell);
  cell.clock_hz = object.maybe_not_negative("clock_hz");
  cell.others_share = object.maybe_not_negative("others_share");
  cell.kernels = object.list("kernels", most_of_a_kind, kernel_from);
  cell.efficiencies = object.maybe("efficiencies", efficiencies_from);
  object.finish();
  if (cell.status == ConvStatus::measured && cell.samples_s.empty())
    fail(ErrorKind::input, "{}: measured, but without samples_s", place);
  return cell;
}

ConvOrigin origin_from(const StoredJson& json, std::string place) {
  ObjectReader object(json, std::move(place));
  ConvOrigin origin;
  origin.date = object.maybe("date", name_from).value_or("");
  origin.facts.versions =
      object.list("versions", most_of_a_kind, [](const StoredJson& each, std::string where) {
        ObjectReader entry(each, std::move(where));
        Version version{name_from(entry.required("of"), entry.place_of("of")),
                        name_from(entry.required("version"), entry.place_of("version"))};
        entry.finish();
        return version;
      });
  origin.facts.most_clock_hz = object.maybe_not_negative("most_clock_hz");
  origin.facts.power_limit_w = object.maybe_not_negative("power_limit_w");
  object.finish();
  return origin;
}

ConvResults head_from(ObjectReader& object) {
  if (object.required("kind") != "convolutions")
    fail(ErrorKind::input, "not a result of strata conv");
  if (object.required("schema_version") != 1)
    fail(ErrorKind::input, "of another version of Strata: expected schema_version 1");
  ConvResults results;
  results.device = name_from(object.required("device"), object.place_of("device"));
  const std::string dtype = object.text("dtype");
  const auto known = dtype_named(dtype);
  if (!known)
    fail(ErrorKind::input, "{}: unknown data type '{}'", object.place_of("dtype"),
         printable(dtype.substr(0, 40)));
  results.dtype = *known;
  results.passes = object.list("passes", all_conv_passes.size(), pass_from);
  results.strategies =
      object.list("strategies", most_of_a_kind, [](const StoredJson& json, std::string place) {
        ObjectReader entry(json, std::move(place));
        ConvStrategyName strategy{name_from(entry.required("name"), entry.place_of("name")),
                                  entry.truth("is_vendor")};
        entry.finish();
        return strategy;
      });
  results.seed =
      static_cast<std::uint64_t>(whole_from(object.required("seed"), "seed", 0, INT64_MAX));
  results.samples =
      static_cast<int>(whole_from(object.required("samples"), "samples", 1, 1'000'000));
  results.memory_limit_bytes =
      object.maybe("memory_limit_bytes", [](const StoredJson& json, const std::string& place) {
        return whole_from(json, place, 0, INT64_MAX);
      });
  if (object.find("has_efficiencies") != nullptr)
    results.has_efficiencies = object.truth("has_efficiencies");
  results.origin = object.maybe("measured", origin_from).value_or(ConvOrigin{});
  results.series = object.list("series", most_series, series_from);
  return results;
}

ConvResults read_document(const StoredJson& json) {
  ObjectReader object(json, "results");
  ConvResults results = head_from(object);
  results.cells = object.list("cells", most_cells, cell_from);
  for (const char* derived : {"advice", "sums", "warnings", "provenance"}) object.find(derived);
  object.finish();
  return results;
}

ConvResults read_lines(std::string_view text) {
  std::size_t line_number = 0;
  ConvResults results;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // cut off while it was written
    const std::string place = fmt::format("line {}", ++line_number);
    const StoredJson json = parsed(text.substr(0, end), place);
    text.remove_prefix(end + 1);
    if (line_number == 1) {
      ObjectReader object(json, place);
      results = head_from(object);
      object.finish();
      continue;
    }
    if (results.cells.size() >= most_cells)
      fail(ErrorKind::input, "more than {} cells", most_cells);
    results.cells.push_back(cell_from(json, place));
  }
  return results;
}

}  // namespace

ConvResults read_conv_results(std::string_view text) {
  if (text.size() > most_stored_bytes) fail(ErrorKind::input, "too large for a result");
  const std::size_t end = text.find('\n');
  const std::string_view first_line = text.substr(0, end);
  const bool is_lines = end != std::string_view::npos && StoredJson::accept(first_line) &&
                        !parsed(first_line, "line 1").contains("cells");
  return is_lines ? read_lines(text) : read_document(parsed(text, "the file"));
}

ConvResults load_conv_results(const std::filesystem::path& path) {
  try {
    std::error_code problem;
    if (std::filesystem::is_directory(path, problem)) fail(ErrorKind::input, "is a folder");
    std::ifstream file(path, std::ios::binary);
    if (!file) fail(ErrorKind::input, "cannot be read");
    std::string text;
    std::vector<char> piece(std::size_t{1} << 20);
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) ||
           file.gcount() > 0) {
      text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
      if (text.size() > most_stored_bytes) fail(ErrorKind::input, "too large for a result");
    }
    return read_conv_results(text);
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
}

}  // namespace strata
