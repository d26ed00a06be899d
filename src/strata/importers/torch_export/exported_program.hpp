// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/keras/document.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// What the JSON of an exported program says (torch/_export/serde/schema.py), checked.
namespace strata::torch_export {

using keras::Json;

/// One size of a tensor: a number, else an expression of symbols ("s0", "4*s0").
struct Size {
  std::int64_t number = -1;  ///< -1: an expression
  std::string expression = {};

  bool is_number() const { return number >= 0; }
  bool operator==(const Size&) const = default;
};

struct TensorMeta {
  std::int64_t dtype = 0;  ///< as PyTorch numbers them: 7 is float
  std::vector<Size> sizes;
};

enum class InputKind : std::uint8_t { user, parameter, buffer, constant };

struct ProgramInput {
  std::string value;  ///< its name in the graph: "p_conv1_weight"
  std::string name;   ///< of the module: "conv1.weight"; of the user's: as `value`
  InputKind kind = InputKind::user;
};

struct ProgramNode {
  std::string target;                     ///< "aten.conv2d.default", without "torch.ops."
  std::map<std::string, Json> arguments;  ///< by name: {"as_int": 3}
  std::vector<std::string> outputs;       ///< tensors
  std::vector<std::string> modules;       ///< paths of the modules around it, outermost first
};

struct ExportedProgram {
  std::vector<ProgramInput> inputs;
  std::vector<ProgramNode> nodes;
  std::vector<std::string> outputs;  ///< tensors that the module returns
  std::unordered_map<std::string, TensorMeta> tensors;
};

/// Errors: input where the text is no such program, unsupported where it is of another version.
ExportedProgram read_program(std::string_view json_text);

}  // namespace strata::torch_export
