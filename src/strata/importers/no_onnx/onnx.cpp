// SPDX-License-Identifier: Apache-2.0
// Stands for importers/onnx/ in a build without protozero.
#include "strata/importers/onnx/onnx.hpp"

#include "strata/base/error.hpp"

namespace strata {

Graph read_onnx(const std::filesystem::path& path, const ImportOptions&) {
  fail(ErrorKind::environment,
       "{}: this strata was built without protozero and does not read ONNX files; convert the file "
       "where one does: strata convert {} -o network.json",
       path.string(), path.filename().string());
}

Graph read_onnx_text(std::string_view, std::string_view file_name, const ImportOptions& options) {
  return read_onnx(std::filesystem::path(file_name), options);
}

}  // namespace strata
