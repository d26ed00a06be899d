// SPDX-License-Identifier: Apache-2.0
// The request of a prediction as JSON; request.cpp makes the prediction again.
#include "strata/api/request.hpp"
#include "strata/base/object_reader.hpp"
#include "strata/base/printable.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

using RequestJson = nlohmann::ordered_json;
using ReadJson = ObjectReader::Json;

constexpr std::size_t most_words = 10'000;

std::int64_t size_in(const ReadJson& json, const std::string& place) {
  if (!json.is_number_integer())
    fail(ErrorKind::input, "{}: expected a whole number, got {}", place, json.type_name());
  return json.get<std::int64_t>();
}

/// `read(name, value, place)` of every entry of an object; one that is absent has none.
template <class Read>
void read_entries(ObjectReader& from, const char* key, const Read& read) {
  const ReadJson* found = from.find(key);
  if (found == nullptr) return;
  if (!found->is_object() || found->size() > most_words)
    fail(ErrorKind::input, "{}: expected an object", from.place_of(key));
  for (const auto& [name, value] : found->items())
    read(name, value, fmt::format("{}.{}", from.place_of(key), name));
}

RequestJson import_json(const ImportOptions& import) {
  RequestJson inputs = RequestJson::object();
  for (const auto& [name, extents] : import.input_shapes) inputs[name] = extents;
  return {{"fuse", import.fuse},
          {"strict", import.strict},
          {"assume_batch_norm", import.assume_batch_norm},
          {"input_shapes", std::move(inputs)}};
}

RequestJson sizes_json(const ModelSizes& sizes) {
  RequestJson json = RequestJson::object();
  if (sizes.batch) json["batch"] = *sizes.batch;
  if (sizes.sequence) json["sequence"] = *sizes.sequence;
  if (sizes.dtype) json["dtype"] = name_of(*sizes.dtype);
  json["dims"] = RequestJson::object();
  for (const Dimension& dimension : sizes.dims) json["dims"][dimension.name] = dimension.value;
  return json;
}

RequestJson file_json(const FileIdentity& file) {
  return {{"path", file.path}, {"bytes", file.bytes}, {"hash", file.hash}};
}

FileIdentity file_in(const ReadJson& json, const std::string& place) {
  ObjectReader object(json, place);
  return {.path = object.text("path"),
          .bytes = size_in(object.required("bytes"), object.place_of("bytes")),
          .hash = object.text("hash")};
}

ImportOptions import_in(const ReadJson& json, const std::string& place) {
  ObjectReader object(json, place);
  ImportOptions import{.fuse = object.truth("fuse"),
                       .strict = object.truth("strict"),
                       .assume_batch_norm = object.truth("assume_batch_norm")};
  read_entries(object, "input_shapes",
               [&](const std::string& name, const ReadJson& value, const std::string& at) {
                 if (!value.is_array() || value.size() > most_words)
                   fail(ErrorKind::input, "{}: expected a list of sizes", at);
                 for (const ReadJson& extent : value)
                   import.input_shapes[name].push_back(size_in(extent, at));
               });
  return import;
}

ModelSizes sizes_in(const ReadJson& json, const std::string& place) {
  ObjectReader object(json, place);
  ModelSizes sizes;
  sizes.batch = object.maybe("batch", size_in);
  sizes.sequence = object.maybe("sequence", size_in);
  if (object.find("dtype") != nullptr) {
    sizes.dtype = dtype_named(object.text("dtype"));
    if (!sizes.dtype) fail(ErrorKind::input, "{}: unknown data type", object.place_of("dtype"));
  }
  read_entries(object, "dims",
               [&](const std::string& name, const ReadJson& value, const std::string& at) {
                 sizes.dims.push_back({name, size_in(value, at)});
               });
  return sizes;
}

}  // namespace

std::string to_json(const RequestText& words) {
  RequestJson options = RequestJson::object();
  for (const auto& [name, value] : words.options) options[name] = value;
  RequestJson json = {{"model", words.model},         {"import", import_json(words.import)},
                      {"machine", words.machine},     {"settings", words.settings},
                      {"preset", words.preset},       {"sizes", sizes_json(words.sizes)},
                      {"options", std::move(options)}};
  if (words.model_file) json["model_file"] = file_json(*words.model_file);
  if (words.machine_file) json["machine_file"] = file_json(*words.machine_file);
  return printable_json(json.dump(-1, ' ', false, RequestJson::error_handler_t::replace));
}

RequestText read_request(std::string_view json_text) {
  const ReadJson json = ReadJson::parse(json_text, nullptr, /*allow_exceptions=*/false);
  ObjectReader object(json, "request");
  RequestText words;
  words.model = object.text("model");
  words.import = import_in(object.required("import"), object.place_of("import"));
  words.machine = object.text("machine");
  words.settings = object.list("settings", most_words, plain_text);
  words.preset = object.text("preset");
  words.sizes = sizes_in(object.required("sizes"), object.place_of("sizes"));
  read_entries(object, "options",
               [&](const std::string& name, const ReadJson& value, const std::string& at) {
                 words.options.emplace_back(name, plain_text(value, at));
               });
  words.model_file = object.maybe("model_file", file_in);
  words.machine_file = object.maybe("machine_file", file_in);
  return words;
}

}  // namespace strata
