// SPDX-License-Identifier: Apache-2.0
// Any bytes as a config.json of Hugging Face. Built by clang with STRATA_FUZZ=ON; run as
//   huggingface_fuzz -dict=tests/fuzz/huggingface.dict FOUND tests/fuzz/corpus/huggingface
#include "strata/importers/huggingface/huggingface.hpp"
#include "tests/fuzz/any_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = strata::fuzz::text_of(data, size);
  strata::fuzz::try_file([&] { return strata::read_huggingface_text(text, "config.json"); });
  return 0;
}
