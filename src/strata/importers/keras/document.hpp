// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The text of a Keras file as a tree, and where in it the architecture stands.
namespace strata::keras {

using Json = nlohmann::json;

/// Bounds on what a file may ask for: far beyond real networks (the largest of keras.applications
/// take one megabyte), and small enough that no file ends the program.
inline constexpr std::size_t most_bytes = std::size_t{32} << 20;
inline constexpr std::size_t most_values = 500'000;
inline constexpr std::size_t deepest_nesting = 96;

/// The tree of a text. A key that is given twice has its last value, as in Python. Errors (input)
/// say line and column.
Json parse_json(std::string_view text);

/// The object {"class_name", "config"} of a document: of model.to_json(), of a .keras archive's
/// config.json, of the attribute model_config of an HDF5 file, or of a TensorFlow.js model.json.
/// Errors (unsupported) say why a document has none.
Json architecture_of(Json document);

/// A list as Keras writes it: plain, or a tuple or shape dressed as an object ("__tuple__",
/// "TensorShape" with "items"). nullptr when it is none.
const Json* list_in(const Json& value);

/// The member of an object, or nullptr when there is none, it is null, or `value` is no object.
const Json* member(const Json& value, const char* key);

/// A text that may become a name in the Graph: printable, and not longer than any real one. Errors
/// (input) name `what`.
const std::string& word_in(const Json& value, std::string_view what);

/// A whole number; Python's 3.0 counts as one. Errors (input) name `what`.
std::int64_t whole_number(const Json& value, std::string_view what);

/// "expected a whole number for 'units', got the text 'many'".
[[noreturn]] void fail_expected(std::string_view expected, std::string_view what,
                                const Json& value);

}  // namespace strata::keras
