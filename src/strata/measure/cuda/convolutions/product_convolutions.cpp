// SPDX-License-Identifier: Apache-2.0
// Convolutions with windows of one pixel are matrix products as they stand: every image is a matrix
// [channels, pixels], and the weights multiply it.
#include "strata/measure/cuda/convolutions/convolutions.cuh"
#include "strata/measure/cuda/products/products.cuh"
#include "strata/measure/cuda/sums/reduce.cuh"

namespace strata::cuda::train {
namespace {

constexpr std::string_view products_name = "products";

bool is_product(const ConvRequest& r) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (r.kernel[axis] != 1 || r.stride[axis] != 1 || r.pad_begin[axis] != 0 ||
        r.in[axis] != r.out[axis])
      return false;
  }
  return r.groups == 1;
}

/// Y = W X, dX = Wᵀ dY of every image; dW is the sum of dY Xᵀ over the images, which are first
/// computed one by one.
ProductShape image_product(const ConvRequest& r) {
  const std::int64_t pixels = r.in_plane(), c = r.channels, f = r.filters;
  ProductShape shape;
  switch (r.pass) {
    case RequestPass::forward:
      shape = product_of(r.dtype, f, pixels, c, false, false);
      shape.b_matrix = c * pixels;
      shape.c_matrix = f * pixels;
      break;
    case RequestPass::input_gradient:
      shape = product_of(r.dtype, c, pixels, f, true, false);
      shape.b_matrix = f * pixels;
      shape.c_matrix = c * pixels;
      break;
    case RequestPass::weight_gradient:
      shape = product_of(r.dtype, f, c, pixels, false, true);
      shape.a_matrix = f * pixels;
      shape.b_matrix = c * pixels;
      shape.c_matrix = f * c;
      break;
  }
  shape.batch = r.batch;
  return shape;
}

class ProductRunner final : public ConvRunner {
 public:
  ProductRunner(const ConvRequest& request, std::shared_ptr<const TunedProduct> product,
                cudaStream_t stream)
      : request_(request), product_(std::move(product)), stream_(stream) {
    sums_.rows = request.batch;
    sums_.channels = request.weight_elements();
    sums_.dtype = request.dtype;
    if (!adds_images()) return;
    images_ = scratch_.add(sums_.count() * bytes_per_element(request.dtype));
    partials_ = scratch_.add(channel_sum_scratch(sums_) * (request.dtype == DType::fp64 ? 8 : 4));
  }
  std::string name() const override { return std::string(products_name); }
  std::int64_t scratch_bytes() const override { return scratch_.bytes(); }
  bool run(const ConvTensors& tensors, void* scratch) override {
    switch (request_.pass) {
      case RequestPass::forward:
        product_->run(tensors.weights, tensors.input, tensors.output);
        return true;
      case RequestPass::input_gradient:
        product_->run(tensors.weights, tensors.output, tensors.input);
        return true;
      case RequestPass::weight_gradient: break;
    }
    auto* const rooms = static_cast<char*>(scratch);
    product_->run(tensors.output, tensors.input, adds_images() ? rooms + images_ : tensors.weights);
    if (adds_images())
      sum_over_channels(sums_, tensors.weights, rooms + images_, rooms + partials_, stream_);
    return true;
  }

 private:
  bool adds_images() const {
    return request_.pass == RequestPass::weight_gradient && request_.batch > 1;
  }
  ConvRequest request_;
  std::shared_ptr<const TunedProduct> product_;
  cudaStream_t stream_;
  ChannelArray sums_;
  Scratch scratch_;
  std::int64_t images_ = 0, partials_ = 0;
};

class ProductSource final : public ConvSource {
 public:
  ProductSource(std::shared_ptr<ConvContext> context, std::shared_ptr<Products> products)
      : context_(std::move(context)), products_(std::move(products)) {}
  ConvRunners runners(const ConvRequest& request, const ConvLimits& limits) override {
    ConvRunners list;
    // Halves would be added as halves between the images.
    const bool keeps_digits = bytes_per_element(request.dtype) >= 4;
    if (!limits.admits(products_name) || !is_product(request) ||
        (!keeps_digits && request.pass == RequestPass::weight_gradient && request.batch > 1))
      return list;
    const auto product = products_->product_or_nothing(image_product(request));
    if (!product) return list;
    auto runner = std::make_unique<ProductRunner>(request, product, context_->stream.get());
    if (runner->scratch_bytes() <= limits.most_scratch) list.push_back(std::move(runner));
    return list;
  }

 private:
  std::shared_ptr<ConvContext> context_;
  std::shared_ptr<Products> products_;
};

}  // namespace

std::unique_ptr<ConvSource> make_product_source(const std::shared_ptr<ConvContext>& context,
                                                const std::shared_ptr<Products>& products) {
  return std::make_unique<ProductSource>(context, products);
}

}  // namespace strata::cuda::train
