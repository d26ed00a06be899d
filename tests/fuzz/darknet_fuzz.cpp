// SPDX-License-Identifier: Apache-2.0
// Any bytes as a darknet configuration. Built by clang with STRATA_FUZZ=ON; run as
//   darknet_fuzz -dict=tests/fuzz/darknet.dict FOUND tests/fuzz/corpus/darknet
#include "strata/importers/darknet/darknet.hpp"
#include "tests/fuzz/any_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = strata::fuzz::text_of(data, size);
  strata::fuzz::try_file([&] { return strata::read_darknet_text(text, "fuzz.cfg"); });
  return 0;
}
