// SPDX-License-Identifier: Apache-2.0
// What a stored document is, and how the page shows it.
#include "strata/api/page.hpp"
#include "strata/base/error.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/report/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>
#include <optional>
#include <utility>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

/// Documents that are shown as they are, a list that each of them has, and objects that the page's
/// title is made of.
struct ShownKind {
  std::string_view kind;
  const char* list;
  std::array<const char*, 2> objects = {};
  bool has_findings_elsewhere = false;
};
constexpr ShownKind shown_kinds[] = {{"machine_choice", "machines"},
                                     {"roofline", "profiles"},
                                     {"model", "layers"},
                                     {"comparison", "rows"},
                                     {"explanation", "findings"},
                                     {"machine_diff", "numbers"},
                                     {"machines", "machines"},
                                     {"reproduction", "findings"},
                                     {"parallel_prediction", "stages", {"cluster", "dims"}, true},
                                     {"parallel_choice", "strategies", {"cluster", "dims"}, true},
                                     {"parallel_scaling", "rows", {"dims"}}};

/// Reads a JSON document up to its `kind`, which stands near its beginning: rows may be many.
class KindFinder : public nlohmann::json_sax<Json> {
 public:
  std::optional<std::string> found;
  bool is_object = false;

  bool null() override { return end_value(); }
  bool boolean(bool) override { return end_value(); }
  bool number_integer(number_integer_t) override { return end_value(); }
  bool number_unsigned(number_unsigned_t) override { return end_value(); }
  bool number_float(number_float_t, const string_t&) override { return end_value(); }
  bool binary(binary_t&) override { return end_value(); }
  bool string(string_t& text) override {
    if (depth_ == 1 && is_kind_) found = text;
    return !found && end_value();
  }
  bool start_object(std::size_t) override {
    if (depth_ == 0) is_object = true;
    ++depth_;
    return true;
  }
  bool key(string_t& name) override {
    is_kind_ = depth_ == 1 && name == "kind";
    return true;
  }
  bool end_object() override { return end_nested(); }
  bool start_array(std::size_t) override {
    ++depth_;
    return true;
  }
  bool end_array() override { return end_nested(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  bool end_value() {
    is_kind_ = false;
    return true;
  }
  bool end_nested() {
    --depth_;
    return end_value();
  }

  int depth_ = 0;
  bool is_kind_ = false;
};

/// What kind of result a JSON document says it is; empty when it does not say, nothing when it is
/// no such document.
std::optional<std::string> kind_in(const std::string& text) {
  KindFinder finder;
  const bool is_whole = Json::sax_parse(text, &finder);
  if (finder.found) return finder.found;
  return is_whole && finder.is_object ? std::optional<std::string>("") : std::nullopt;
}

/// What the page goes through must be there, and of its type.
void expect_shown(const std::string& text, const ShownKind& shown) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(ErrorKind::input, "the JSON document is not complete");
  const auto found = json.find(shown.list);
  if (found == json.end() || !found->is_array())
    fail(ErrorKind::input, "a document of this kind has a list '{}'", shown.list);
  for (const char* key : shown.objects) {
    if (key == nullptr) continue;
    const auto object = json.find(key);
    if (object == json.end() || !object->is_object())
      fail(ErrorKind::input, "a document of this kind has an object '{}'", key);
  }
}

bool is_database(const std::string& text) {
  return text.starts_with(std::string_view("SQLite format 3\0", 16));
}

}  // namespace

PageSection page_section(std::string name, std::string document, const AskedRoofs& asked,
                         const Provenance& provenance) {
  const auto kind = kind_in(document);
  for (const ShownKind& shown : shown_kinds) {
    if (kind != shown.kind) continue;
    expect_shown(document, shown);
    PageSection part{.name = std::move(name), .document = std::move(document)};
    if (shown.has_findings_elsewhere)
      part.notes.emplace_back(
          "no findings: strata explain MODEL --on CLUSTER --parallel SPLIT says what would change");
    return part;
  }
  if (kind && document.find("\"strata_machine\"") != document.npos) {
    const Machine machine = read_machine(document);
    return {.name = machine.title, .document = to_json(machine)};
  }
  if (kind && *kind != "convolutions" && looks_like_profile(document)) {
    Profile profile = read_profile(document);
    return page_section(std::move(name), StoredProfile{std::move(profile), std::move(document)},
                        asked, provenance);
  }
  if (kind == "convolutions" || document.find("\"kind\":\"convolutions\"") < document.find('\n')) {
    PageSection part = page_section(read_conv_results(document), {}, provenance);
    part.name = std::move(name);
    return part;
  }
  fail(ErrorKind::input,
       "no profile, roofline, model, convolutions or points of a sweep{}; give what --json of a "
       "command wrote, or --csv, --jsonl or --db of sweep",
       kind.value_or("").empty() ? "" : fmt::format(", but '{}'", *kind));
}

PageSection page_part_of_file(const std::string& path, const AskedRoofs& asked,
                              const Provenance& provenance) {
  std::string name = std::filesystem::path(path).stem().string();
  try {
    if (is_recording(path))
      return page_section(std::move(name), *stored_profile(path), asked, provenance);
    std::string text = profile_file_text(path);
    const bool is_document = !is_database(text) && kind_in(text).has_value();
    const bool is_lines = text.find("\"kind\":\"convolutions\"") < text.find('\n');
    if (is_document || is_lines)
      return page_section(std::move(name), std::move(text), asked, provenance);
    const SweepTable points = read_sweep_table(path);
    if (points.row_count == 0)
      fail(ErrorKind::input, "no result as JSON, and no points of a sweep");
    PageSection part = page_section(points, provenance);
    part.name = std::move(name);
    return part;
  } catch (Error& error) {
    if (std::string_view(error.what()).find(path) == std::string_view::npos)
      error.add_context(path);
    throw;
  }
}

}  // namespace strata
