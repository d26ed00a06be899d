// SPDX-License-Identifier: Apache-2.0
#include "cli/options_file.hpp"

#include "cli/parse.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/network/document.hpp"
#include "strata/importers/text_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata {
namespace {

namespace fs = std::filesystem;
using OptionsJson = nlohmann::ordered_json;

constexpr std::size_t most_options_bytes = 1 << 20;
constexpr std::string_view command_key = "command";
constexpr std::string_view arguments_key = "arguments";
constexpr std::string_view model_key = "model";

bool is_about_files_of_options(const Flag& flag) {
  return flag.name == options_flag.name || flag.name == save_options_flag.name ||
         flag.name == help_flag.name;
}

bool takes_model(const Command& command) {
  return !command.arguments.empty() && command.arguments.front().name == "MODEL";
}

/// Whether the value names something to be read, which is looked for beside the file of options.
/// What is written goes where the command line would write it.
bool is_read(const Flag& flag) {
  return flag.offer == Offer::machine || flag.offer == Offer::model || flag.name == "on" ||
         flag.name == "host" || flag.name == "from";
}

std::string beside(const fs::path& folder, std::string_view word) {
  const fs::path path(word);
  std::error_code problem;
  const bool is_there = path.is_relative() && fs::exists(folder / path, problem);
  return is_there ? (folder / path).lexically_normal().string() : std::string(word);
}

/// Lists of machines stand behind one flag with commas between them.
std::string all_beside(const fs::path& folder, std::string_view list) {
  std::string found;
  for (const std::string_view word : split(list, ','))
    found += (found.empty() ? "" : ",") + beside(folder, word);
  return found;
}

/// A value as it would be typed.
std::string typed_value(const network::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.content)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value.content))
    return fmt::format("{}", *whole);
  if (const auto* number = std::get_if<double>(&value.content)) return fmt::format("{}", *number);
  network::fail_expected("a text or a number", value);
}

std::vector<std::string> typed_values(const network::Value& value) {
  if (!std::holds_alternative<network::List>(value.content)) return {typed_value(value)};
  std::vector<std::string> texts;
  for (const network::Value& element : network::list_of(value))
    texts.push_back(typed_value(element));
  return texts;
}

class OptionsReader {
 public:
  OptionsReader(const Command& command, const Arguments& typed, const fs::path& path)
      : command_(command), typed_(typed), folder_(path.parent_path()), flags_(all_flags(command)) {}

  std::vector<std::string> read(const network::Value& document) {
    try {
      for (const network::Member& member : network::table_of(document)) {
        line_ = member.value.line;
        add(member);
      }
    } catch (Error& error) {
      if (line_ > 0) error.add_context(fmt::format("line {}", line_));
      throw;
    }
    return std::move(words_);
  }

 private:
  void add(const network::Member& member) {
    const bool is_words =
        member.key == arguments_key || (member.key == model_key && takes_model(command_));
    if (member.key == command_key) {
      expect_command(network::text_of(member.value));
    } else if (is_words) {
      add_arguments(member.value);
    } else {
      add_flag(flag_named(member.key), member.value);
    }
  }

  void expect_command(const std::string& name) const {
    if (name == command_.name) return;
    fail(ErrorKind::input, "its options are for strata {}, not for strata {}", name, command_.name);
  }

  // The words of the command line replace those of the file.
  void add_arguments(const network::Value& value) {
    if (!typed_.words().empty()) return;
    for (const std::string& word : typed_values(value)) words_.push_back(beside(folder_, word));
  }

  const Flag& flag_named(const std::string& key) const {
    for (const Flag& flag : flags_) {
      const bool is_named = same_name(flag.name, key) || (!flag.also.empty() && flag.also == key);
      if (is_named && !is_about_files_of_options(flag)) return flag;
    }
    std::vector<std::string> names = {std::string(arguments_key)};
    for (const Flag& flag : flags_) names.emplace_back(flag.name);
    fail(ErrorKind::input, "'{}' is no flag of strata {}{}", key, command_.name,
         did_you_mean(key, names));
  }

