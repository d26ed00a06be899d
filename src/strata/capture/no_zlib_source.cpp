// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/capture/byte_source.hpp"

namespace strata {

std::unique_ptr<ByteSource> unzipped(std::unique_ptr<ByteSource>) {
  fail(ErrorKind::environment,
       "this build has no zlib, so compressed traces cannot be read; unpack it with gunzip");
}

}  // namespace strata
