// SPDX-License-Identifier: Apache-2.0
// Any bytes as a database of strata capture, of Nsight Systems or of nvprof.
#include "strata/base/error.hpp"
#include "strata/capture/recording_sqlite.hpp"
#include "tests/fuzz/any_recording.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  strata::fuzz::try_recording([&] {
    std::vector<strata::Recording> all = strata::read_recording_database(bytes);
    return all.empty() ? strata::Recording{} : std::move(all.front());
  });
  return 0;
}
