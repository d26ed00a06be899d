// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Caffe network. Built by clang with STRATA_FUZZ=ON; run as
//   caffe_fuzz -dict=tests/fuzz/caffe.dict FOUND tests/fuzz/corpus/caffe
#include "strata/importers/caffe/caffe.hpp"
#include "tests/fuzz/any_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = strata::fuzz::text_of(data, size);
  strata::fuzz::try_file([&] { return strata::read_caffe_text(text, "fuzz.prototxt"); });
  return 0;
}
