// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/keras.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/keras/container.hpp"
#include "strata/importers/keras/document.hpp"
#include "strata/importers/keras/model.hpp"
#include "strata/importers/keras/network.hpp"
#include "strata/importers/text_file.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>

namespace strata {
namespace {

constexpr std::string_view hdf5_magic = "\x89HDF\r\n\x1A\n";
constexpr std::string_view zip_magic = "PK\x03\x04";

std::string first_bytes(const std::filesystem::path& path) {
  std::array<char, 8> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<std::size_t>(file.gcount())};
}

// The text of the architecture, whatever it is packed in.
std::string architecture_text(const std::filesystem::path& path) {
  const std::string head = first_bytes(path);
  try {
    if (head.starts_with(hdf5_magic)) return keras::hdf5_model_config(path);
    if (head.starts_with(zip_magic)) return keras::zip_member(path, "config.json");
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
  return read_text_file(path, keras::most_bytes);
}

}  // namespace

Graph read_keras(const std::filesystem::path& path, const ImportOptions& options) {
  return read_keras_text(architecture_text(path), path.string(), options);
}

Graph read_keras_text(std::string_view text, std::string_view file_name,
                      const ImportOptions& options) {
  const std::filesystem::path path(file_name);
  try {
    const keras::Json architecture = keras::architecture_of(keras::parse_json(text));
    keras::Model model = keras::read_model(architecture);
    Graph graph = keras::build_graph(model, path.stem().string(), options);
    graph.source = fmt::format("Keras file {}", path.filename().string());
    return graph;
  } catch (Error& error) {
    error.add_context(file_name);
    throw;
  }
}

}  // namespace strata
