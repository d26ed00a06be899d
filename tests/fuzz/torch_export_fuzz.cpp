// SPDX-License-Identifier: Apache-2.0
// Any bytes as the program of a .pt2 file of torch.export. Built by clang with STRATA_FUZZ=ON; run
// as
//   torch_export_fuzz -dict=tests/fuzz/torch_export.dict FOUND tests/fuzz/corpus/torch_export
#include "strata/importers/torch_export/torch_export.hpp"
#include "tests/fuzz/any_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = strata::fuzz::text_of(data, size);
  strata::fuzz::try_file([&] { return strata::read_torch_export_text(text, "model.pt2"); });
  return 0;
}
