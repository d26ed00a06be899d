// SPDX-License-Identifier: Apache-2.0
#include "strata/api/sweep.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/network/document.hpp"
#include "strata/importers/text_file.hpp"

#include <fmt/format.h>

#include <fstream>

namespace strata {
namespace {

constexpr std::size_t most_sweep_file_bytes = 1 << 20;
constexpr std::string_view format_key = "strata_sweep";
constexpr std::int64_t format_version = 1;

/// A value of a list, as it would be typed.
std::string typed(const network::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.content)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value.content))
    return fmt::format("{}", *whole);
  if (const auto* number = std::get_if<double>(&value.content)) return fmt::format("{}", *number);
  if (const auto* truth = std::get_if<bool>(&value.content)) return *truth ? "true" : "false";
  network::fail_expected("a text, a number, true or false", value);
}

std::vector<std::string> list_of_texts(const network::Value& value) {
  if (!std::holds_alternative<network::List>(value.content)) return {typed(value)};
  std::vector<std::string> texts;
  for (const network::Value& element : network::list_of(value)) texts.push_back(typed(element));
  return texts;
}

class SweepFileReader {
 public:
  explicit SweepFileReader(std::string path) : path_(std::move(path)) {}

  SweepRequest read(const network::Value& document) {
    try {
      return request_of(document);
    } catch (Error& error) {
      if (line_ > 0) error.add_context(fmt::format("line {}", line_));
      throw;
    }
  }

 private:
  SweepRequest request_of(const network::Value& document) {
    network::TableReader top(network::table_of(document), line_);
    const network::Value* format = top.take(format_key);
    if (format == nullptr) fail(ErrorKind::input, "the key '{} = 1' is missing", format_key);
    if (network::whole_number_of(*format) != format_version)
      fail(ErrorKind::input, "key '{}': this Strata reads version {}", format_key, format_version);
    SweepRequest request;
    if (const auto* models = top.take("models")) request.models = list_of_texts(*models);
    if (const auto* preset = top.take("preset")) request.preset = network::text_of(*preset);
    if (const auto* on = top.take("on"))
      request.parameters.push_back({"on", joined(*on), place_of("on")});
    if (const auto* fuse = top.take("no-fuse")) request.import.fuse = !network::truth_of(*fuse);
    if (const auto* assume = top.take("assume-bn"))
      request.import.assume_batch_norm = network::truth_of(*assume);
    if (const auto* strict = top.take("strict")) request.import.strict = network::truth_of(*strict);
    if (const auto* none = top.take("no-limit")) request.wants_limit = !network::truth_of(*none);
    if (const auto* columns = top.take("columns")) request.columns = list_of_texts(*columns);
    if (const auto* where = top.take("where")) request.where = list_of_texts(*where);
    if (const auto* axes = top.take("axes")) add_axes(request, network::table_of(*axes), "");
    top.expect_all_taken();
    return request;
  }

  // "machine.memory.l2.capacity_bytes" may be written as tables within tables.
  void add_axes(SweepRequest& request, const network::Table& table, const std::string& before) {
    for (const network::Member& member : table) {
      line_ = member.value.line;
      const std::string name = before + member.key;
      if (const auto* inner = std::get_if<network::Table>(&member.value.content)) {
        add_axes(request, *inner, name + ".");
      } else {
        request.parameters.push_back({name, joined(member.value), place_of(name)});
      }
    }
  }

  std::string joined(const network::Value& value) const {
    const std::vector<std::string> texts = list_of_texts(value);
    if (texts.empty()) fail(ErrorKind::input, "a list without values");
    return fmt::format("{}", fmt::join(texts, ","));
  }

  std::string place_of(const std::string& name) const {
    return fmt::format("{}: line {}: {}", path_, line_, name);
  }

  std::string path_;
  std::uint32_t line_ = 0;
};

}  // namespace

SweepRequest read_sweep_file(const std::filesystem::path& path) {
  const std::string text = read_text_file(path, most_sweep_file_bytes);
  try {
    return SweepFileReader(path.string()).read(network::parse(text));
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
}

bool is_sweep_file(const std::filesystem::path& path) {
  const std::string ending = lower_case(path.extension().string());
  std::error_code problem;
  if ((ending != ".toml" && ending != ".json") ||
      !std::filesystem::is_regular_file(path, problem)) {
    return false;
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(most_sweep_file_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text.find(format_key) != std::string::npos &&
         text.find("strata_network") == std::string::npos;
}

}  // namespace strata
