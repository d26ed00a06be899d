// SPDX-License-Identifier: Apache-2.0
// What libFuzzer feeds to the reader of capture logs; what it takes is added up and cut into steps.
#include "strata/base/error.hpp"
#include "strata/capture/capture_run.hpp"
#include "strata/capture/log_reader.hpp"
#include "strata/capture/trace_tables.hpp"

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream stream(std::string(reinterpret_cast<const char*>(data), size));
  try {
    strata::CaptureLog log = strata::read_capture_log(stream);
    strata::make_trace_tables(log.recording);
    strata::keep_steps(log.recording, size % 3, 2);
  } catch (const strata::Error& error) {
    if (error.kind() != strata::ErrorKind::input) throw;
  }
  return 0;
}
