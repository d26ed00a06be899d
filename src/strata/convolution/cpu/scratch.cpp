// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/scratch.hpp"

#include "strata/base/error.hpp"

#include <atomic>
#include <cstdlib>

namespace strata::cpu {
namespace {

std::atomic<std::int64_t> scratch_in_use = 0;

}  // namespace

Scratch::Scratch(std::int64_t bytes) : bytes_(bytes), data_(nullptr) {
  if (bytes == 0) return;
  const auto size = static_cast<std::size_t>(bytes + alignment_bytes - 1) /
                    static_cast<std::size_t>(alignment_bytes) *
                    static_cast<std::size_t>(alignment_bytes);
  data_ = static_cast<float*>(std::aligned_alloc(alignment_bytes, size));
  if (data_ == nullptr) fail(ErrorKind::environment, "{} bytes of memory are not there", bytes);
  scratch_in_use += bytes_;
}

Scratch::~Scratch() {
  if (data_ == nullptr) return;
  std::free(data_);
  scratch_in_use -= bytes_;
}

std::int64_t Scratch::bytes_in_use() { return scratch_in_use; }

}  // namespace strata::cpu
