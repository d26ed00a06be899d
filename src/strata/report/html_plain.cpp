// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/xml_text.hpp"
#include "strata/report/html_page.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata {
namespace {

using PlainJson = nlohmann::ordered_json;

constexpr std::string_view plain_head = R"html(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{}</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em }}
.wide {{ overflow: auto; max-height: 40em }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }}
th, td {{ padding: .1em .6em; text-align: left; border-bottom: 1px solid #8884; vertical-align: top }}
.n {{ text-align: right; white-space: nowrap }}
svg {{ max-width: 100%; height: auto }}
</style></head><body><h1>{}</h1>
<p>This Strata was built without its report page (esbuild or D3 was not there), so
this is a plain page: the tables and pictures, in base units (seconds, bytes, FLOP).</p>
)html";

std::string plain_words(const PlainJson& json) {
  if (json.is_string()) return xml_text(json.get_ref<const std::string&>());
  if (json.is_null()) return "–";
  if (json.is_number_float()) return fmt::format("{:.6g}", json.get<double>());
  return xml_text(json.dump(-1, ' ', false, PlainJson::error_handler_t::replace));
}

/// A name that is written from right to left must not turn what stands around it.
std::string plain_cell(const PlainJson& json) {
  return json.is_string() ? "<bdi>" + plain_words(json) + "</bdi>" : plain_words(json);
}

bool is_table(const PlainJson& json) {
  return json.is_array() && !json.empty() &&
         std::all_of(json.begin(), json.end(),
                     [](const PlainJson& row) { return row.is_object(); });
}

std::string plain_row(const PlainJson& row, const std::vector<std::string>& keys) {
  std::string text = "<tr>";
  for (const std::string& key : keys) {
    const auto found = row.find(key);
    const PlainJson& cell = found == row.end() ? PlainJson() : *found;
    text += fmt::format("<td{}>{}</td>", cell.is_number() ? " class=\"n\"" : "", plain_cell(cell));
  }
  return text + "</tr>\n";
}

/// A column for every key that any of the rows has.
std::string plain_table(const PlainJson& rows) {
  std::vector<std::string> keys;
  for (const PlainJson& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  std::string text = "<div class=\"wide\"><table><thead><tr>";
  for (const std::string& key : keys) text += fmt::format("<th>{}</th>", xml_text(key));
  text += "</tr></thead><tbody>\n";
  for (const PlainJson& row : rows) text += plain_row(row, keys);
  return text + "</tbody></table></div>\n";
}

std::string plain_pairs(const PlainJson& object) {
  std::string text = "<table>\n";
  for (const auto& [key, value] : object.items())
    text += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", xml_text(key), plain_cell(value));
  return text + "</table>\n";
}

/// A sweep comes column by column.
PlainJson rows_of_columns(const PlainJson& columns) {
  PlainJson rows = PlainJson::array();
  for (const PlainJson& column : columns) {
    std::size_t at = 0;
    for (const PlainJson& cell : column.at("cells")) {
      if (at == rows.size()) rows.push_back(PlainJson::object());
      rows[at++][column.at("name").get<std::string>()] = cell;
    }
  }
  return rows;
}

std::string plain_document(const PlainJson& document) {
  std::string text;
  PlainJson single = PlainJson::object();
  for (const auto& [key, value] : document.items()) {
    const bool is_sweep = key == "columns" && document.value("kind", "") == "sweep";
    const PlainJson rows = is_sweep ? rows_of_columns(value) : PlainJson();
    if (key == "timeline") continue;  // thousands of slices are no table
    if (is_table(is_sweep ? rows : value)) {
      text += fmt::format("<h3>{}</h3>\n{}", xml_text(is_sweep ? "points" : key),
                          plain_table(is_sweep ? rows : value));
    } else if (value.is_object()) {
      text += fmt::format("<h3>{}</h3>\n{}", xml_text(key), plain_pairs(value));
    } else {
      single[key] = value;
    }
  }
  return plain_pairs(single) + text;
}

/// What limits, what it costs, and what to do: sentences, as they are.
std::string plain_findings(const PlainJson& explanation) {
  std::string text = "<h3>findings</h3>\n<ol>\n";
  for (const PlainJson& finding : explanation.at("findings")) {
    text += fmt::format("<li>{} [{}] ({} s): {}", plain_words(finding.at("what")),
                        plain_words(finding.at("code")), plain_words(finding.at("cost_s")),
                        plain_words(finding.at("advice")));
    for (const PlainJson& what_if : finding.at("what_ifs")) {
      if (what_if.at("time_s").is_null()) continue;
      text += fmt::format("<br>what if {}: {} s less", plain_words(what_if.at("change")),
                          plain_words(what_if.at("gain_s")));
    }
    text += "</li>\n";
  }
  return text + "</ol>\n";
}

}  // namespace

std::string plain_html_page(std::string_view title, const std::vector<PageSection>& parts) {
  const std::string heading = xml_text(title);
  std::string text = fmt::format(fmt::runtime(plain_head), heading, heading);
  for (const PageSection& part : parts) {
    text += fmt::format("<h2>{}</h2>\n", xml_text(part.name));
    for (const std::string& note : part.notes) text += fmt::format("<p>{}</p>\n", xml_text(note));
    for (const std::string& picture : part.pictures)
      text += picture.substr(std::min(picture.find("<svg"), picture.size())) + "\n";
    for (const auto& [key, json] : part.extras) {
      if (key == "explanation") text += plain_findings(PlainJson::parse(json));
    }
    text += plain_document(PlainJson::parse(part.document));
  }
  return text + "</body></html>\n";
}

}  // namespace strata
