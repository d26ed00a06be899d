// SPDX-License-Identifier: Apache-2.0
#include "strata/operations/read_recording.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/operations/aten_work.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

namespace strata {
namespace {

using Json = nlohmann::json;

// Far beyond the step of any network, and small enough that no file ends the program.
constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr std::size_t most_operations = 1'000'000;
constexpr std::size_t most_tensors = 4'000'000;
constexpr std::size_t most_list = 1'000'000;
constexpr std::size_t most_text = 1'000;
constexpr int deepest = 8;

[[noreturn]] void refuse(const std::string& place, std::string_view expected, const Json& got) {
  fail(ErrorKind::input, "{}: expected {}, got {}", place, expected, got.type_name());
}

const Json& member(const Json& json, const char* key, const std::string& place) {
  const auto found = json.find(key);
  if (found == json.end()) fail(ErrorKind::input, "{}: '{}' is missing", place, key);
  return *found;
}

const Json& list_of(const Json& json, const char* key, const std::string& place, std::size_t most) {
  const Json& list = member(json, key, place);
  if (!list.is_array()) refuse(place + "." + key, "a list", list);
  if (list.size() > most)
    fail(ErrorKind::input, "{}.{}: {} entries; at most {} are read", place, key, list.size(), most);
  return list;
}

std::string text_in(const Json& json, const std::string& place) {
  if (!json.is_string()) refuse(place, "a text", json);
  const auto& text = json.get_ref<const std::string&>();
  if (text.size() > most_text)
    fail(ErrorKind::input, "{}: a text of {} bytes; at most {} are read", place, text.size(),
         most_text);
  return text;
}

std::int64_t count_in(const Json& json, const std::string& place) {
  if (!json.is_number_integer() || json.get<std::int64_t>() < 0 ||
      (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX))
    refuse(place, "a whole number from 0 on", json);
  return json.get<std::int64_t>();
}

/// The number of something that there are `count` of.
std::uint32_t number_in(const Json& json, std::size_t count, const std::string& place) {
  const std::int64_t number = count_in(json, place);
  if (static_cast<std::size_t>(number) >= count)
    fail(ErrorKind::input, "{}: expected a number below {}, got {}", place, count, number);
  return static_cast<std::uint32_t>(number);
}

/// Types that have no name of their own count as what takes as much memory.
DType dtype_in(const Json& json, const std::string& place) {
  const std::string name = text_in(json, place);
  struct Named {
    std::string_view name;
    DType dtype;
  };
  static constexpr std::array<Named, 20> named = {
      {{"float32", DType::fp32},        {"float64", DType::fp64},
       {"bfloat16", DType::bf16},       {"float16", DType::fp16},
       {"float8_e4m3fn", DType::fp8},   {"float8_e5m2", DType::fp8},
       {"float8_e4m3fnuz", DType::fp8}, {"float8_e5m2fnuz", DType::fp8},
       {"int64", DType::int64},         {"int32", DType::int32},
       {"int16", DType::fp16},          {"int8", DType::int8},
       {"uint8", DType::int8},          {"uint16", DType::fp16},
       {"uint32", DType::int32},        {"uint64", DType::int64},
       {"bool", DType::boolean},        {"complex64", DType::fp64},
       {"complex32", DType::fp32},      {"qint8", DType::int8}}};
  for (const Named& one : named) {
    if (one.name == name) return one.dtype;
  }
  if (name == "complex128")
    fail(ErrorKind::unsupported, "{}: numbers of 16 bytes ({}) are not counted", place, name);
  fail(ErrorKind::input, "{}: there is no type '{}'", place, name);
}

std::vector<std::int64_t> extents_in(const Json& json, const std::string& place) {
  constexpr std::size_t most_extents = 64;
  if (!json.is_array() || json.size() > most_extents) refuse(place, "a list of extents", json);
  std::vector<std::int64_t> extents;
  for (const Json& one : json) extents.push_back(count_in(one, place));
  return extents;
}

/// FNV-1a, the same on every machine.
std::string digest_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  RecordedNetwork network() {
    if (!json_.is_object()) refuse("recording", "an object", json_);
    if (count_in(member(json_, "strata_operations", "recording"), "strata_operations") != 1)
      fail(ErrorKind::input, "strata_operations: this Strata reads version 1");
    RecordedNetwork network{.name = maybe_text("name"),
                            .title = maybe_text("title"),
                            .source = maybe_text("source"),
                            .recording = {}};
    if (network.name.empty()) network.name = "recording";
    if (network.title.empty()) network.title = network.name;
    read_head();
    read_storages();
    read_tensors();
    read_layers();
    read_operations();
    count_work(recording_);
    network.recording = std::move(recording_);
    return network;
  }

