// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace of the PyTorch profiler, compressed or not.
#include "strata/base/error.hpp"
#include "strata/capture/chrome/chrome_json.hpp"
#include "tests/fuzz/any_recording.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  strata::fuzz::try_recording(
      [&] { return strata::read_chrome_json(*strata::plain_source(strata::text_source(bytes))); });
  return 0;
}
