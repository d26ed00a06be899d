// SPDX-License-Identifier: Apache-2.0
#include "strata/report/html_page.hpp"

#include "strata/base/error.hpp"
#include "strata/report/compress.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace strata {
namespace {

using Json = nlohmann::json;

/// The bytes behind base64, letter by letter.
std::string bytes_of_base64(std::string_view text) {
  static constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bits;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t value = digits.find(c);
    EXPECT_NE(value, digits.npos) << c;
    for (int bit = 5; bit >= 0; --bit)
      bits += (value >> static_cast<unsigned>(bit) & 1U) ? '1' : '0';
  }
  std::string bytes;
  for (std::size_t at = 0; at + 8 <= bits.size(); at += 8)
    bytes += static_cast<char>(std::stoi(bits.substr(at, 8), nullptr, 2));
  return bytes;
}

TEST(Base64, is_that_of_rfc_4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(bytes_of_base64(base64(all)), all);
}

TEST(PlainPage, shows_hostile_text_as_text) {
  const std::string name = "</script><img src=x onerror=alert(1)>\"'&";
  const Json document = {{"kind", name},
                         {"totals", {{name, name}}},
                         {"layers", {{{"layer", name}, {"time_s", 0.5}, {name, 1}}}}};
  const std::string page = plain_html_page(name, {{.name = name, .document = document.dump()}});
  EXPECT_EQ(page.find("<img"), page.npos);
  EXPECT_EQ(page.find("<script"), page.npos);
  EXPECT_EQ(page.find("</script"), page.npos);
  EXPECT_NE(page.find("&lt;img src=x onerror=alert(1)&gt;"), page.npos);
  EXPECT_NE(page.find("<td class=\"n\">0.5</td>"), page.npos);
}

TEST(PlainPage, has_the_pictures_the_notes_and_the_points_of_a_sweep) {
  SweepTable table;
  table.row_count = 2;
  table.columns = {
      {.name = "model", .is_number = false, .is_axis = true, .numbers = {}, .texts = {"a", "b"}},
      {.name = "time_s",
       .is_number = true,
       .is_axis = false,
       .numbers = {0.25, no_number},
       .texts = {}}};
  const std::string page =
      plain_html_page("t", {{.name = "sweep",
                             .document = sweep_json(table, {.command = "strata sweep"}),
                             .extras = {},
                             .pictures = {"<?xml version=\"1.0\"?><svg id=\"one\"></svg>"},
                             .notes = {"no rooflines: <reason>"}}});
  EXPECT_NE(page.find("<svg id=\"one\">"), page.npos);
  EXPECT_EQ(page.find("<?xml"), page.npos);
  EXPECT_NE(page.find("no rooflines: &lt;reason&gt;"), page.npos);
  EXPECT_NE(page.find("<tr><td><bdi>a</bdi></td><td class=\"n\">0.25</td></tr>"), page.npos);
  EXPECT_NE(page.find("<tr><td><bdi>b</bdi></td><td>–</td></tr>"), page.npos);
}

TEST(PlainPage, has_the_findings_with_what_would_change) {
  const char* const explanation =
      R"({"findings":[{"code":"memory-bound","what":"<b> waits","cost_s":0.5,"advice":"fuse",)"
      R"("what_ifs":[{"change":"twice the bandwidth","time_s":1.5,"gain_s":0.25},)"
      R"({"change":"fp8","time_s":null,"gain_s":null}]}]})";
  const std::string page = plain_html_page(
      "t", {{.name = "p", .document = "{}", .extras = {{"explanation", explanation}}}});
  EXPECT_NE(page.find("<li>&lt;b&gt; waits [memory-bound] (0.5 s): fuse"), page.npos);
  EXPECT_NE(page.find("what if twice the bandwidth: 0.25 s less"), page.npos);
  EXPECT_EQ(page.find("fp8"), page.npos);  // nobody knows what it would take
}

