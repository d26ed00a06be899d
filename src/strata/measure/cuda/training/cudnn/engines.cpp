// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/training/cudnn/sources.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace strata::cuda::train {
namespace {

/// One of the library's descriptors, which are built attribute by attribute.
class Descriptor {
 public:
  Descriptor(Cudnn cudnn, cudnnBackendDescriptorType_t type) : cudnn_(std::move(cudnn)) {
    is_good_ = cudnn_->backend_create(type, &descriptor_) == CUDNN_STATUS_SUCCESS;
  }
  ~Descriptor() {
    if (descriptor_ != nullptr) cudnn_->backend_destroy(descriptor_);
  }
  Descriptor(Descriptor&& other) noexcept
      : cudnn_(other.cudnn_),
        descriptor_(std::exchange(other.descriptor_, nullptr)),
        is_good_(other.is_good_) {}
  Descriptor& operator=(Descriptor&&) = delete;

  template <class Item>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  std::span<const Item> items) {
    is_good_ = is_good_ &&
               cudnn_->backend_set(descriptor_, name, type, static_cast<std::int64_t>(items.size()),
                                   items.data()) == CUDNN_STATUS_SUCCESS;
    return *this;
  }
  template <class Item>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, Item item) {
    return set(name, type, std::span<const Item>(&item, 1));
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.get());
  }
  bool finalize() {
    is_good_ = is_good_ && cudnn_->backend_finalize(descriptor_) == CUDNN_STATUS_SUCCESS;
    return is_good_;
  }
  /// Up to `most` items; nothing where there are none.
  template <class Item>
  std::vector<Item> all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                        std::int64_t most) const {
    std::vector<Item> items(static_cast<std::size_t>(most));
    std::int64_t count = 0;
    const bool is_there = cudnn_->backend_get(descriptor_, name, type, most, &count,
                                              items.data()) == CUDNN_STATUS_SUCCESS;
    items.resize(is_there ? static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, most)) : 0);
    return items;
  }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  Cudnn cudnn_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  bool is_good_ = false;
};

constexpr std::int64_t input_id = 'x', weights_id = 'w', output_id = 'y';

/// The operation graph of one request, with all that it refers to.
class RequestGraph {
 public:
  RequestGraph(const Cudnn& cudnn, const ConvRequest& request);
  bool is_good() const { return is_good_; }
  const Descriptor& graph() const { return graph_; }

 private:
  Descriptor tensor(const Cudnn& cudnn, std::int64_t id, std::vector<std::int64_t> extents) const;
  void describe_convolution();
  void describe_operation();

  ConvRequest request_;
  std::size_t first_axis_;  ///< of the spatial ones that the library is told of: at least two
  Descriptor input_, weights_, output_, convolution_, operation_, graph_;
  bool is_good_ = false;
};

cudnnBackendDescriptorType_t operation_type(RequestPass pass) {
  switch (pass) {
    case RequestPass::forward: return CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    case RequestPass::input_gradient:
      return CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    case RequestPass::weight_gradient: break;
  }
  return CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

std::vector<std::int64_t> with_space(std::int64_t first, std::int64_t second,
                                     const std::array<int, 3>& space, std::size_t from) {
  std::vector<std::int64_t> extents = {first, second};
  for (std::size_t axis = from; axis < 3; ++axis) extents.push_back(space[axis]);
  return extents;
}

RequestGraph::RequestGraph(const Cudnn& cudnn, const ConvRequest& r)
    : request_(r),
      first_axis_(r.is_flat() ? 1 : 0),
      input_(tensor(cudnn, input_id, with_space(r.batch, r.channels, r.in, first_axis_))),
      weights_(tensor(cudnn, weights_id,
                      with_space(r.filters, r.channels / r.groups, r.kernel, first_axis_))),
      output_(tensor(cudnn, output_id, with_space(r.batch, r.filters, r.out, first_axis_))),
      convolution_(cudnn, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR),
      operation_(cudnn, operation_type(r.pass)),
      graph_(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  describe_convolution();
  describe_operation();
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, cudnn->handle)
      .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation_);
  is_good_ = graph_.finalize();
}

Descriptor RequestGraph::tensor(const Cudnn& cudnn, std::int64_t id,
                                std::vector<std::int64_t> extents) const {
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t stride = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= extents[axis];
  }
  Descriptor made(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, cudnn_data_type(request_.dtype))
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::span<const std::int64_t>(extents))
      .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::span<const std::int64_t>(strides))
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16})
      .finalize();
  return made;
}

