// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/torch_export/exported_program.hpp"

#include <string>

namespace strata::torch_export {

/// The program as an ONNX model: every operator of ATen as one of ONNX or a few, names of modules
/// as PyTorch's exporter writes them, weights without their numbers. Operators that are not known
/// keep their names: the ONNX importer says what it says of its own unknown ones. Errors name the
/// node.
std::string translate(const ExportedProgram& program);

}  // namespace strata::torch_export
