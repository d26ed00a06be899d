// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/read_profile.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/base/object_reader.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/profile/read_expected.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>

namespace strata {
namespace {

namespace fs = std::filesystem;
using RowJson = ObjectReader::Json;

constexpr std::size_t most_profile_bytes = std::size_t{1} << 30;
constexpr std::size_t most_rows = 10'000'000;
constexpr std::size_t most_parts = 64;  // data types, levels
constexpr std::size_t most_columns = 1000;
constexpr std::size_t most_samples = 10'000'000;
constexpr double most_seconds = 1e12;    // so that no sum is infinite
constexpr double rounding = 1 + 1e-6;    // of a part and the whole
constexpr double least_seconds = 1e-18;  // less is what rounding left, and makes rates infinite

constexpr std::array<std::string_view, 2> evidences = {"predicted", "measured"};
constexpr std::array<std::string_view, 6> time_froms = {
    "rows", "simulation", "whole_iterations", "layer_runs", "step", "recording"};
constexpr std::array<std::string_view, 2> unit_words = {"vector", "matrix"};

std::int64_t whole_count(const RowJson& json, const std::string& place) {
  if (json.is_number_unsigned()) {
    const auto number = json.get<std::uint64_t>();
    if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return static_cast<std::int64_t>(number);
    fail(ErrorKind::input, "{}: {} needs more than 64 bits", place, number);
  }
  if (!json.is_number())
    fail(ErrorKind::input, "{}: expected a whole number, got {}", place, json.type_name());
  fail(ErrorKind::input, "{}: expected a whole number from 0, got {}", place, json.dump());
}

double seconds(const RowJson& json, const std::string& place) {
  const double number = not_negative_number(json, place);
  if (number > most_seconds)
    fail(ErrorKind::input, "{}: {} seconds is too long for a profile", place, number);
  return number < least_seconds ? 0 : number;
}

/// Nothing where it is null, too.
std::optional<double> maybe_seconds(ObjectReader& object, const char* key) {
  const RowJson* found = object.find(key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  return seconds(*found, object.place_of(key));
}

std::string words(const RowJson& json, const std::string& place) {
  return printable(plain_text(json, place));
}

TypedFlop typed_flop(const RowJson& json, const std::string& place) {
  ObjectReader object(json, place);
  const std::string name = object.text("dtype");
  const std::optional<DType> dtype = dtype_named(name);
  if (!dtype) fail(ErrorKind::input, "{}.dtype: unknown data type '{}'", place, printable(name));
  const bool is_matrix = object.choice("unit", unit_words) == 1;
  return {*dtype, is_matrix, whole_count(object.required("flop"), object.place_of("flop"))};
}

LevelBytes level_bytes(const RowJson& json, const std::string& place) {
  ObjectReader object(json, place);
  return {words(object.required("level"), object.place_of("level")),
          whole_count(object.required("bytes"), object.place_of("bytes"))};
}

CounterColumn counter_column(const RowJson& json, const std::string& place) {
  ObjectReader object(json, place);
  return {words(object.required("key"), object.place_of("key")),
          object.maybe("unit", words).value_or(""), object.maybe("about", words).value_or("")};
}

AbsentColumn absent_column(const RowJson& json, const std::string& place) {
  ObjectReader object(json, place);
  return {words(object.required("key"), object.place_of("key")),
          object.maybe("reason", words).value_or("")};
}

ProfileCounters counters_of(const RowJson& json, const std::string& place) {
  ObjectReader object(json, place);
  ProfileCounters counters;
  counters.preset = object.maybe("preset", words).value_or("");
  counters.source = object.maybe("source", words).value_or("");
  counters.columns = object.list("columns", most_columns, counter_column);
  counters.absent = object.list("absent", most_columns, absent_column);
  counters.reason = object.maybe("reason", words).value_or("");
  counters.no_kernels_reason = object.maybe("no_kernels_reason", words).value_or("");
  return counters;
}

/// An object of keys and numbers, as values of the profile's columns.
CounterValues counter_values(const RowJson& json, const std::string& place,
                             const ProfileCounters& counters) {
  if (!json.is_object()) fail(ErrorKind::input, "{}: expected an object of counters", place);
  CounterValues values(counters.columns.size());
  for (const auto& [key, value] : json.items()) {
    const auto column = counters.place_of(key);
    if (!column) {
      fail(ErrorKind::input, "{}: '{}' is not among the profile's counters.columns", place,
           printable(key));
    }
    if (!value.is_null()) values[*column] = not_negative_number(value, place + "." + key);
  }
  return values;
}

/// A column is there in every row or in none: half a column would be half a truth.
class ColumnCheck {
 public:
  void saw(bool is_there, std::string_view column, const std::string& place) {
    if (!is_known_) {
      is_known_ = true;
      is_there_ = is_there;
      first_ = place;
    }
    if (is_there == is_there_) return;
    fail(ErrorKind::input, "{}: '{}' is missing, which {} has", is_there ? first_ : place, column,
         is_there ? place : first_);
  }
  bool is_there() const { return is_there_; }

 private:
  bool is_known_ = false;
  bool is_there_ = true;
  std::string first_;
};

/// Older files name the classes as the thesis does.
std::string present_class_name(std::string name) {
  if (name == "type I") return "dense";
  if (name == "type II") return "pointwise";
  return name;
}

class RowReader {
 public:
  explicit RowReader(const ProfileCounters& counters) : counters_(counters) {}

  ProfileRow read(const RowJson& json, const std::string& place) {
    ObjectReader object(json, place);
    ProfileRow row;
    row.layer = words(object.required("layer"), object.place_of("layer"));
    row.pass = words(object.required("pass"), object.place_of("pass"));
    row.op = object.maybe("op", words).value_or("");
    row.block = object.maybe("block", words).value_or(row.layer);
    row.layer_class = present_class_name(object.maybe("class", words).value_or(""));
    row.implementation = object.maybe("implementation", words).value_or("");
    read_times(object, row.totals, place);
    read_counts(object, row.totals, place);
    row.moved = moved_bytes(object, place);
    row.arithmetic = object.list("arithmetic", most_parts, typed_flop);
    check_arithmetic(row, place);
    row.levels = object.list("levels", most_parts, level_bytes);
    row.wall_s = object.maybe("wall_time_s", seconds);
    row.roof_s = object.maybe("roof_time_s", seconds);
    row.step_s = object.maybe("step_time_s", seconds);
    row.samples_s = object.list("samples_s", most_samples, seconds);
    row.kernel_samples_s = object.list("kernel_samples_s", most_samples, seconds);
    row.expected = object.maybe("expected", read_expected_row);
    const RowJson* not_run = object.find("not_run");  // null: it ran
    if (not_run != nullptr && !not_run->is_null())
      row.not_run = words(*not_run, object.place_of("not_run"));
    if (const RowJson* counted = object.find("counters"))
      row.counters = counter_values(*counted, object.place_of("counters"), counters_);
    return row;
  }

  ProfileColumns columns() const {
    return {time_.is_there(), flop_.is_there(), bytes_.is_there(), launches_.is_there()};
  }

 private:
  static std::optional<MovedBytes> moved_bytes(ObjectReader& object, const std::string& place) {
    const auto in = object.maybe("moved_in_bytes", whole_count);
    const auto out = object.maybe("moved_out_bytes", whole_count);
    if (in.has_value() != out.has_value())
      fail(ErrorKind::input, "{}: 'moved_in_bytes' and 'moved_out_bytes' go together", place);
    if (!in) return std::nullopt;
    return MovedBytes{*in, *out};
  }

  static void check_arithmetic(const ProfileRow& row, const std::string& place) {
    std::int64_t rest = row.totals.flop;
    for (const TypedFlop& part : row.arithmetic) {
      if (part.flop > rest) {
        fail(ErrorKind::input, "{}.arithmetic: adds up to more than the row's 'flop', {}", place,
             row.totals.flop);
      }
      rest -= part.flop;
    }
  }

  void read_times(ObjectReader& object, Totals& totals, const std::string& place) {
    const std::optional<double> time_s = object.maybe("time_s", seconds);
    time_.saw(time_s.has_value(), "time_s", place);
    totals.time_s = time_s.value_or(0);
    totals.compute_s = object.maybe("compute_time_s", seconds).value_or(0);
    totals.stall_s = object.maybe("stall_time_s", seconds).value_or(0);
  }

  void read_counts(ObjectReader& object, Totals& totals, const std::string& place) {
    const auto flop = object.maybe("flop", whole_count);
    flop_.saw(flop.has_value(), "flop", place);
    totals.flop = flop.value_or(0);
    const auto in = object.maybe("traffic_in_bytes", whole_count);
    const auto out = object.maybe("traffic_out_bytes", whole_count);
    if (in.has_value() != out.has_value()) {
      fail(ErrorKind::input, "{}: 'traffic_in_bytes' and 'traffic_out_bytes' go together", place);
    }
    bytes_.saw(in.has_value(), "traffic_in_bytes", place);
    totals.in_bytes = in.value_or(0);
    totals.out_bytes = out.value_or(0);
    totals.refetch_bytes = object.maybe("refetch_bytes", whole_count).value_or(0);
    const auto steps = object.maybe("steps", whole_count);
    auto launches = object.maybe("launches", whole_count);
    if (!launches) launches = steps;  // files from before the column was there
    launches_.saw(launches.has_value(), "launches", place);
    totals.launches = launches.value_or(0);
    totals.steps = steps.value_or(totals.launches);
    // A row without FLOP is one of data movement, whoever wrote it.
    const bool only_moves = flop && *flop == 0;
    totals.zero_flop_launches =
        object.maybe("zero_flop_launches", whole_count).value_or(only_moves ? totals.launches : 0);
    totals.zero_flop_s =
        object.maybe("zero_flop_time_s", seconds).value_or(only_moves ? totals.time_s : 0);
    if (time_.is_there() && totals.zero_flop_s > totals.time_s * rounding) {
      fail(ErrorKind::input, "{}: 'zero_flop_time_s', {}, is more than the row's 'time_s', {}",
           place, totals.zero_flop_s, totals.time_s);
    }
  }

  const ProfileCounters& counters_;
  ColumnCheck time_;
  ColumnCheck flop_;
  ColumnCheck bytes_;
  ColumnCheck launches_;
};

CountedKernel counted_kernel(const RowJson& json, const std::string& place,
                             const Profile& profile) {
  ObjectReader object(json, place);
  const std::int64_t row = whole_count(object.required("row"), object.place_of("row"));
  if (row >= static_cast<std::int64_t>(profile.rows.size())) {
    fail(ErrorKind::input, "{}: there is no row {}; the profile has {}", object.place_of("row"),
         row, profile.rows.size());
  }
  return {
      words(object.required("name"), object.place_of("name")), static_cast<std::size_t>(row),
      counter_values(object.required("counters"), object.place_of("counters"), profile.counters)};
}

ProfileSubject subject_of(ObjectReader& document) {
  ProfileSubject subject;
  document.maybe("model", [&](const RowJson& json, const std::string& place) {
    ObjectReader model(json, place);
    subject.network = model.maybe("name", words).value_or("");
    subject.title = model.maybe("title", words).value_or(subject.network);
    subject.dtype = model.maybe("dtype", words).value_or("");
    subject.setup = model.maybe("setup", words).value_or("");
    return true;
  });
  document.maybe("machine", [&](const RowJson& json, const std::string& place) {
    ObjectReader machine(json, place);
    subject.machine = machine.maybe("name", words).value_or("");
    subject.machine_title = machine.maybe("title", words).value_or(subject.machine);
    return true;
  });
  return subject;
}

/// What a prediction says of the hardware that it was made with.
void read_hardware(ObjectReader& document, Profile& profile) {
  document.maybe("machine", [&](const RowJson& json, const std::string& place) {
    ObjectReader machine(json, place);
    if (machine.find("multiply_add_is_one_operation") != nullptr)
      profile.mac_is_one = machine.truth("multiply_add_is_one_operation");
    const auto bytes_per_s = machine.maybe_positive("bandwidth_bytes_per_s");
    const auto dense = machine.maybe_positive("dense_flop_per_s");
    const auto other = machine.maybe_positive("other_flop_per_s");
    if (bytes_per_s && dense && other)
      profile.predicted_rates = PredictedRates{*bytes_per_s, *dense, *other};
    return true;
  });
}

/// What the file says of a recorded step. Traces from before their step was written do not say it.
void read_recorded(ObjectReader& totals, Profile& profile) {
  const bool is_recorded =
      profile.iteration_from == TimeFrom::step || profile.iteration_from == TimeFrom::recording;
  const std::optional<double> gaps_s = totals.maybe("gap_time_s", seconds);
  if (!is_recorded || !gaps_s) return;
  profile.recorded.emplace();
  profile.recorded->busy_s = std::max(0.0, *profile.iteration_s - *gaps_s);
  profile.recorded->host_s = maybe_seconds(totals, "host_time_s");
}

IdleShare idle_share(const RowJson& json, const std::string& place) {
  ObjectReader object(json, place);
  return {words(object.required("cause"), object.place_of("cause")),
          seconds(object.required("time_s"), object.place_of("time_s"))};
}

/// What the file says of the whole iteration. Files from before `time_from` was there say the time
/// that was simulated, or the median of iterations.
void read_iteration(ObjectReader& document, Profile& profile) {
  document.maybe("totals", [&](const RowJson& json, const std::string& place) {
    ObjectReader totals(json, place);
    profile.iteration_s = totals.maybe("time_s", seconds);
    profile.drain_s = totals.maybe("drain_time_s", seconds).value_or(0);
    profile.peak_memory_bytes = totals.maybe("peak_memory_bytes", whole_count);
    if (!profile.peak_memory_bytes)
      profile.peak_memory_bytes = totals.maybe("footprint_bytes", whole_count);
    if (!profile.iteration_s) return true;
    profile.iteration_from =
        profile.evidence == Evidence::predicted ? TimeFrom::simulation : TimeFrom::whole_iterations;
    if (totals.find("time_from") != nullptr)
      profile.iteration_from = static_cast<TimeFrom>(totals.choice("time_from", time_froms));
    read_recorded(totals, profile);
    return true;
  });
}

void check_version(ObjectReader& document) {
  const RowJson& version = document.required("schema_version");
  if (version == 1) return;
  fail(ErrorKind::input, "profile.schema_version: expected 1, got {}",
       version.is_number() ? version.dump() : version.type_name());
}

void check_sums(const Profile& profile) {
  for (const ProfileRow& row : profile.rows) {
    const auto most = std::numeric_limits<std::int64_t>::max();
    if (row.totals.in_bytes > most - row.totals.out_bytes)
      fail(ErrorKind::input, "layer '{}': its bytes need more than 64 bits", row.layer);
  }
  try {
    MovedBytes moved;
    for (const ProfileRow& row : profile.rows) {
      if (!row.moved) continue;
      moved.in_bytes = checked_add(moved.in_bytes, row.moved->in_bytes);
      moved.out_bytes = checked_add(moved.out_bytes, row.moved->out_bytes);
    }
    static_cast<void>(checked_add(moved.in_bytes, moved.out_bytes));
    const Totals total = total_of(profile);
    if (total.in_bytes <= std::numeric_limits<std::int64_t>::max() - total.out_bytes) return;
  } catch (const Error&) {
    // said below, as what it is: a property of the file
  }
  fail(ErrorKind::input, "the counts of all rows together need more than 64 bits");
}

}  // namespace

bool looks_like_profile(std::string_view text) {
  const std::string_view body = trimmed(text);
  return body.starts_with('{') && body.find("\"schema_version\"") != body.npos &&
         body.find("\"strata_network\"") == body.npos;
}

Profile read_profile(std::string_view json_text) {
  const RowJson json = RowJson::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(ErrorKind::input, "not a JSON document");
  ObjectReader document(json, "profile");
  check_version(document);
  const std::string kind = document.maybe("kind", words).value_or("profile");
  if (document.find("layers") == nullptr) {
    fail(ErrorKind::input, "a document of kind '{}' has no rows ('layers'), so it is no profile",
         kind);
  }
  Profile profile;
  profile.evidence = static_cast<Evidence>(document.choice("evidence", evidences));
  profile.subject = subject_of(document);
  if (profile.evidence == Evidence::predicted) read_hardware(document, profile);
  read_iteration(document, profile);
  if (profile.recorded) profile.recorded->idle = document.list("idle", most_parts, idle_share);
  const RowJson* expected = document.find("expected");  // null: the limit alone
  if (expected != nullptr && !expected->is_null())
    profile.expected = read_expected_iteration(*expected, document.place_of("expected"));
  if (const RowJson* counters = document.find("counters"))
    profile.counters = counters_of(*counters, document.place_of("counters"));
  RowReader reader(profile.counters);
  profile.rows = document.list(
      "layers", most_rows,
      [&](const RowJson& row, const std::string& place) { return reader.read(row, place); });
  if (profile.rows.empty()) fail(ErrorKind::input, "profile.layers: there are no rows");
  profile.columns = reader.columns();
  profile.counted_kernels = document.list("counted_kernels", most_rows,
                                          [&](const RowJson& kernel, const std::string& place) {
                                            return counted_kernel(kernel, place, profile);
                                          });
  check_sums(profile);
  return profile;
}

std::string profile_file_text(const fs::path& path) {
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (!fs::exists(status)) fail(ErrorKind::input, "no such file");
  if (fs::is_directory(status)) fail(ErrorKind::input, "is a folder, not a file");
  if (fs::is_character_file(status)) fail(ErrorKind::input, "expected a file, got a device");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ErrorKind::input, "cannot be read");
  std::string text;
  constexpr std::size_t piece = 1 << 20;  // not the size it says: it may be a pipe
  while (file) {
    const std::size_t before = text.size();
    text.resize(before + piece);
    file.read(text.data() + before, piece);
    text.resize(before + static_cast<std::size_t>(file.gcount()));
    if (text.size() > most_profile_bytes) fail(ErrorKind::input, "too large for a profile");
  }
  return text;
}

Profile load_profile(const fs::path& path) {
  try {
    return read_profile(profile_file_text(path));
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
}

}  // namespace strata
