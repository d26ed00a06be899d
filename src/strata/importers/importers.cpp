// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/importers.hpp"

#include "strata/base/byte_source.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/caffe/caffe.hpp"
#include "strata/importers/darknet/darknet.hpp"
#include "strata/importers/huggingface/huggingface.hpp"
#include "strata/importers/keras/keras.hpp"
#include "strata/importers/network/network.hpp"
#include "strata/importers/onnx/onnx.hpp"
#include "strata/importers/other_files.hpp"
#include "strata/importers/torch_export/torch_export.hpp"
#include "strata/operations/read_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace strata {
namespace {

constexpr std::size_t head_bytes = 65'536;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_text(std::string_view bytes) { return !contains(bytes, std::string_view("\0", 1)); }

bool is_recording(const FileHead& head) {
  return is_text(head.bytes) && contains(head.bytes, "\"strata_operations\"");
}

// What a framework ran is what it is: there is nothing to fuse or to fill in.
Graph read_recorded_step(const std::filesystem::path& path, const ImportOptions& options) {
  if (!options.input_shapes.empty())
    fail(ErrorKind::usage,
         "{}: a recording has the sizes of its step; --input is for other formats", path.string());
  Graph graph = read_recording_file(path);
  if (!options.strict) return graph;
  for (const Warning& warning : graph.warnings) {
    if (warning.code == WarningCode::operator_not_counted)
      fail(ErrorKind::unsupported, "{}: {}", path.string(), warning.message);
  }
  return graph;
}

bool is_network(const FileHead& head) {
  return is_text(head.bytes) && contains(head.bytes, "strata_network");
}

// A protobuf whose first field is ModelProto.ir_version (onnx.proto: field 1, a varint, so far
// below 32), followed by the tag of another of its fields: producer_name, producer_version, domain,
// model_version, doc_string, graph or opset_import.
bool is_onnx(const FileHead& head) {
  constexpr std::string_view tags = "\x12\x1A\x22\x28\x32\x3A\x42";
  const std::string_view bytes = head.bytes;
  return bytes.size() > 3 && bytes[0] == '\x08' && bytes[1] > 0 && bytes[1] < 32 &&
         contains(tags, bytes.substr(2, 1));
}

bool is_hdf5(const FileHead& head) { return head.bytes.starts_with("\x89HDF\r\n\x1A\n"); }

bool is_zip(const FileHead& head) { return head.bytes.starts_with("PK\x03\x04"); }

// A model's own JSON has class and configuration at its top; TensorFlow.js wraps them.
bool is_keras_json(const FileHead& head) {
  if (!is_text(head.bytes) || !trimmed(head.bytes).starts_with('{')) return false;
  return (contains(head.bytes, "\"class_name\"") && contains(head.bytes, "\"config\"")) ||
         contains(head.bytes, "\"modelTopology\"") || contains(head.bytes, "\"weightsManifest\"");
}

// What transformers' save_pretrained writes beside the weights.
bool is_huggingface(const FileHead& head) {
  return is_text(head.bytes) && trimmed(head.bytes).starts_with('{') &&
         contains(head.bytes, "\"model_type\"") && !contains(head.bytes, "\"class_name\"");
}

// A zip archive of PyTorch; its program may stand behind weights of any length.
bool is_torch_export(const FileHead& head) {
  return is_zip(head) && (head.extension == ".pt2" || contains(head.bytes, "/models/model.json") ||
                          contains(head.bytes, "serialized_exported_program.json"));
}

bool is_keras(const FileHead& head) { return is_hdf5(head) || is_zip(head) || is_keras_json(head); }

// The first line that is neither empty nor a comment opens the section of the network.
bool is_darknet(const FileHead& head) {
  if (!is_text(head.bytes)) return false;
  for (const std::string_view line : split(head.bytes, '\n')) {
    const std::string_view content = trimmed(line);
    if (content.empty() || content.starts_with('#') || content.starts_with(';')) continue;
    return content.starts_with("[net]") || content.starts_with("[network]");
  }
  return false;
}

bool is_caffe(const FileHead& head) {
  if (!is_text(head.bytes)) return false;
  const std::vector<std::string_view> lines = split(head.bytes, '\n');
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    line = trimmed(line);
    for (const std::string_view word : {"layers", "layer"}) {
      if (line.starts_with(word)) return trimmed(line.substr(word.size())).starts_with('{');
    }
    return false;
  });
}