void RequestGraph::describe_convolution() {
  const auto spatial = [&](const std::array<int, 3>& values) {
    return std::vector<std::int64_t>(values.begin() + static_cast<std::ptrdiff_t>(first_axis_),
                                     values.end());
  };
  const auto set = [&](cudnnBackendAttributeName_t name, const std::array<int, 3>& values) {
    const std::vector<std::int64_t> numbers = spatial(values);
    convolution_.set(name, CUDNN_TYPE_INT64, std::span<const std::int64_t>(numbers));
  };
  convolution_
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
           static_cast<std::int64_t>(3 - first_axis_))
      .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
           request_.dtype == DType::fp64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, request_.pad_begin);
  set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, request_.pad_end);
  set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, request_.stride);
  set(CUDNN_ATTR_CONVOLUTION_DILATIONS, request_.dilation);
  convolution_.finalize();
}

void RequestGraph::describe_operation() {
  struct Names {
    cudnnBackendAttributeName_t convolution, input, weights, output, alpha, beta;
  };
  constexpr std::array<Names, 3> names = {{
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
  }};
  const Names& name = names[static_cast<std::size_t>(request_.pass)];
  operation_.set(name.convolution, convolution_)
      .set(name.input, input_)
      .set(name.weights, weights_)
      .set(name.output, output_);
  if (request_.dtype == DType::fp64) {
    operation_.set(name.alpha, CUDNN_TYPE_DOUBLE, 1.0).set(name.beta, CUDNN_TYPE_DOUBLE, 0.0);
  } else {
    operation_.set(name.alpha, CUDNN_TYPE_FLOAT, 1.0F).set(name.beta, CUDNN_TYPE_FLOAT, 0.0F);
  }
  operation_.finalize();
}

class EngineRunner final : public ConvRunner {
 public:
  EngineRunner(Cudnn cudnn, std::shared_ptr<const void> origins, Descriptor plan, std::string name,
               std::int64_t bytes)
      : cudnn_(std::move(cudnn)),
        origins_(std::move(origins)),
        plan_(std::move(plan)),
        name_(std::move(name)),
        bytes_(bytes) {}
  std::string name() const override { return name_; }
  std::int64_t scratch_bytes() const override { return bytes_; }
  bool run(const ConvTensors& tensors, void* scratch) override {
    const Memory memory = {tensors.input, tensors.weights, tensors.output, scratch};
    const auto [pack, is_new] =
        packs_.try_emplace(memory, cudnn_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    if (is_new && !fill(pack->second, memory)) {
      packs_.erase(pack);
      return false;
    }
    return cudnn_->backend_execute(cudnn_->handle, plan_.get(), pack->second.get()) ==
           CUDNN_STATUS_SUCCESS;
  }

 private:
  using Memory = std::array<void*, 4>;  ///< input, weights, output, scratch
  static bool fill(Descriptor& pack, const Memory& memory) {
    const std::array<std::int64_t, 3> ids = {input_id, weights_id, output_id};
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
             std::span<const std::int64_t>(ids))
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             std::span<void* const>(memory).first(3))
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, memory[3]);
    return pack.finalize();
  }

  Cudnn cudnn_;
  std::shared_ptr<const void> origins_;  ///< what the plan was made from
  Descriptor plan_;
  std::map<Memory, Descriptor> packs_;  ///< a network's memory stays where it is
  std::string name_;
  std::int64_t bytes_;
};

/// What is known of a configuration's engine before it is planned.
struct EngineFacts {
  std::int64_t number = -1;
  std::vector<cudnnBackendNumericalNote_t> numbers;
  std::vector<cudnnBackendBehaviorNote_t> behavior;

  bool has(cudnnBackendNumericalNote_t note) const {
    return std::find(numbers.begin(), numbers.end(), note) != numbers.end();
  }
};

EngineFacts facts_of_engine(const Descriptor& engine) {
  EngineFacts facts;
  const auto number = engine.all<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1);
  if (!number.empty()) facts.number = number.front();
  facts.numbers = engine.all<cudnnBackendNumericalNote_t>(
      CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  facts.behavior = engine.all<cudnnBackendBehaviorNote_t>(
      CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  return facts;
}

// fp32 is multiplied as fp32: tensor cores would round it to TF32 first.
bool is_right_for(const ConvRequest& request, const EngineFacts& facts) {
  if (facts.has(CUDNN_NUMERICAL_NOTE_WINOGRAD) && loses_digits_with_winograd(request)) return false;
  if (request.dtype != DType::fp32) return true;
  return !facts.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) &&
         !facts.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
}

