// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/window.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/network/document.hpp"

#include <algorithm>

namespace strata::keras {
namespace {

std::string padding_word(const Config& config) {
  return config.word({"padding", "border_mode"}, "valid");
}

void expect_positive(const Extents& extents, std::string_view what) {
  for (const std::int64_t extent : extents) {
    if (extent < 1) fail(ErrorKind::input, "{} must be at least 1, got {}", what, extent);
  }
}

// TensorFlow's rule: the result is ⌈extent / stride⌉ long, and what is missing for that lies half
// before, half (and the odd one) after. An extent that is still open takes covered − 1, which gives
// the same length for every extent; a multiple of the stride would need less padding.
std::int64_t same_padding(Dim extent, std::int64_t covered, std::int64_t stride) {
  if (!extent.is_number()) return covered - 1;
  const std::int64_t length = (extent.factor - 1) / stride + 1;
  const std::int64_t needed = checked_add(checked_mul(length - 1, stride), covered);
  return std::max<std::int64_t>(needed - extent.factor, 0);
}

}  // namespace

bool is_same_padding(const Config& config) {
  const std::string word = padding_word(config);
  if (word == "same" || word == "valid") return word == "same";
  fail(ErrorKind::input, "expected same or valid for 'padding', got {}", network::in_quotes(word));
}

std::int64_t covered_by(std::int64_t kernel, std::int64_t dilation) {
  return checked_add(checked_mul(dilation, checked_add(kernel, -1)), 1);
}

Padding padding_of(LayerCall& call, Value x, const Window& window) {
  expect_positive(window.kernel, "kernel");
  expect_positive(window.stride, "stride");
  expect_positive(window.dilation, "dilation");
  const std::string word = padding_word(call.config);
  const std::size_t axes = window.kernel.size();
  Padding padding;
  if (word == "valid") return padding;
  const Shape shape = call.net.stored(x);
  if (shape.size() != axes + 2) {
    fail(ErrorKind::input, "expected an input of {} axes, got {}", axes + 2,
         call.net.text(call.shape(x)));
  }
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t covered =
        covered_by(window.kernel[axis], window.dilation.empty() ? 1 : window.dilation[axis]);
    std::int64_t begin = covered - 1;
    std::int64_t end = 0;
    if (word == "same") {
      const std::int64_t total = same_padding(shape[axis + 2], covered, window.stride[axis]);
      begin = total / 2;
      end = total - begin;
    } else if (word == "full") {  // Theano's: every place where window and image overlap
      end = covered - 1;
    } else if (word != "causal") {
      fail(ErrorKind::input, "expected same, valid or causal for 'padding', got {}",
           network::in_quotes(word));
    }
    padding.begin.push_back(begin);
    padding.end.push_back(end);
  }
  return padding;
}

}  // namespace strata::keras