  void add_flag(const Flag& flag, const network::Value& value) {
    std::vector<std::string> words;
    if (flag.value.empty()) {
      if (network::truth_of(value)) words.push_back(fmt::format("--{}", flag.name));
    } else {
      const std::vector<std::string> values = typed_values(value);
      if (values.size() > 1 && !flag.repeats)
        fail(ErrorKind::input, "'{}' takes one value, not a list of {}", flag.name, values.size());
      for (const std::string& each : values) {
        words.push_back(
            fmt::format("--{}={}", flag.name, is_read(flag) ? all_beside(folder_, each) : each));
      }
    }
    check_flag_words(command_, words);
    if (!typed_.has(flag)) words_.insert(words_.end(), words.begin(), words.end());
  }

  const Command& command_;
  const Arguments& typed_;
  fs::path folder_;
  std::vector<Flag> flags_;
  std::vector<std::string> words_;
  std::uint32_t line_ = 0;
};

/// A word that names a file, so that it is found from the folder of the file of options.
std::string seen_from(const fs::path& folder, const std::string& word) {
  std::error_code problem;
  const fs::path path(word);
  if (word.empty() || path.is_absolute() || !fs::exists(path, problem)) return word;
  const fs::path whole = fs::absolute(path, problem).lexically_normal();
  return folder.empty() ? whole.string() : whole.lexically_proximate(folder).string();
}

std::string all_seen_from(const fs::path& folder, std::string_view list) {
  std::string seen;
  for (const std::string_view word : split(list, ','))
    seen += (seen.empty() ? "" : ",") + seen_from(folder, std::string(word));
  return seen;
}

/// Whole numbers without quotes, as people write them.
OptionsJson value_json(const std::string& value) {
  const bool is_whole = !value.empty() && value.size() <= 15 && (value[0] != '0' || value == "0") &&
                        value.find_first_not_of("0123456789") == std::string::npos;
  return is_whole ? OptionsJson(std::stoll(value)) : OptionsJson(value);
}

OptionsJson options_json(const Command& command, const Arguments& given, const fs::path& folder) {
  OptionsJson json = {{command_key, command.name}};
  OptionsJson words = OptionsJson::array();
  for (const std::string& word : given.words()) words.push_back(seen_from(folder, word));
  if (words.size() == 1 && takes_model(command)) {
    json[std::string(model_key)] = words[0];
  } else if (!words.empty()) {
    json[std::string(arguments_key)] = words;
  }
  for (const Flag& flag : all_flags(command)) {
    if (is_about_files_of_options(flag) || !given.has(flag)) continue;
    OptionsJson values = OptionsJson::array();
    for (const std::string& value : given.values(flag))
      values.push_back(value_json(is_read(flag) ? all_seen_from(folder, value) : value));
    json[std::string(flag.name)] = flag.value.empty() ? OptionsJson(true)
                                   : flag.repeats     ? values
                                                      : values.back();
  }
  return json;
}

/// A basic string of TOML has the escapes of JSON, except for characters beyond 16 bits.
std::string toml_text(const std::string& text) {
  std::string quoted = "\"";
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view character = next_character(rest);
    const bool is_short = character.size() < 4;
    const std::string json =
        OptionsJson(character).dump(-1, ' ', false, OptionsJson::error_handler_t::replace);
    const std::string inside = json.substr(1, json.size() - 2);
    quoted += is_short ? printable_json(inside) : inside;
    rest.remove_prefix(character.size());
  }
  return quoted + '"';
}

std::string toml_value(const OptionsJson& value) {
  if (value.is_string()) return toml_text(value.get<std::string>());
  if (!value.is_array()) return value.dump();
  std::string list;
  for (const OptionsJson& each : value) list += (list.empty() ? "" : ", ") + toml_value(each);
  return "[" + list + "]";
}

}  // namespace

std::vector<std::string> words_of_options_file(const Command& command, const Arguments& typed,
                                               const fs::path& path) {
  const std::string text = read_text_file(path, most_options_bytes);
  try {
    return OptionsReader(command, typed, path).read(network::parse(text));
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
}

std::string options_file_text(const Command& command, const Arguments& given,
                              std::string_view path) {
  std::error_code problem;
  const fs::path folder =
      path == "-" ? fs::path() : fs::absolute(fs::path(path), problem).parent_path();
  const OptionsJson json = options_json(command, given, folder);
  if (path.ends_with(".json"))
    return printable_json(json.dump(2, ' ', false, OptionsJson::error_handler_t::replace)) + '\n';
  std::string text;
  for (const auto& [key, value] : json.items())
    text += fmt::format("{} = {}\n", key, toml_value(value));
  return text;
}

}  // namespace strata
