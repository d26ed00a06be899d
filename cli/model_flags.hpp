// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/strata.hpp"

#include <array>
#include <cstddef>
#include <string_view>

/// What every command that takes a model asks for in the same words.
namespace strata {

inline constexpr Argument model_argument{
    .name = "MODEL",
    .help = "A built-in network (strata list networks) or a file.",
    .offer = Offer::model};

inline constexpr std::array<std::string_view, 7> dtype_names = {"fp64", "fp32", "tf32", "bf16",
                                                                "fp16", "fp8",  "int8"};

inline constexpr Flag batch_flag{.name = "batch",
                                 .letter = 'b',
                                 .value = "N",
                                 .help = "Samples per step; 32 unless the network has its own."};
inline constexpr Flag seq_flag{.name = "seq",
                               .letter = 's',
                               .value = "N",
                               .help = "Length of sequences, for networks that have one."};
inline constexpr Flag dim_flag{.name = "dim",
                               .value = "NAME=N",
                               .help = "Any other size the network leaves open.",
                               .repeats = true};
inline constexpr Flag dtype_flag{.name = "dtype",
                                 .letter = 't',
                                 .value = "T",
                                 .help = "fp64, fp32, tf32, bf16, fp16, fp8 or int8.",
                                 .choices = dtype_names,
                                 .offer = Offer::choices};
inline constexpr Flag inference_flag{.name = "inference",
                                     .help = "Only the forward pass, as in use after training."};

inline constexpr Flag input_flag{.name = "input",
                                 .value = "NAME=SHAPE",
                                 .help = "Shape of an input of a file: data=1x3x224x224.",
                                 .repeats = true};
inline constexpr Flag no_fuse_flag{.name = "no-fuse",
                                   .help = "Keep operators apart: no attention, no layer norm."};
inline constexpr Flag assume_bn_flag{.name = "assume-bn",
                                     .help = "Put back batch normalisation that an export folded."};
inline constexpr Flag strict_flag{.name = "strict",
                                  .help = "An operator that cannot be counted is an error."};

/// How the file of a model is read: for every command that takes one.
inline constexpr std::array<Flag, 4> import_flags = {input_flag, no_fuse_flag, assume_bn_flag,
                                                     strict_flag};
/// What its open sizes and its data type are: for every command that needs numbers.
inline constexpr std::array<Flag, 5> size_flags = {batch_flag, seq_flag, dim_flag, dtype_flag,
                                                   inference_flag};

/// Tables of flags, one after the other.
template <std::size_t... sizes>
constexpr std::array<Flag, (sizes + ...)> joined_flags(const std::array<Flag, sizes>&... tables) {
  std::array<Flag, (sizes + ...)> all{};
  std::size_t at = 0;
  const auto append = [&](const auto& table) {
    for (const Flag& flag : table) all[at++] = flag;
  };
  (append(tables), ...);
  return all;
}

/// What the import flags ask for.
ImportOptions import_options(const Arguments& arguments);

/// The sizes and the data type that the size flags ask for.
ModelSizes model_sizes(const Arguments& arguments);

/// Training unless --inference was given.
Mode model_mode(const Arguments& arguments);

}  // namespace strata
