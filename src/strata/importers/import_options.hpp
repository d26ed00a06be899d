// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace strata {

/// How a file is to be read; every format takes what applies to it.
struct ImportOptions {
  bool fuse = true;     ///< recognise patterns (attention, layer norm, GELU …) as one node
  bool strict = false;  ///< an operator Strata does not know is an error instead of a warning
  bool assume_batch_norm =
      false;  ///< put a batch normalisation after every convolution that has none
  std::map<std::string, std::vector<std::int64_t>>
      input_shapes;  ///< shapes the file leaves open, by input name
};

}  // namespace strata