class EngineList {
 public:
  EngineList(ConvRunners& list, const Cudnn& cudnn, const ConvRequest& request,
             std::int64_t most_scratch)
      : list_(list),
        cudnn_(cudnn),
        request_(request),
        most_scratch_(most_scratch),
        graph_(std::make_shared<const RequestGraph>(cudnn, request)) {}

  void add_proposed(cudnnBackendHeurMode_t mode, std::int64_t most);
  void add_others();

 private:
  /// What a plan refers to, kept as long as it.
  struct Origins {
    std::shared_ptr<const RequestGraph> graph;
    Descriptor engine, configuration;
  };
  bool add(Descriptor engine, Descriptor configuration, const EngineFacts& facts);

  ConvRunners& list_;
  Cudnn cudnn_;
  ConvRequest request_;
  std::int64_t most_scratch_;
  std::shared_ptr<const RequestGraph> graph_;
  std::set<std::int64_t> seen_;
};

void EngineList::add_proposed(cudnnBackendHeurMode_t mode, std::int64_t most) {
  if (!graph_->is_good()) return;
  Descriptor heuristics(cudnn_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_->graph())
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (!heuristics.finalize()) return;
  std::vector<Descriptor> made;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < most; ++i) {
    made.emplace_back(cudnn_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(made.back().get());
  }
  std::int64_t count = 0;
  if (cudnn_->backend_get(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                          CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &count,
                          raw.data()) != CUDNN_STATUS_SUCCESS)
    return;
  for (std::int64_t i = 0; i < std::min(count, most); ++i) {
    Descriptor& configuration = made[static_cast<std::size_t>(i)];
    Descriptor engine(cudnn_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t engine_raw = engine.get();
    std::int64_t engines = 0;
    if (cudnn_->backend_get(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                            CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engines,
                            &engine_raw) != CUDNN_STATUS_SUCCESS)
      continue;
    const EngineFacts facts = facts_of_engine(engine);
    if (is_right_for(request_, facts) && add(std::move(engine), std::move(configuration), facts))
      seen_.insert(facts.number);
  }
}

// With the engines' own settings; those that would compile a kernel now are left to the heuristics.
void EngineList::add_others() {
  if (!graph_->is_good()) return;
  const auto count = graph_->graph().all<std::int64_t>(
      CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1);
  for (std::int64_t number = 0; !count.empty() && number < count.front(); ++number) {
    if (seen_.contains(number)) continue;
    Descriptor engine(cudnn_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_->graph())
        .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, number);
    if (!engine.finalize()) continue;
    const EngineFacts facts = facts_of_engine(engine);
    const auto& behavior = facts.behavior;
    if (std::find(behavior.begin(), behavior.end(), CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) !=
        behavior.end())
      continue;
    if (!is_right_for(request_, facts)) continue;
    Descriptor configuration(cudnn_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    if (configuration.finalize()) add(std::move(engine), std::move(configuration), facts);
  }
}

bool EngineList::add(Descriptor engine, Descriptor configuration, const EngineFacts& facts) {
  Descriptor plan(cudnn_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, cudnn_->handle)
      .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (!plan.finalize()) return false;
  const auto bytes =
      plan.all<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1);
  if (bytes.empty() || bytes.front() > most_scratch_) return false;
  auto origins =
      std::make_shared<const Origins>(Origins{graph_, std::move(engine), std::move(configuration)});
  list_.push_back(std::make_unique<EngineRunner>(cudnn_, std::move(origins), std::move(plan),
                                                 fmt::format("cudnn:engine_{}", facts.number),
                                                 bytes.front()));
  return true;
}

}  // namespace

void add_engines(ConvRunners& list, const Cudnn& cudnn, const ConvRequest& request,
                 std::int64_t most_scratch) {
  constexpr std::int64_t most_proposals = 10;
  EngineList engines(list, cudnn, request, most_scratch);
  engines.add_proposed(CUDNN_HEUR_MODE_A, most_proposals);
  engines.add_proposed(CUDNN_HEUR_MODE_B, most_proposals);
  engines.add_proposed(CUDNN_HEUR_MODE_FALLBACK, most_proposals);
  engines.add_others();
}

}  // namespace strata::cuda::train
