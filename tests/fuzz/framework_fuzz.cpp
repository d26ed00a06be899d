// SPDX-License-Identifier: Apache-2.0
// Any file as the rules of a framework; a small network is run by them.
#include "strata/framework/framework.hpp"
#include "strata/framework/operations.hpp"
#include "strata/training/program.hpp"
#include "tests/fuzz/any_recording.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const strata::Graph network = strata::fuzz::small_network();
  static const strata::BoundGraph bound = strata::bind_graph(network, {});
  static const strata::Program program = strata::make_program(bound, {});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const strata::Framework framework = strata::read_framework(text);
    strata::operations_of(program, framework, {}, strata::Optimizer::momentum);
  } catch (const strata::Error& error) {
    const bool is_refused =
        error.kind() == strata::ErrorKind::input || error.kind() == strata::ErrorKind::unsupported;
    if (!is_refused) throw;
  }
  return 0;
}
