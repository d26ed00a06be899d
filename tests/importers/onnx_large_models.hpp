// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/temporary_folder_test.hpp"

#include <protozero/pbf_writer.hpp>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

/// ONNX files that are large in one way each, for the test and the benchmark of what reading takes:
/// many nodes, or many weights.
namespace strata::large_models {

using protozero::pbf_writer;

inline void add_value(pbf_writer& graph, protozero::pbf_tag_type tag, const std::string& name,
                      std::initializer_list<std::int64_t> extents) {
  pbf_writer value(graph, tag);
  value.add_string(1, name);
  pbf_writer type(value, 2);
  pbf_writer tensor(type, 1);
  tensor.add_int32(1, 1);
  pbf_writer shape(tensor, 2);
  for (const std::int64_t extent : extents) {
    pbf_writer dim(shape, 1);
    dim.add_int64(1, extent);
  }
}

inline void add_node(pbf_writer& graph, const std::string& op,
                     std::initializer_list<std::string> inputs, const std::string& output) {
  pbf_writer node(graph, 1);
  for (const std::string& input : inputs) node.add_string(1, input);
  node.add_string(2, output);
  node.add_string(4, op);
}

inline std::string model_around(const std::string& graph) {
  std::string text;
  pbf_writer model(text);
  model.add_int64(1, 8);
  {
    pbf_writer opset(model, 8);
    opset.add_int64(2, 17);
  }
  model.add_message(7, graph);
  return text;
}

/// MatMul, Relu, MatMul, Relu …: a stored matrix for every other node.
inline std::string chain_of(std::int64_t nodes) {
  std::string text;
  pbf_writer graph(text);
  add_value(graph, 11, "x0", {32, 64});
  for (std::int64_t i = 0; i < nodes; ++i) {
    const std::string in = "x" + std::to_string(i);
    const std::string out = "x" + std::to_string(i + 1);
    if (i % 2 == 1) {
      add_node(graph, "Relu", {in}, out);
      continue;
    }
    const std::string weight = "w" + std::to_string(i);
    {
      pbf_writer tensor(graph, 5);
      tensor.add_int64(1, 64);
      tensor.add_int64(1, 64);
      tensor.add_int32(2, 1);
      tensor.add_string(8, weight);
      tensor.add_int32(14, 1);
    }
    add_node(graph, "MatMul", {in, weight}, out);
  }
  add_value(graph, 12, "x" + std::to_string(nodes), {32, 64});
  return model_around(text);
}

/// A file of 2 GB on disk that takes no room there: the weights are a hole in it.
class SparseModel {
 public:
  static constexpr std::int64_t layers = 128;
  static constexpr std::int64_t side = 2048;  // 128 matrices of 16 MB

  SparseModel() : path_(folder_.path() / "large.onnx") {
    std::ofstream file(path_, std::ios::binary);
    std::string graph_end;
    pbf_writer end(graph_end);
    add_value(end, 11, "x0", {1, side});
    for (std::int64_t i = 0; i < layers; ++i) {
      add_node(end, "MatMul", {"x" + std::to_string(i), "w" + std::to_string(i)},
               "x" + std::to_string(i + 1));
    }
    add_value(end, 12, "x" + std::to_string(layers), {1, side});

    const std::int64_t raw_bytes = side * side * 4;
    std::int64_t graph_bytes = static_cast<std::int64_t>(graph_end.size());
    for (std::int64_t i = 0; i < layers; ++i) {
      graph_bytes += static_cast<std::int64_t>(weight_before_numbers(i).size()) + raw_bytes;
    }
    std::string start;
    pbf_writer model(start);
    model.add_int64(1, 8);
    add_length(start, 7, graph_bytes);
    file << start;
    for (std::int64_t i = 0; i < layers; ++i) {
      file << weight_before_numbers(i);
      file.seekp(raw_bytes, std::ios::cur);
    }
    file << graph_end;
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  // Tag and length of a field whose content follows.
  static void add_length(std::string& text, std::uint32_t tag, std::int64_t length) {
    const auto add_varint = [&text](std::uint64_t value) {
      for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
      text += static_cast<char>(value);
    };
    add_varint(tag << 3 | 2);
    add_varint(static_cast<std::uint64_t>(length));
  }

  // An initializer up to the place where its numbers begin.
  static std::string weight_before_numbers(std::int64_t index) {
    constexpr std::int64_t raw_bytes = side * side * 4;
    std::string fields;
    pbf_writer tensor(fields);
    tensor.add_int64(1, side);
    tensor.add_int64(1, side);
    tensor.add_int32(2, 1);
    tensor.add_string(8, "w" + std::to_string(index));
    add_length(fields, 9, raw_bytes);
    std::string text;
    add_length(text, 5, static_cast<std::int64_t>(fields.size()) + raw_bytes);
    return text + fields;
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_;
};

/// The most memory that this process had resident since the last restart of the count, in bytes.
inline double peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) * 1024;
  }
  return 0;
}

/// False where the kernel does not let a process restart its count.
inline bool restart_peak_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return static_cast<bool>(file);
}

}  // namespace strata::large_models