// Written by hand or by Strata: nothing in it is left open, and nothing is recognised.
Graph read_own_network(const std::filesystem::path& path, const ImportOptions& options) {
  if (!options.input_shapes.empty()) {
    fail(ErrorKind::usage,
         "{}: Strata's own format states the shapes of its inputs; --input is for other formats "
         "(--dim chooses a size that is open)",
         path.string());
  }
  Graph graph = read_network_file(path);
  if (!options.strict) return graph;
  for (const Node& node : graph.nodes) {
    const auto* opaque = std::get_if<Opaque>(&node.op);
    if (opaque == nullptr) continue;
    fail(ErrorKind::unsupported, "{}: layer '{}': the operator '{}' cannot be counted",
         path.string(), node.name, opaque->type);
  }
  return graph;
}

constexpr std::array<std::string_view, 1> recording_extensions = {".json"};
constexpr std::array<std::string_view, 2> network_extensions = {".json", ".toml"};
constexpr std::array<std::string_view, 1> darknet_extensions = {".cfg"};
constexpr std::array<std::string_view, 1> caffe_extensions = {".prototxt"};

constexpr std::array<std::string_view, 2> onnx_extensions = {".onnx", ".onnx.gz"};
constexpr std::array<std::string_view, 1> torch_export_extensions = {".pt2"};
constexpr std::array<std::string_view, 1> huggingface_extensions = {".json"};
constexpr std::array<std::string_view, 4> keras_extensions = {".json", ".h5", ".hdf5", ".keras"};

constexpr std::array<Format, 8> all_formats = {{
    {"network", "Strata's own network format, written by hand or by Strata (JSON or TOML)",
     network_extensions, is_network, read_own_network},
    {"operations", "a step as PyTorch ran it (strata record, strata.torch.record)",
     recording_extensions, is_recording, read_recorded_step},
    {"darknet", "darknet configuration, pjreddie's and AlexeyAB's", darknet_extensions, is_darknet,
     read_darknet},
    {"caffe", "Caffe network as text, for training or deployment, V1 and current syntax",
     caffe_extensions, is_caffe, read_caffe},
    {"onnx", "ONNX model, opsets 7 to 23; weights are passed over", onnx_extensions, is_onnx,
     read_onnx, true},
    {"huggingface",
     "Hugging Face config.json of transformers: BERT, GPT-2, Llama, T5, ViT and relatives",
     huggingface_extensions, is_huggingface, read_huggingface},
    {"torch_export", "torch.export.save of PyTorch 2.1 and later (.pt2); weights are passed over",
     torch_export_extensions, is_torch_export, read_torch_export},
    {"keras", "Keras model: architecture as JSON, TensorFlow.js model.json, .h5, .keras",
     keras_extensions, is_keras, read_keras},
}};

/// A model of transformers is a folder, as save_pretrained writes it: its config.json says what the
/// network is. Anything else stays as it is.
std::filesystem::path model_in(const std::filesystem::path& path) {
  constexpr std::string_view name = "config.json";
  std::error_code ignored;  // what cannot be looked at is refused below
  const std::filesystem::path config = (path / name).lexically_normal();
  if (std::filesystem::is_directory(path, ignored) &&
      std::filesystem::is_regular_file(config, ignored))
    return config;
  return path;
}

