// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/document.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace strata::keras {
namespace {

// "[json.exception.parse_error.101] parse error at line 3, column 4: …" without what only a
// programmer wants to know.
std::string message_of(const nlohmann::detail::exception& error) {
  std::string_view message = error.what();
  constexpr std::string_view noise = "parse error at ";
  if (const std::size_t at = message.find(noise); at != std::string_view::npos) {
    message.remove_prefix(at + noise.size());
  }
  constexpr std::size_t longest = 200;  // it may quote the whole of what it could not read
  if (message.size() <= longest) return std::string(message);
  return fmt::format("{}…", message.substr(0, longest));
}

/// Receives the events of the parser and grows the tree, within bounds. The library's own callback
/// would do, but it looks through all the elements of a list whenever one of them ends.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  Json root;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not in JSON

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool key(string_t& name) override {
    member_ = &(*open_.back())[name];
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    fail(ErrorKind::input, "not valid JSON: {}", message_of(error));
  }

 private:
  template <class Content>
  bool put(Content&& content) {
    place() = std::forward<Content>(content);
    return true;
  }

  bool open(Json&& container) {
    if (open_.size() >= deepest_nesting) {
      fail(ErrorKind::input, "nested deeper than {} levels", deepest_nesting);
    }
    Json& here = place();
    here = std::move(container);
    // Stays valid: while a container is open, none of those around it grows.
    open_.push_back(&here);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Json& place() {
    if (++values_ > most_values) fail(ErrorKind::input, "more than {} values", most_values);
    if (open_.empty()) return root;
    if (!open_.back()->is_array()) return *member_;
    open_.back()->push_back(nullptr);
    return open_.back()->back();
  }

  std::vector<Json*> open_;
  Json* member_ = nullptr;  // of the innermost object
  std::size_t values_ = 0;
};

std::string description_of(const Json& value) {
  if (value.is_string()) {
    return fmt::format("the text {}", network::in_quotes(value.get_ref<const std::string&>()));
  }
  if (value.is_array()) return value.empty() ? "an empty list" : "a list";
  if (value.is_object()) return "an object";
  return value.dump();
}

bool describes_model(const Json& value) {
  return value.is_object() && value.contains("class_name") && value.contains("config");
}

// TensorFlow.js: {"format", "modelTopology", "weightsManifest"}.
Json topology_of(Json document) {
  Json topology = std::move(document["modelTopology"]);
  if (const Json* format = member(document, "format"); format != nullptr) {
    if (*format == "graph-model") {
      fail(ErrorKind::unsupported,
           "a TensorFlow.js graph model: TensorFlow operations with layers dissolved and "
           "normalisation folded, made for inference; give the layers model (format "
           "'layers-model') or the Keras file that it was converted from");
    }
  }
  if (member(topology, "node") != nullptr) {
    fail(ErrorKind::unsupported,
         "a TensorFlow graph (GraphDef), not Keras layers; give the Keras file that it was made "
         "from");
  }
  if (topology.is_null()) fail(ErrorKind::input, "'modelTopology' is empty");
  return topology;
}

}  // namespace

Json parse_json(std::string_view text) {
  if (text.size() > most_bytes) {
    fail(ErrorKind::input, "{} bytes of JSON, the most is {}", text.size(), most_bytes);
  }
  TreeBuilder tree;
  Json::sax_parse(text.begin(), text.end(), &tree);
  return std::move(tree.root);
}

Json architecture_of(Json document) {
  if (!document.is_object()) fail_expected("an object", "the model", document);
  if (document.contains("modelTopology")) document = topology_of(std::move(document));
  if (document.contains("model_config")) {
    Json model_config = std::move(document["model_config"]);
    // HDF5 keeps it as text, and some converters leave it so.
    if (model_config.is_string()) {
      model_config = parse_json(model_config.get_ref<const std::string&>());
    }
    document = std::move(model_config);
  }
  if (!describes_model(document)) {
    fail(ErrorKind::input,
         "expected a Keras model: an object with 'class_name' and 'config', as model.to_json() "
         "writes it");
  }
  return document;
}

const Json* list_in(const Json& value) {
  if (value.is_array()) return &value;
  const Json* items = member(value, "items");
  return items != nullptr && items->is_array() ? items : nullptr;
}

const Json* member(const Json& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() || found->is_null() ? nullptr : &*found;
}

const std::string& word_in(const Json& value, std::string_view what) {
  constexpr std::size_t longest_word = 256;
  if (!value.is_string()) fail_expected("a text", what, value);
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > longest_word || !is_text(text)) {
    fail_expected(fmt::format("at most {} printable characters", longest_word), what, value);
  }
  return text;
}

std::int64_t whole_number(const Json& value, std::string_view what) {
  constexpr double largest_exact = 9007199254740992.0;  // 2^53
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > std::uint64_t{INT64_MAX}) fail_expected("a smaller number", what, value);
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (std::trunc(number) == number && std::abs(number) <= largest_exact) {
      return static_cast<std::int64_t>(number);
    }
  }
  fail_expected("a whole number", what, value);
}

void fail_expected(std::string_view expected, std::string_view what, const Json& value) {
  fail(ErrorKind::input, "expected {} for '{}', got {}", expected, what, description_of(value));
}

}  // namespace strata::keras
