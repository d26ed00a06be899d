// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/strata.hpp"

#include <array>
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
                                 .help = "Samples per step; 32 unless the network says otherwise."};
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

/// The sizes and the data type that the flags above ask for.
ModelSizes model_sizes(const Arguments& arguments);

/// Training unless --inference was given.
Mode model_mode(const Arguments& arguments);

}  // namespace strata
