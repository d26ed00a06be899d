// SPDX-License-Identifier: Apache-2.0
// Choosing among the ways to compute a convolution in a network: what is remembered is built again
// as it was, and much faster than it was chosen.
#include "strata/base/temporary_folder_test.hpp"
#include "strata/measure/cuda/convolutions/convolutions.cuh"
#include "strata/measure/cuda/products/products.cuh"
#include "tests/device/on_device.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>

namespace strata::test {
namespace {

using cuda::train::Convolutions;
using cuda::train::ConvRequest;
using cuda::train::RequestPass;

class ConvolutionTrials : public OnDevice {
 protected:
  std::shared_ptr<Convolutions> opened(const std::filesystem::path& file) {
    auto context = std::make_shared<cuda::ConvContext>();
    std::vector<std::string> versions;
    std::string problem;
    context->cublas = cuda::Cublas::load(context->stream.get(), context->no_cublas);
    std::shared_ptr<cuda::train::Products> products;
    if (const auto lt = cuda::train::LtFunctions::load(problem))
      products = std::make_shared<cuda::train::Products>(lt, context->stream.get());
    choices_ = std::make_shared<RememberedChoices>(RememberedChoices::Source{file}, "this test");
    return cuda::train::make_convolutions(
        context, products, cuda::train::make_cudnn_source(context, versions), "", choices_);
  }
  std::shared_ptr<RememberedChoices> choices_;
};

ConvRequest square(RequestPass pass, DType dtype, std::int64_t batch, std::int64_t channels,
                   std::int64_t filters, int side) {
  ConvRequest request;
  request.pass = pass;
  request.dtype = dtype;
  request.batch = batch;
  request.channels = channels;
  request.filters = filters;
  request.in = request.out = {1, side, side};
  request.kernel = {1, 3, 3};
  request.pad_begin = request.pad_end = {0, 1, 1};
  return request;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_F(ConvolutionTrials, are_remembered) {
  const TemporaryFolder folder;
  std::vector<ConvRequest> requests;
  for (const RequestPass pass :
       {RequestPass::forward, RequestPass::input_gradient, RequestPass::weight_gradient}) {
    requests.push_back(square(pass, DType::fp32, 64, 64, 64, 112));
    requests.push_back(square(pass, DType::fp32, 64, 256, 256, 28));
    requests.push_back(square(pass, DType::bf16, 64, 256, 256, 28));
  }
  requests.push_back(square(RequestPass::forward, DType::fp32, 256, 128, 128, 112));  // a long one
  std::vector<std::string> recipes;
  double first_s = 0;
  {
    const auto convolutions = opened(folder.path() / "choices");
    for (const ConvRequest& request : requests) {
      const auto begin = std::chrono::steady_clock::now();
      recipes.push_back(convolutions->fastest(request)->recipe());
      const double seconds = seconds_since(begin);
      first_s += seconds;
      std::printf("pass %d %s: %.3f s, %s\n", static_cast<int>(request.pass),
                  std::string(name_of(request.dtype)).c_str(), seconds, recipes.back().c_str());
      for (const auto& one : convolutions->tried())
        std::printf("  %-32s prepared %6.0f ms first %8.2f ms shortest %8.3f ms\n",
                    one.name.c_str(), 1e3 * one.preparing_s, 1e3 * one.first_s, 1e3 * one.seconds);
    }
  }
  choices_.reset();  // writes the file
  const auto again = opened(folder.path() / "choices");
  double again_s = 0;
  std::size_t same = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string recipe = again->fastest(requests[i])->recipe();
    again_s += seconds_since(begin);
    if (recipe == recipes[i]) ++same;
    std::printf("again: %s\n", recipe.c_str());
  }
  std::printf("%.2f s, then %.2f s; %zu of %zu as before\n", first_s, again_s, same,
              requests.size());
  // A clock that fell meanwhile may lead to a new trial of one.
  EXPECT_GE(same + 1, requests.size());
  EXPECT_LT(again_s, first_s / 2);
  const auto notes = choices_->take_notes();
  ASSERT_FALSE(notes.empty());
  EXPECT_NE(notes.back().find("remembered"), std::string::npos) << notes.back();
}

}  // namespace
}  // namespace strata::test