 private:
  std::string maybe_text(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? std::string() : text_in(*found, key);
  }

  bool maybe_truth(const char* key, bool otherwise) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return otherwise;
    if (!found->is_boolean()) refuse(key, "true or false", *found);
    return found->get<bool>();
  }

  void read_head() {
    recording_.framework = maybe_text("framework");
    recording_.recorded_on = maybe_text("recorded_on");
    recording_.is_training = maybe_truth("training", true);
    recording_.is_tf32 = maybe_truth("tf32", false);
    if (json_.contains("samples"))
      recording_.samples = std::max<std::int64_t>(1, count_in(json_["samples"], "samples"));
    if (json_.contains("autocast") && !json_["autocast"].is_null())
      recording_.autocast = dtype_in(json_["autocast"], "autocast");
    if (json_.contains("lines")) {
      for (const Json& line : list_of(json_, "lines", "recording", most_list))
        recording_.lines.push_back(text_in(line, "lines"));
    }
    const auto assumed = json_.find("assumed");
    if (assumed == json_.end() || !assumed->is_object()) return;
    for (const auto& [line, what] : assumed->items())
      recording_.assumed.push_back(fmt::format("{}: {}", line, text_in(what, "assumed")));
  }

  void read_storages() {
    using Kind = RecordedStorage::Kind;
    constexpr std::array<std::pair<std::string_view, Kind>, 5> kinds = {
        {{"parameter", Kind::parameter},
         {"buffer", Kind::buffer},
         {"input", Kind::input},
         {"gradient", Kind::gradient},
         {"state", Kind::state}}};
    Count all;
    for (const Json& one : list_of(json_, "storages", "recording", most_tensors)) {
      const std::string place = fmt::format("storages[{}]", recording_.storages.size());
      if (!one.is_object()) refuse(place, "an object", one);
      RecordedStorage storage{.bytes = count_in(member(one, "bytes", place), place + ".bytes")};
      all += storage.bytes;  // so that no sum of them overflows later
      if (const auto kind = one.find("kind"); kind != one.end()) {
        const std::string name = text_in(*kind, place + ".kind");
        const auto found = std::find_if(kinds.begin(), kinds.end(),
                                        [&](const auto& known) { return known.first == name; });
        if (found == kinds.end())
          fail(ErrorKind::input, "{}.kind: there is no kind '{}'", place, name);
        storage.kind = found->second;
      }
      if (const auto name = one.find("name"); name != one.end())
        storage.name = text_in(*name, place + ".name");
      recording_.storages.push_back(std::move(storage));
    }
  }

  void read_tensors() {
    for (const Json& one : list_of(json_, "tensors", "recording", most_tensors)) {
      const std::string place = fmt::format("tensors[{}]", recording_.tensors.size());
      if (!one.is_array() || one.size() != 5)
        refuse(place, "[type, shape, stride, storage, offset]", one);
      RecordedTensor tensor{.dtype = dtype_in(one[0], place),
                            .shape = extents_in(one[1], place),
                            .stride = extents_in(one[2], place),
                            .storage = number_in(one[3], recording_.storages.size(), place),
                            .elements = 0};
      Count elements = 1;
      for (const std::int64_t extent : tensor.shape) elements *= extent;
      tensor.elements = elements.value();
      checked_mul(tensor.elements, 16);  // so that bytes of a few of them fit
      if (tensor.stride.size() != tensor.shape.size()) tensor.stride.clear();
      recording_.tensors.push_back(std::move(tensor));
    }
  }

  void read_layers() {
    for (const Json& one : list_of(json_, "layers", "recording", most_operations)) {
      const std::string place = fmt::format("layers[{}]", recording_.layers.size());
      if (!one.is_object()) refuse(place, "an object", one);
      recording_.layers.push_back({text_in(member(one, "name", place), place + ".name"),
                                   text_in(member(one, "type", place), place + ".type")});
    }
  }

