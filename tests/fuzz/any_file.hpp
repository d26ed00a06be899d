// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"
#include "strata/importers/network/network.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// What every fuzz target of a foreign format asks: any bytes are a Graph that can be bound, costed
/// and written, or an Error that says what is wrong with the file. The file may be refused; Strata
/// may never be blamed, and no other exception may come out.
namespace strata::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline bool is_the_files_fault(const Error& error) {
  return error.kind() == ErrorKind::input || error.kind() == ErrorKind::unsupported;
}

/// What can be written in Strata's own format reads again as the same tensors.
inline void write_and_read_again(const Graph& graph) {
  std::string written;
  try {
    written = write_network(graph);
  } catch (const Error& error) {
    if (!is_the_files_fault(error)) throw;
    return;
  }
  const Graph again = read_network(written, "fuzz.json");
  if (again.tensors.size() != graph.tensors.size()) __builtin_trap();
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (again.tensors[i].name != graph.tensors[i].name) __builtin_trap();
  }
}

/// `read` returns the Graph.
template <class Read>
void try_file(const Read& read) {
  Graph graph;
  try {
    graph = read();
    costs_of(bind_graph(graph, {}));
  } catch (const Error& error) {
    if (!is_the_files_fault(error)) throw;
    return;
  }
  write_and_read_again(graph);
}

}  // namespace strata::fuzz
