// SPDX-License-Identifier: Apache-2.0
#include "strata/report/html_page.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/report/chart/xml_text.hpp"
#include "strata/report/compress.hpp"
#include "strata/version.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace strata {
namespace {

/// What stands in the built page where title and data go. web/page.html has both.
constexpr std::string_view title_mark = "<!--title-->";
constexpr std::string_view data_mark = "<!--data-->";

std::string_view page_text() {
  for (const EmbeddedFile& file : embedded_report_page()) {
    if (file.text.find(data_mark) != file.text.npos) return file.text;
  }
  return {};
}

std::string quoted_json(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// {"kind": "report", "parts": [{"name": …, "document": …, "roofline": …}, …]}: texts that are JSON
/// already are joined, not read and written again.
std::string page_data(std::string_view title, const std::vector<PageSection>& parts,
                      TitleFrom title_from) {
  std::string text = R"({"schema_version":1,"kind":"report","title":)" + quoted_json(title);
  if (title_from == TitleFrom::person) text += R"(,"is_title_given":true)";
  text += R"(,"strata_version":)" + quoted_json(version) + R"(,"parts":[)";
  for (const PageSection& part : parts) {
    if (&part != &parts.front()) text += ',';
    text += R"({"name":)" + quoted_json(part.name) + R"(,"document":)" + part.document;
    for (const auto& [key, json] : part.extras) text += ',' + quoted_json(key) + ':' + json;
    text +=
        R"(,"notes":)" +
        nlohmann::json(part.notes).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    text += '}';
  }
  return text + "]}";
}

/// In a script element a '<' could end it. In JSON it only stands inside strings, where it may be
/// written in this way too.
std::string without_tags(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string data_element(const std::string& json) {
  const std::optional<std::string> bytes = deflated(json);
  return bytes
             ? R"(<script id="data" type="application/zlib;base64">)" + base64(*bytes) + "</script>"
             : R"(<script id="data" type="application/json">)" + without_tags(json) + "</script>";
}

}  // namespace

bool has_report_page() { return !page_text().empty(); }

std::string html_page(std::string_view title, const std::vector<PageSection>& parts,
                      TitleFrom title_from) {
  const std::string_view page = page_text();
  if (page.empty()) return plain_html_page(title, parts);
  const std::size_t title_at = page.find(title_mark);
  const std::size_t data_at = page.find(data_mark);
  STRATA_CHECK(title_at < data_at, "the page has its title before its data");
  std::string text(page.substr(0, title_at));
  text += xml_text(title);
  text += page.substr(title_at + title_mark.size(), data_at - title_at - title_mark.size());
  text += data_element(printable_json(page_data(title, parts, title_from)));
  text += page.substr(data_at + data_mark.size());
  return text;
}

}  // namespace strata
