// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Caffe network: a Graph that can be bound, costed and written, or an Error that
// says what is wrong with the file. Built by clang with STRATA_FUZZ=ON; run as
//   caffe_fuzz -dict=tests/fuzz/caffe.dict FOUND tests/fuzz/corpus/caffe
#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"
#include "strata/importers/caffe/caffe.hpp"
#include "strata/importers/network/network.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using strata::Error;
using strata::ErrorKind;

bool is_the_files_fault(const Error& error) {
  return error.kind() == ErrorKind::input || error.kind() == ErrorKind::unsupported;
}

// What can be written in Strata's own format reads again as the same tensors.
void write_and_read_again(const strata::Graph& graph) {
  std::string written;
  try {
    written = strata::write_network(graph);
  } catch (const Error& error) {
    if (!is_the_files_fault(error)) throw;
    return;
  }
  const strata::Graph again = strata::read_network(written, "fuzz.json");
  if (again.tensors.size() != graph.tensors.size()) __builtin_trap();
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (again.tensors[i].name != graph.tensors[i].name) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  strata::Graph graph;
  try {
    graph = strata::read_caffe_text(text, "fuzz.prototxt");
    strata::costs_of(bind_graph(graph, {}));
  } catch (const Error& error) {
    // A file may be refused; it may never be blamed on Strata, and no other exception may come out.
    if (!is_the_files_fault(error)) throw;
    return 0;
  }
  write_and_read_again(graph);
  return 0;
}
