// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/kernel_origins.hpp"

#include <optional>
#include <string>
#include <string_view>

/// What XLA, which JAX runs on, says of its work: names of NVTX ranges and of profiler events.
///
///     XlaModule:#hlo_module=jit_step,program_id=19894#
///     Thunk:#name=jit(step)/transpose(jvp(Dense_0))/dot_general,hlo_op=gemm_fusion_dot.2#
namespace strata {

enum class XlaKind : std::uint8_t {
  module,          ///< an execution of a compiled function
  instruction,     ///< an instruction of it; may be a fusion of several
  command_buffer,  ///< a CUDA graph of many, whose kernels have names of their own
};

struct XlaRange {
  XlaKind kind = XlaKind::instruction;
  std::string
      path;  ///< of operators in the program: "jit(step)/jvp(Dense_0)/dot_general"; may be empty
  std::string hlo_op;  ///< "cudnn-conv.5"
  std::string module;  ///< "jit_step"
};

/// Nothing where it is no range of XLA's.
std::optional<XlaRange> xla_range(std::string_view name);

/// Functions of which JAX compiles gradients are marked: transpose(jvp(…)) computes backward,
/// jvp(…) forward.
WorkPass pass_of_xla_path(std::string_view path);

/// The scopes of a path without what JAX adds: "Dense_0" of
/// "jit(step)/transpose(jvp(Dense_0))/dot_general". Empty: the program names none.
std::string scopes_of_xla_path(std::string_view path);

/// The layer of an instruction: its scopes, else its own name.
std::string layer_of_xla(std::string_view path, std::string_view hlo_op);

}  // namespace strata
