// SPDX-License-Identifier: Apache-2.0
// What libFuzzer feeds to Strata's own network format. Built by clang with STRATA_FUZZ=ON; run as
//   network_format_fuzz -dict=tests/fuzz/network_format.dict CORPUS examples/networks
//   tests/bad_networks
#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"
#include "strata/importers/network/network.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

strata::BoundGraph bind_all(const strata::Graph& graph) {
  strata::Binding binding;
  for (const strata::Parameter& parameter : graph.symbols.parameters()) {
    if (!parameter.default_value) binding.emplace(parameter.name, 4);
  }
  return bind_graph(graph, binding);
}

bool is_same(const strata::BoundGraph& a, const strata::BoundGraph& b) {
  if (a.tensors.size() != b.tensors.size() || a.graph->nodes.size() != b.graph->nodes.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    if (a.graph->tensors[i].name != b.graph->tensors[i].name) return false;
    if (a.tensors[i].shape != b.tensors[i].shape) return false;
    if (a.tensors[i].dtype != b.tensors[i].dtype) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const strata::Graph graph = strata::read_network(text, "fuzz");
    const strata::BoundGraph bound = bind_all(graph);
    strata::costs_of(bound);
    // What could be read and can be written reads again as the same network.
    const strata::Graph again = strata::read_network(strata::write_network(graph), "fuzz");
    if (!is_same(bound, bind_all(again))) __builtin_trap();
  } catch (const strata::Error& error) {
    // A file may be refused; it may never be blamed on Strata, and no other exception may come out.
    const strata::ErrorKind kind = error.kind();
    if (kind == strata::ErrorKind::internal || kind == strata::ErrorKind::environment) throw;
  }
  return 0;
}
