// SPDX-License-Identifier: Apache-2.0
#include "cli/help_topics.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/version.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <span>

namespace strata {
namespace {

constexpr std::string_view tutorial_list = "README";

/// Topics that are no page of their own.
constexpr std::string_view json_topics[] = {"json", "schemas", "schema"};
constexpr std::string_view tutorial_topics[] = {"tutorials", "tutorial"};
constexpr std::string_view version_topic = "version", topics_topic = "topics";

bool is_any_of(std::string_view topic, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    if (same_name(topic, name)) return true;
  }
  return false;
}

const EmbeddedFile* file_named(std::span<const EmbeddedFile> files, std::string_view name) {
  for (const EmbeddedFile& file : files) {
    if (same_name(file.name, name)) return &file;
  }
  return nullptr;
}

/// "# Machine files": the first line of a page.
std::string_view title_of(std::string_view page) {
  const std::string_view line = page.substr(0, page.find('\n'));
  return line.starts_with("# ") ? line.substr(2) : line;
}

/// "prediction.schema" is of documents of the kind prediction.
std::string_view kind_of(const EmbeddedFile& schema) {
  return schema.name.substr(0, schema.name.find('.'));
}

std::string about(const EmbeddedFile& schema) {
  const auto json = nlohmann::json::parse(schema.text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json.value("title", std::string()) : std::string();
}

std::string list_of_documents() {
  std::string text =
      "# Documents\n\nEvery `--json FILE` writes a document whose `kind` says what it is; numbers "
      "are in base units: seconds, bytes, FLOP. `strata help json KIND` prints its JSON schema, "
      "and the page of each command explains the keys.\n\n| kind | document |\n|---|---|\n";
  for (const EmbeddedFile& schema : embedded_schemas())
    text += fmt::format("| `{}` | {} |\n", kind_of(schema), about(schema));
  return text;
}

std::string schema_of(std::string_view kind) {
  std::vector<std::string> kinds;
  for (const EmbeddedFile& schema : embedded_schemas()) {
    if (same_name(kind_of(schema), kind)) return std::string(schema.text);
    kinds.emplace_back(kind_of(schema));
  }
  fail(ErrorKind::usage, "no document of the kind '{}'{}; strata help json lists them", kind,
       did_you_mean(kind, kinds));
}

std::string tutorial(std::string_view word) {
  const EmbeddedFile* page = file_named(embedded_tutorials(), word.empty() ? tutorial_list : word);
  if (page != nullptr) return std::string(page->text);
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_tutorials()) names.emplace_back(file.name);
  fail(ErrorKind::usage, "no tutorial named '{}'{}; strata help tutorials lists them", word,
       did_you_mean(word, names));
}

std::string list_of_topics() {
  std::string text =
      "# Topics\n\n`strata help TOPIC` prints a page of the documentation, `strata help COMMAND` "
      "that of a command.\n\n| topic | page |\n|---|---|\n"
      "| `version` | the version of this program |\n"
      "| `json` | the documents that `--json` writes, and their schemas |\n"
      "| `tutorials` | ten minutes for each kind of user |\n";
  for (const EmbeddedFile& page : embedded_topics())
    text += fmt::format("| `{}` | {} |\n", page.name, title_of(page.text));
  return text;
}

}  // namespace

std::optional<std::string> topic_page(std::string_view topic, std::string_view word) {
  if (is_any_of(topic, json_topics)) return word.empty() ? list_of_documents() : schema_of(word);
  if (is_any_of(topic, tutorial_topics)) return tutorial(word);
  std::optional<std::string> page;
  if (same_name(topic, version_topic)) page = fmt::format("strata {}\n", version);
  if (same_name(topic, topics_topic)) page = list_of_topics();
  if (const EmbeddedFile* file = file_named(embedded_topics(), topic))
    page = std::string(file->text);
  if (!page && topic != tutorial_list) {
    if (const EmbeddedFile* file = file_named(embedded_tutorials(), topic))
      page = std::string(file->text);
  }
  if (page && !word.empty())
    fail(ErrorKind::usage, "'{}' is no part of the topic {}; see strata help {}", word, topic,
         topic);
  return page;
}

std::vector<std::string> topics() {
  std::vector<std::string> names = {std::string(version_topic), std::string(topics_topic)};
  for (const std::string_view name : json_topics) names.emplace_back(name);
  for (const std::string_view name : tutorial_topics) names.emplace_back(name);
  for (const EmbeddedFile& page : embedded_topics()) names.emplace_back(page.name);
  return names;
}

}  // namespace strata