TEST(SweepPage, keeps_numbers_and_gaps_and_refuses_too_many) {
  SweepTable table;
  table.row_count = 3;
  table.columns = {{.name = "capacity_bytes",
                    .is_number = true,
                    .is_axis = true,
                    .numbers = {1024, 2048, 4096},
                    .texts = {}},
                   {.name = "time_s",
                    .is_number = true,
                    .is_axis = false,
                    .numbers = {0.1, no_number, 1e-9},
                    .texts = {}}};
  const Json json = Json::parse(sweep_json(table, {}));
  EXPECT_EQ(json["kind"], "sweep");
  EXPECT_EQ(json["points"], 3);
  EXPECT_EQ(json["columns"][0]["cells"], Json({1024, 2048, 4096}));
  EXPECT_EQ(json["columns"][1]["cells"], Json({0.1, nullptr, 1e-9}));
  table.row_count = std::size_t{1} << 30;
  EXPECT_THROW(sweep_json(table, {}), Error);
}

TEST(ReportPage, packs_long_sweeps_so_that_a_browser_reads_them_at_once) {
  if (!has_report_page()) GTEST_SKIP() << "plain pages have a cell for each number";
  constexpr std::size_t points = 6000;
  SweepTable table;
  table.row_count = points;
  table.columns = {
      {.name = "batch", .is_number = true, .is_axis = true, .numbers = {}, .texts = {}},
      {.name = "time_s", .is_number = true, .is_axis = false, .numbers = {}, .texts = {}},
      {.name = "model", .is_number = false, .is_axis = true, .numbers = {}, .texts = {}}};
  for (std::size_t i = 0; i < points; ++i) {
    table.columns[0].numbers.push_back(i % 3 == 0 ? no_number : static_cast<double>(i % 3));
    table.columns[1].numbers.push_back(static_cast<double>(i) + 0.5);
    table.columns[2].texts.push_back("one");
  }
  const Json json = Json::parse(sweep_json(table, {}));
  EXPECT_EQ(json["columns"][0]["values"], Json({nullptr, 1, 2}));
  const std::string places = bytes_of_base64(json["columns"][0]["index"].get<std::string>());
  EXPECT_EQ(places.substr(0, 8), std::string("\0\0\1\0\2\0\0\0", 8));
  EXPECT_EQ(places.size(), 2 * points);
  const std::string numbers = bytes_of_base64(json["columns"][1]["numbers"].get<std::string>());
  EXPECT_EQ(numbers.substr(0, 8), std::string("\0\0\0\0\0\0\xe0\x3f", 8));  // 0.5
  EXPECT_EQ(numbers.size(), 8 * points);
  EXPECT_EQ(json["columns"][2]["values"], Json({"one"}));
  EXPECT_FALSE(json["columns"][2].contains("index"));  // all points have it
}

TEST(ReportPage, holds_its_data_where_no_name_can_break_out) {
  const std::string name = "</script><script>alert(1)</script>";
  const Json document = {{"kind", "model"}, {"layers", {{{"name", name}}}}};
  const std::string page = html_page(name, {{.name = name, .document = document.dump()}});
  EXPECT_EQ(page.find("alert(1)</script>"), page.npos);
  EXPECT_NE(page.find("&lt;/script&gt;"), page.npos);  // the title
  if (!has_report_page()) GTEST_SKIP() << "this build has no report page (esbuild and D3)";
  const std::string opening = "type=\"application/zlib;base64\">";
  const std::size_t at = page.find(opening);
  if (at == page.npos) {  // a build without zlib
    EXPECT_NE(page.find("\\u003c/script>"), page.npos);
    return;
  }
  const std::size_t begin = at + opening.size();
  const std::string bytes = bytes_of_base64(page.substr(begin, page.find('<', begin) - begin));
  EXPECT_EQ(static_cast<unsigned char>(bytes.front()), 0x78);  // RFC 1950: deflate, 32 KB window
}

}  // namespace
}  // namespace strata
