// SPDX-License-Identifier: Apache-2.0
#include "strata/report/readiness_report.hpp"

#include "strata/base/printable.hpp"
#include "strata/report/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace strata {
namespace {

constexpr int readiness_schema_version = 1;

std::string_view sign_of(ReadyState state) {
  switch (state) {
    case ReadyState::ready: return "✓";
    case ReadyState::limited: return "~";
    case ReadyState::missing: return "–";
  }
  return "";
}

/// One that several items of an area share stands below the last of them.
bool is_remedy_shown(std::span<const ReadyItem> items, std::size_t index) {
  const ReadyItem& item = items[index];
  if (item.remedy.empty()) return false;
  const auto later = items.subspan(index + 1);
  return std::none_of(later.begin(), later.end(), [&](const ReadyItem& other) {
    return other.area == item.area && other.remedy == item.remedy;
  });
}

std::string counts_text(std::span<const ReadyItem> items) {
  std::array<std::size_t, 3> counts{};
  for (const ReadyItem& item : items) ++counts[static_cast<std::size_t>(item.state)];
  return fmt::format("\n✓ {} ready   ~ {} with care   – {} missing\n", counts[0], counts[1],
                     counts[2]);
}

}  // namespace

std::string to_text(std::span<const ReadyItem> items, const TextStyle& style) {
  std::size_t width = 0;
  for (const ReadyItem& item : items) width = std::max(width, item.name.size());
  std::string text;
  std::string_view area;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const ReadyItem& item = items[i];
    if (item.area != area) {
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", bold(item.area, style));
      area = item.area;
    }
    // What drivers and files say is shown, not obeyed.
    text += fmt::format("  {} {:<{}}  {}\n", sign_of(item.state), item.name, width,
                        printable(item.finding));
    if (is_remedy_shown(items, i))
      text += fmt::format("    {:<{}}  → {}\n", "", width, printable(item.remedy));
  }
  text += counts_text(items);
  return style.has_unicode ? text : to_ascii(text);
}

std::string to_json(std::span<const ReadyItem> items, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", readiness_schema_version);
  text.add("kind", "readiness");
  text.add_list("items", items, [](const ReadyItem& item) {
    nlohmann::ordered_json json{{"area", item.area},
                                {"name", item.name},
                                {"state", name_of(item.state)},
                                {"finding", item.finding}};
    if (!item.remedy.empty()) json["remedy"] = item.remedy;
    return json;
  });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace strata
