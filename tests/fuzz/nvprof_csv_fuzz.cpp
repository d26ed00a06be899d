// SPDX-License-Identifier: Apache-2.0
// Any bytes as a table of nvprof.
#include "strata/base/error.hpp"
#include "strata/capture/nvprof_csv.hpp"
#include "tests/fuzz/any_recording.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  strata::fuzz::try_recording([&] { return strata::read_nvprof_csv(*strata::text_source(bytes)); });
  return 0;
}
