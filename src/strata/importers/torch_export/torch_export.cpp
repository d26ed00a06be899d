// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/torch_export/torch_export.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/importers/keras/container.hpp"
#include "strata/importers/onnx/onnx.hpp"
#include "strata/importers/torch_export/translate.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace strata {
namespace {

/// Where the program stands in the archive: since PyTorch 2.8 in a folder named as the file was,
/// before that at the top.
constexpr std::array<std::string_view, 2> program_members = {"models/model.json",
                                                             "serialized_exported_program.json"};

}  // namespace

Graph read_torch_export_text(std::string_view json_text, std::string_view file_name,
                             const ImportOptions& options) {
  std::string model;
  try {
    model = torch_export::translate(torch_export::read_program(json_text));
  } catch (Error& error) {
    error.add_context(file_name);
    throw;
  }
  Graph graph = read_onnx_text(model, file_name, options);
  // Unlike an ONNX file this one says what is dropped, and nothing is folded in it.
  std::erase_if(graph.warnings, [](const Warning& warning) {
    return warning.code == WarningCode::dropout_missing ||
           warning.code == WarningCode::batch_norm_folded;
  });
  graph.source = fmt::format("torch.export file {}",
                             printable(std::filesystem::path(file_name).filename().string()));
  return graph;
}

Graph read_torch_export(const std::filesystem::path& path, const ImportOptions& options) {
  std::string text;
  try {
    text = keras::zip_member_ending(path, program_members);
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
  return read_torch_export_text(text, path.string(), options);
}

}  // namespace strata
