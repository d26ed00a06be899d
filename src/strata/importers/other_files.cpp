// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/other_files.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"

#include <array>

namespace strata {
namespace {

/// A key that only this kind of file has.
struct OwnFile {
  std::string_view key;
  std::string_view what;
};

constexpr std::array<OwnFile, 6> own_files = {{
    {"strata_machine", "a machine; give it with --on"},
    {"strata_sweep", "a sweep; give it to strata sweep, or its points to strata report"},
    {"strata_calibration", "a calibration of a machine"},
    {"strata_framework", "the rules of a framework"},
    {"strata_truth", "measured times; give it to strata validate"},
    {"strata_capture", "a recording; give it to strata trace or strata report"},
}};

// "prediction" of a result that begins {"schema_version": 1, "kind": "prediction", …
std::string_view kind_of_result(std::string_view head) {
  constexpr std::size_t top = 300;
  const std::string_view begin = head.substr(0, top);
  if (!has_part(begin, "\"schema_version\"")) return {};
  std::size_t at = begin.find("\"kind\"");
  if (at == std::string_view::npos) return {};
  at = begin.find('"', begin.find(':', at));
  if (at == std::string_view::npos) return {};
  const std::size_t end = begin.find('"', at + 1);
  return end == std::string_view::npos ? std::string_view() : begin.substr(at + 1, end - at - 1);
}

}  // namespace

void refuse_other_file(std::string_view head) {
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) {
    fail(ErrorKind::input, "the text is in UTF-16; save it as UTF-8");
  }
  if (has_part(head, std::string_view("\0", 1))) return;
  constexpr std::size_t top = 1000;
  for (const OwnFile& file : own_files) {
    if (!has_part(head.substr(0, top), file.key)) continue;
    fail(ErrorKind::input, "expected a network, got {}", file.what);
  }
  const std::string_view kind = kind_of_result(head);
  if (kind.empty()) return;
  fail(ErrorKind::input, "expected a network, got a result of Strata (kind '{}')", printable(kind));
}

}  // namespace strata
