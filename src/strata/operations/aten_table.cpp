// SPDX-License-Identifier: Apache-2.0
#include "strata/operations/aten_table.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/object_reader.hpp"
#include "strata/base/text.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>

namespace strata {
namespace {

using TableJson = ObjectReader::Json;

constexpr std::array<std::string_view, 7> where_words = {"output", "input", "rows",   "channels",
                                                         "all",    "one",   "nothing"};
constexpr std::array<std::string_view, 13> when_words = {
    "always",         "training", "inference", "inference_low", "alpha",  "no_alpha", "strided",
    "second_strided", "few",      "many",      "whole",         "spread", "number"};
constexpr std::array<std::string_view, 14> form_words = {"",
                                                         "product",
                                                         "convolution",
                                                         "convolution_backward",
                                                         "attention",
                                                         "attention_backward",
                                                         "recurrent",
                                                         "recurrent_backward",
                                                         "sum",
                                                         "copy",
                                                         "resize",
                                                         "list",
                                                         "encoder",
                                                         "grouped"};
// The passes of a recurrent layer and of attention have classes of kernels; their forms are asked
// for by these words.
constexpr std::array<std::pair<std::string_view, AtenForm>, 4> passes = {
    {{"attention.forward", AtenForm::attention},
     {"attention.backward", AtenForm::attention_backward},
     {"recurrent.forward", AtenForm::recurrent},
     {"recurrent.backward", AtenForm::recurrent_backward}}};

std::optional<double> number_in(const std::string& text) {
  std::istringstream stream(text);
  double number = 0;
  if (!(stream >> number) || !stream.eof()) return std::nullopt;
  return number;
}

template <std::size_t Count>
std::size_t word_among(const std::array<std::string_view, Count>& words, const std::string& word,
                       const std::string& place) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end())
    fail(ErrorKind::input, "{}: expected one of {}, got '{}'", place, fmt::join(words, ", "), word);
  return static_cast<std::size_t>(found - words.begin());
}

AtenForm form_named(std::string_view word) {
  for (const auto& [name, form] : passes) {
    if (name == word) return form;
  }
  const auto found = std::find(form_words.begin() + 1, form_words.end(), word);
  return found == form_words.end() ? AtenForm::of_class
                                   : static_cast<AtenForm>(found - form_words.begin());
}

AtenFlop flop_in(const TableJson& json, const std::string& place) {
  std::istringstream words(plain_text(json, place));
  std::string word, value;
  words >> word;
  AtenFlop flop{.form = form_named(word)};
  if (flop.form != AtenForm::of_class) return flop;
  flop.is_window = word == "window";
  flop.count = flop.is_window ? 1 : number_in(word).value_or(0);
  if (flop.count <= 0) fail(ErrorKind::input, "{}: expected a count, got '{}'", place, word);
  while (words >> word) {
    if ((word != "of" && word != "when") || !(words >> value))
      fail(ErrorKind::input, "{}: expected 'N of TENSOR when CONDITION'", place);
    if (word == "of")
      flop.of = static_cast<AtenWhere>(word_among(where_words, value, place));
    else
      flop.when = static_cast<AtenWhen>(word_among(when_words, value, place));
  }
  return flop;
}

AtenLaunch launch_in(const TableJson& json, const std::string& place) {
  std::istringstream words(plain_text(json, place));
  std::string word, value;
  words >> word;
  AtenLaunch launch{.form = form_named(word)};
  if (launch.form == AtenForm::of_class) {
    const auto found = operation_class_named(word);
    if (!found) fail(ErrorKind::input, "{}: there is no class of kernels '{}'", place, word);
    launch.kernel_class = *found;
  }
  while (words >> word) {
    if ((word != "of" && word != "when" && word != "times") || !(words >> value))
      fail(ErrorKind::input, "{}: expected 'CLASS of TENSOR when CONDITION times SHARE'", place);
    if (word == "of")
      launch.of = static_cast<AtenWhere>(word_among(where_words, value, place));
    else if (word == "when")
      launch.when = static_cast<AtenWhen>(word_among(when_words, value, place));
    else
      launch.share = number_in(value).value_or(0);
  }
  if (launch.share <= 0) fail(ErrorKind::input, "{}: expected a share above 0", place);
  return launch;
}

std::int64_t input_in(const TableJson& json, const std::string& place) {
  const std::int64_t input = json.is_number_integer() ? json.get<std::int64_t>() : -1;
  if (input < 0 || input >= 32) fail(ErrorKind::input, "{}: expected an input below 32", place);
  return input;
}

RecordedOperation::Kind kind_of(ObjectReader& object, const AtenRule& rule) {
  using Kind = RecordedOperation::Kind;
  constexpr std::array<std::string_view, 3> words = {"dense", "pointwise", "other"};
  if (object.find("kind") == nullptr) return rule.flop.empty() ? Kind::other : Kind::pointwise;
  return static_cast<Kind>(object.choice("kind", words));
}

using Table = std::map<std::string, AtenRule, std::less<>>;

void add_rule(Table& table, const std::string& names, const AtenRule& rule,
              const std::string& place) {
  std::istringstream words(names);
  for (std::string name; words >> name;) {
    if (!table.emplace(name, rule).second)
      fail(ErrorKind::input, "{}: '{}' is there twice", place, name);
  }
}

Table read_table(std::string_view text) {
  constexpr std::size_t most_entries = 64, most_unread = 32;
  const TableJson json = TableJson::parse(text, nullptr, false);
  if (json.is_discarded()) fail(ErrorKind::input, "not JSON");
  ObjectReader object(json, "aten");
  object.required("strata_aten");
  Table table;
  add_rule(table, object.text("views"), {.is_view = true}, "aten.views");
  add_rule(table, object.text("allocations"), {.is_allocation = true}, "aten.allocations");
  const TableJson& operations = object.required("operations");
  if (!operations.is_object()) fail(ErrorKind::input, "aten.operations: expected an object");
  for (const auto& [names, entry] : operations.items()) {
    const std::string place = "aten.operations." + names.substr(0, names.find(' '));
    ObjectReader reader(entry, place);
    AtenRule rule;
    rule.flop = reader.list("flop", most_entries, flop_in);
    rule.launches = reader.list("launches", most_entries, launch_in);
    rule.kind = kind_of(reader, rule);
    for (const std::int64_t input : reader.list("unread", most_unread, input_in))
      rule.unread |= std::uint32_t{1} << input;
    reader.finish();
    add_rule(table, names, rule, place);
  }
  object.finish();
  return table;
}

const Table& table() {
  static const Table read = read_table(embedded_operation_tables().front().text);
  return read;
}

const AtenRule* find(std::string_view name) {
  const auto found = table().find(name);
  return found == table().end() ? nullptr : &found->second;
}

}  // namespace

const AtenRule* aten_rule(std::string_view name) {
  const std::size_t space = name.find("::");
  if (space != std::string_view::npos) {
    // Other libraries' operations may be called as PyTorch's are: they keep their prefix.
    if (name.substr(0, space) == "aten") name.remove_prefix(space + 2);
  }
  if (const AtenRule* rule = find(name)) return rule;
  name = name.substr(0, name.find('.'));
  if (const AtenRule* rule = find(name)) return rule;
  return name.ends_with('_') ? find(name.substr(0, name.size() - 1)) : nullptr;
}

void check_aten_table(std::string_view json_text) { read_table(json_text); }

}  // namespace strata
