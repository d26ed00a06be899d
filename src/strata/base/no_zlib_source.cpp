// SPDX-License-Identifier: Apache-2.0
#include "strata/base/byte_source.hpp"
#include "strata/base/error.hpp"

namespace strata {

std::unique_ptr<ByteSource> unzipped(std::unique_ptr<ByteSource>) {
  fail(ErrorKind::environment,
       "this build has no zlib, so compressed files cannot be read; unpack it with gunzip");
}

}  // namespace strata
