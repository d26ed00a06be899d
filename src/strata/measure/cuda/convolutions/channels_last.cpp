// SPDX-License-Identifier: Apache-2.0
// Convolutions of 16 bits with the channels last, which cuDNN's matrix engines are made for: the
// tensors are turned before and the result after, and that time counts.
#include "strata/base/error.hpp"
#include "strata/convolution/cuda/cudnn_graph.hpp"
#include "strata/measure/cuda/convolutions/convolutions.cuh"
#include "strata/measure/cuda/moving/movement.cuh"

#include <fmt/format.h>

#include <optional>

namespace strata::cuda::train {
namespace {

constexpr std::string_view nhwc_prefix = "cudnn:nhwc_engine_", place_word = " proposal=";
constexpr std::size_t most_nhwc_plans = 5;  // each takes time to be made ready

/// to[image][column][row] = from[image][row][column]: channels before pixels become channels after
/// them (rows: channels), and back (rows: pixels).
struct PlaneTurn {
  std::int64_t images = 1, rows = 1, columns = 1;

  bool changes_nothing() const { return rows == 1 || columns == 1; }
  StridedAxes axes() const {
    const std::int64_t plane = rows * columns;
    return {{images, columns, rows}, {{plane, rows, 1}, {plane, 1, columns}}};
  }
};

class ChannelsLastRunner final : public ConvRunner {
 public:
  ChannelsLastRunner(const ConvRequest& r, std::unique_ptr<CudnnConvPlan> plan, std::size_t place,
                     cudaStream_t stream)
      : pass_(r.pass),
        plan_(std::move(plan)),
        place_(place),
        stream_(stream),
        element_bytes_(bytes_per_element(r.dtype)),
        input_{r.batch, r.channels, r.in_plane()},
        weights_{r.filters, r.channels / r.groups, r.window()},
        output_{r.batch, r.filters, r.out_plane()} {
    const auto room_of = [&](const PlaneTurn& turn, std::int64_t elements) {
      return scratch_.add(turn.changes_nothing() ? 0 : elements * element_bytes_);
    };
    input_room_ = room_of(input_, r.input_elements());
    weights_room_ = room_of(weights_, r.weight_elements());
    output_room_ = room_of(output_, r.output_elements());
    work_room_ = scratch_.add(plan_->workspace_bytes());
  }

  std::string name() const override {
    return fmt::format("{}{}", nhwc_prefix, plan_->engine().number);
  }
  std::string recipe() const override { return fmt::format("{}{}{}", name(), place_word, place_); }
  std::int64_t scratch_bytes() const override { return scratch_.bytes(); }
  bool run(const ConvTensors& tensors, void* scratch) override {
    char* const room = static_cast<char*>(scratch);
    const auto place = [](const PlaneTurn& turn, void* turned, void* given) {
      return turn.changes_nothing() ? given : turned;
    };
    const ConvTensors last{place(input_, room + input_room_, tensors.input),
                           place(weights_, room + weights_room_, tensors.weights),
                           place(output_, room + output_room_, tensors.output)};
    if (pass_ != RequestPass::input_gradient) channels_last(input_, last.input, tensors.input);
    if (pass_ != RequestPass::weight_gradient)
      channels_last(weights_, last.weights, tensors.weights);
    if (pass_ != RequestPass::forward) channels_last(output_, last.output, tensors.output);
    try {
      plan_->run(last, room + work_room_);
    } catch (const Error&) {
      return false;
    }
    switch (pass_) {
      case RequestPass::forward: channels_first(output_, tensors.output, last.output); break;
      case RequestPass::input_gradient: channels_first(input_, tensors.input, last.input); break;
      case RequestPass::weight_gradient:
        channels_first(weights_, tensors.weights, last.weights);
        break;
    }
    return true;
  }

 private:
  void channels_last(const PlaneTurn& turn, void* to, const void* from) const {
    if (to != from) copy_strided(to, from, element_bytes_, turn.axes(), stream_);
  }
  void channels_first(const PlaneTurn& turn, void* to, const void* from) const {
    channels_last({turn.images, turn.columns, turn.rows}, to, from);
  }

  RequestPass pass_;
  std::unique_ptr<CudnnConvPlan> plan_;
  std::size_t
      place_;  ///< among cuDNN's proposals, which may have an engine with other settings, too
  cudaStream_t stream_;
  std::int64_t element_bytes_;
  PlaneTurn input_, weights_, output_;
  Scratch scratch_;
  std::int64_t input_room_ = 0, weights_room_ = 0, output_room_ = 0, work_room_ = 0;
};

/// Loads cuDNN when it is first needed: most networks are not of 16 bits.
class ChannelsLastSource final : public ConvSource {
 public:
  explicit ChannelsLastSource(std::shared_ptr<ConvContext> context)
      : context_(std::move(context)) {}
  ConvRunners runners(const ConvRequest& request, const ConvLimits& limits) override {
    return first_plans(request, limits, most_nhwc_plans);
  }
  std::unique_ptr<ConvRunner> again(const ConvRequest& request, const std::string& recipe,
                                    std::int64_t most_scratch) override {
    const std::size_t at = recipe.find(place_word);
    if (!recipe.starts_with(nhwc_prefix) || at == std::string::npos) return nullptr;
    const std::string place = recipe.substr(at + place_word.size());
    if (place.size() != 1 || place[0] < '0' || place[0] > '9') return nullptr;
    const auto plans = static_cast<std::size_t>(place[0] - '0') + 1;
    return taken(first_plans(request, only_named(most_scratch, recipe.substr(0, at)), plans),
                 recipe);
  }
  /// The tensors are not as cuDNN would propose it.
  ConvRunners proposals(const ConvRequest&, const ConvLimits&) override { return {}; }

 private:
  ConvRunners first_plans(const ConvRequest& request, const ConvLimits& limits,
                          std::size_t most_plans) {
    ConvRunners list;
    const auto problem = flat_problem(request);
    if (!problem || (problem->dtype != DType::bf16 && problem->dtype != DType::fp16)) return list;
    if (!graph_ && no_graph_.empty()) graph_ = CudnnGraph::load(context_->stream.get(), no_graph_);
    if (!graph_) return list;
    CudnnPlanLimits plan_limits;
    plan_limits.most_plans = most_plans;
    plan_limits.most_workspace_bytes = limits.most_scratch;
    CudnnPlans found =
        graph_->plans({*problem, CudnnLayout::nhwc}, CudnnEngines::heuristic_a, plan_limits);
    for (std::size_t i = 0; i < found.plans.size(); ++i) {
      auto runner = std::make_unique<ChannelsLastRunner>(request, std::move(found.plans[i]), i,
                                                         context_->stream.get());
      if (runner->scratch_bytes() <= limits.most_scratch && limits.admits(runner->name()))
        list.push_back(std::move(runner));
    }
    return list;
  }

  std::shared_ptr<ConvContext> context_;
  std::shared_ptr<CudnnGraph> graph_;
  std::string no_graph_;
};

}  // namespace

std::unique_ptr<ConvSource> make_channels_last_source(const std::shared_ptr<ConvContext>& context) {
  return std::make_unique<ChannelsLastSource>(context);
}

}  // namespace strata::cuda::train
