// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ONNX model. Built by clang with STRATA_FUZZ=ON; run as
//   onnx_fuzz -dict=tests/fuzz/onnx.dict FOUND tests/fuzz/corpus/onnx
#include "strata/importers/onnx/onnx.hpp"
#include "tests/fuzz/any_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = strata::fuzz::text_of(data, size);
  strata::fuzz::try_file([&] { return strata::read_onnx_text(bytes, "fuzz.onnx"); });
  // The parts that a pattern would hide, and the layers that an export has lost.
  strata::fuzz::try_file([&] {
    return strata::read_onnx_text(bytes, "fuzz.onnx", {.fuse = false, .assume_batch_norm = true});
  });
  return 0;
}
