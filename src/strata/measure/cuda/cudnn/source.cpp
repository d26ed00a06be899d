// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/cudnn/sources.cuh"

#include <fmt/format.h>

namespace strata::cuda::train {
namespace {

class CudnnSource final : public ConvSource {
 public:
  explicit CudnnSource(Cudnn cudnn) : cudnn_(std::move(cudnn)) {}
  ConvRunners runners(const ConvRequest& request, const ConvLimits& limits) override {
    ConvRunners list;
    add_named_algorithms(list, cudnn_, request, limits);
    add_engines(list, cudnn_, request, limits);
    return list;
  }
  ConvRunners proposals(const ConvRequest& request, const ConvLimits& limits) override {
    ConvRunners list;
    add_proposed_engines(list, cudnn_, request, limits);
    add_named_algorithms(list, cudnn_, request, limits);
    return list;
  }
  std::unique_ptr<ConvRunner> again(const ConvRequest& request, const std::string& recipe,
                                    std::int64_t most_scratch) override {
    if (!recipe.starts_with("cudnn:")) return nullptr;
    if (recipe.starts_with(engine_prefix)) {
      const auto engine = parse_engine_recipe(recipe);
      return engine ? engine_again(cudnn_, request, *engine, most_scratch) : nullptr;
    }
    ConvRunners list;
    add_named_algorithms(list, cudnn_, request, {most_scratch});
    return taken(std::move(list), recipe);
  }

 private:
  Cudnn cudnn_;
};

}  // namespace

std::unique_ptr<ConvSource> make_cudnn_source(const std::shared_ptr<ConvContext>& context,
                                              std::vector<std::string>& versions) {
  std::string problem;
  Cudnn cudnn = CudnnFunctions::load(context->stream.get(), problem);
  if (!cudnn) {
    versions.push_back(fmt::format("without cuDNN ({})", problem));
    return nullptr;
  }
  versions.push_back(fmt::format("cuDNN {}", version_text(cudnn->version())));
  return std::make_unique<CudnnSource>(std::move(cudnn));
}

}  // namespace strata::cuda::train