  void read_operations() {
    const Json& list = list_of(json_, "operations", "recording", most_operations);
    recording_.operations.reserve(list.size());
    for (const Json& one : list)
      read_operation(one, fmt::format("operations[{}]", recording_.operations.size()));
    if (recording_.operations.empty()) fail(ErrorKind::input, "operations: there are none");
  }

  void read_operation(const Json& json, const std::string& place) {
    if (!json.is_object()) refuse(place, "an object", json);
    RecordedOperation operation;
    operation.name = text_in(member(json, "op", place), place + ".op");
    operation.pass = pass_in(json, place);
    operation.layer =
        number_in(member(json, "layer", place), recording_.layers.size(), place + ".layer");
    for (const Json& one : list_of(json, "inputs", place, most_list))
      operation.inputs.push_back(tensors_in(one, place + ".inputs"));
    operation.outputs = tensors_in(list_of(json, "outputs", place, most_list), place + ".outputs");
    if (json.contains("mutates"))
      operation.mutates =
          tensors_in(list_of(json, "mutates", place, most_list), place + ".mutates");
    if (json.contains("frees")) {
      for (const Json& one : list_of(json, "frees", place, most_list))
        operation.frees.push_back(number_in(one, recording_.storages.size(), place + ".frees"));
    }
    if (json.contains("recomputed")) operation.is_recomputed = json["recomputed"] == true;
    if (json.contains("arguments")) read_arguments(json["arguments"], operation, place);
    recording_.operations.push_back(std::move(operation));
  }

  static RecordedPass pass_in(const Json& json, const std::string& place) {
    const std::string pass = text_in(member(json, "pass", place), place + ".pass");
    if (pass == "forward") return RecordedPass::forward;
    if (pass == "backward") return RecordedPass::backward;
    if (pass == "update") return RecordedPass::update;
    fail(ErrorKind::input, "{}.pass: expected forward, backward or update, got '{}'", place, pass);
  }

  /// One tensor, a list of them (with gaps), or none.
  RecordedOperation::Tensors tensors_in(const Json& json, const std::string& place) const {
    RecordedOperation::Tensors tensors;
    if (json.is_null()) return tensors;
    if (!json.is_array()) {
      tensors.push_back(number_in(json, recording_.tensors.size(), place));
      return tensors;
    }
    if (json.size() > most_list) refuse(place, "a shorter list", json);
    for (const Json& one : json) {
      if (!one.is_null()) tensors.push_back(number_in(one, recording_.tensors.size(), place));
    }
    return tensors;
  }

  static void read_arguments(const Json& json, RecordedOperation& operation,
                             const std::string& place) {
    constexpr std::size_t most_numbers = 4096;
    if (!json.is_object()) refuse(place + ".arguments", "an object", json);
    for (const auto& [name, value] : json.items()) {
      const Json list = value.is_array() ? value : Json::array({value});
      if (list.size() > most_numbers) continue;  // of no operation that is known
      std::vector<double> numbers;
      for (const Json& one : list) {
        if (one.is_number()) numbers.push_back(one.get<double>());
        if (one.is_boolean()) numbers.push_back(one.get<bool>() ? 1 : 0);
        if (one.is_string()) operation.texts.emplace_back(name, text_in(one, place));
      }
      if (!numbers.empty()) operation.numbers.emplace_back(name, std::move(numbers));
    }
  }

  const Json& json_;
  RecordedOperations recording_;
};

Json parsed(std::string_view text) {
  bool is_too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t /*event*/, Json& /*part*/) {
    if (depth > deepest && !is_too_deep) {
      is_too_deep = true;
      fail(ErrorKind::input, "not a recording: lists within lists, more than {} deep", deepest);
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    fail(ErrorKind::input, "not JSON: {}", error.what());
  }
}

}  // namespace

RecordedNetwork read_recording(std::string_view json_text) {
  const Json json = parsed(json_text);
  RecordedNetwork network = Reader(json).network();
  network.recording.digest = digest_of(json_text);
  return network;
}

Graph read_recording_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ErrorKind::input, "{}: cannot be read", path.string());
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (file && text.size() <= most_bytes) {
    file.read(chunk.data(), chunk.size());
    text.append(chunk.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (text.size() > most_bytes)
    fail(ErrorKind::input, "{}: a recording of more than {} MiB", path.string(), most_bytes >> 20);
  try {
    return recorded_graph(read_recording(text));
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
}

}  // namespace strata
