// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Keras architecture in JSON. Built by clang with STRATA_FUZZ=ON; run as
//   keras_fuzz -dict=tests/fuzz/keras.dict FOUND tests/fuzz/corpus/keras
#include "strata/importers/keras/keras.hpp"
#include "tests/fuzz/any_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = strata::fuzz::text_of(data, size);
  strata::fuzz::try_file([&] { return strata::read_keras_text(text, "fuzz_model.json"); });
  return 0;
}
