// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds on what a file may ask for: far beyond real networks, and small enough that no file
/// takes more than 200 MB or two seconds.
namespace strata::onnx {

/// Protobuf itself ends at 2 GiB and its lengths at 4 GiB; larger networks keep weights outside.
inline constexpr std::uint64_t most_file_bytes = (std::uint64_t{1} << 32) - 1;

inline constexpr std::size_t most_nodes = 100'000;  ///< after functions are inlined
inline constexpr std::size_t most_initializers = 200'000;
inline constexpr std::size_t most_pieces = 1'000'000;       ///< names, attributes, tensors in all
inline constexpr std::size_t most_values = 400'000;         ///< names between nodes
inline constexpr std::size_t most_draft_tensors = 400'000;  ///< a node may have many outputs
inline constexpr std::size_t most_functions = 10'000;
inline constexpr std::size_t most_opsets = 100;          ///< looked through for every node
inline constexpr std::size_t most_attributes = 64;       ///< of one node; looked through likewise
inline constexpr std::size_t most_operands = 65'536;     ///< of one node
inline constexpr std::size_t most_nodes_twice = 60'000;  ///< a list that may be written anew
inline constexpr int deepest_call = 32;
inline constexpr std::size_t most_dimensions = 100;  ///< each mention is looked up in all of them

/// A tensor of at most so many numbers is looked into; tables that shapes are computed from are
/// much smaller, and weights much larger.
inline constexpr std::int64_t most_known_numbers = 4096;
/// Numbers known at one time, and numbers computed, over the whole file.
inline constexpr std::size_t most_numbers_kept = 2'000'000;
inline constexpr std::size_t most_numbers_computed = 20'000'000;

/// Entries of one attribute that is a list; fields and entries of attributes read over the whole
/// file, because a function is read again wherever it is called.
inline constexpr std::size_t most_list_entries = 100'000;
inline constexpr std::size_t most_entries_read = 20'000'000;

/// Names: of one node or tensor, and of all of them; what goes beyond is cut.
inline constexpr std::size_t longest_name = 500;
inline constexpr std::size_t most_name_bytes = 20'000'000;
inline constexpr std::size_t longest_name_beyond = 24;

}  // namespace strata::onnx