std::string head_of(const std::filesystem::path& path) {
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status)) {
    fail(ErrorKind::input, "{}: {}", path.string(),
         status.type() == std::filesystem::file_type::not_found ? "no such file"
                                                                : problem.message());
  }
  if (std::filesystem::is_directory(status)) {
    fail(ErrorKind::input,
         "{}: expected a file, got a folder; of a folder its config.json would be read, and it has "
         "none",
         path.string());
  }
  if (!std::filesystem::is_regular_file(status)) {
    fail(ErrorKind::input, "{}: expected a file, got a device or a pipe", path.string());
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ErrorKind::input, "{}: cannot be opened for reading", path.string());
  std::string head(head_bytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  if (head.empty()) fail(ErrorKind::input, "{}: the file is empty", path.string());
  return head;
}

bool is_gzip(std::string_view head) { return head.starts_with("\x1f\x8b"); }

/// What a .gz holds. A small file that unpacks to gigabytes is not a model: zeros pack a thousand
/// times, graphs ten, weights hardly.
std::string unpacked(const std::filesystem::path& path) {
  constexpr std::size_t most_unpacked = std::size_t{1} << 30;
  constexpr std::size_t most_times = 64;
  constexpr std::size_t always = std::size_t{16} << 20;
  const std::size_t packed = std::filesystem::file_size(path);
  const std::size_t most = std::min(most_unpacked, std::max(always, packed * most_times));
  const std::unique_ptr<ByteSource> source = unzipped(file_source(path));
  std::string bytes;
  std::vector<char> piece(std::size_t{1} << 18);
  while (const std::size_t count = source->read(piece)) {
    if (bytes.size() + count > most)
      fail(ErrorKind::input, "{} bytes unpack to more than {}; unpack it with gunzip", packed,
           most);
    bytes.append(piece.data(), count);
  }
  return bytes;
}

/// Of packed files only ONNX is read: the others are small texts, or are packed in themselves.
Graph read_packed(const std::filesystem::path& path, const ImportOptions& options) {
  std::string bytes;
  try {
    bytes = unpacked(path);
    if (!is_onnx({bytes, ""}))
      fail(ErrorKind::input, "what is packed in it is no ONNX model; unpack it with gunzip");
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
  Graph graph = read_onnx_text(bytes, path.string(), options);
  graph.name = printable(path.stem().stem().string());  // "model" of model.onnx.gz
  return graph;
}

const Format* format_of(const FileHead& head) {
  for (const Format& format : all_formats) {
    if (format.looks_like(head)) return &format;
  }
  refuse_other_file(head.bytes);
  // A reader that knows what the file should be says better than anybody else what is wrong with
  // it.
  for (const Format& format : all_formats) {
    const auto& extensions = format.extensions;
    if (std::find(extensions.begin(), extensions.end(), head.extension) == extensions.end())
      continue;
    if (is_text(head.bytes) || format.read == read_onnx) return &format;
  }
  return nullptr;
}

}  // namespace

std::span<const Format> formats() { return all_formats; }

bool is_model_file(const std::filesystem::path& file_or_folder) {
  const std::filesystem::path path = model_in(file_or_folder);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string head(head_bytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  if (is_gzip(head)) return lower_case(path.string()).ends_with(".onnx.gz");
  const std::string extension = lower_case(path.extension().string());
  return std::any_of(all_formats.begin(), all_formats.end(), [&](const Format& format) {
    return format.looks_like({head, extension});
  });
}

Graph import_model(const std::filesystem::path& file_or_folder, const ImportOptions& options) {
  const std::filesystem::path path = model_in(file_or_folder);
  const std::string bytes = head_of(path);
  if (is_gzip(bytes)) return read_packed(path, options);
  const std::string extension = lower_case(path.extension().string());
  const Format* format = nullptr;
  try {
    format = format_of({bytes, extension});
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
  if (format == nullptr) {
    fail(ErrorKind::input, "{}: not a network in a format that Strata reads (strata list formats)",
         path.string());
  }
  if (options.assume_batch_norm && !format->may_lack_batch_norm) {
    fail(ErrorKind::usage,
         "{}: --assume-bn is for ONNX files; a file in the format '{}' says itself where it "
         "normalises",
         path.string(), format->name);
  }
  return format->read(path, options);
}

}  // namespace strata
