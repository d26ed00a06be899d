// SPDX-License-Identifier: Apache-2.0
#include "strata/api/model.hpp"

#include "strata/api/request_as_recorded.hpp"
#include "strata/base/text.hpp"
#include "strata/graph/recording.hpp"
#include "strata/importers/importers.hpp"
#include "strata/zoo/zoo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace strata {
namespace {

constexpr std::int64_t default_batch = 32;

bool has_dimension(const Graph& graph, std::string_view name) {
  const auto& parameters = graph.symbols.parameters();
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const Parameter& parameter) { return parameter.name == name; });
}

void set_dimension(Binding& binding, const Graph& graph, const std::string& name,
                   std::int64_t value) {
  if (!has_dimension(graph, name)) {
    std::vector<std::string> names;
    for (const Parameter& parameter : graph.symbols.parameters()) names.push_back(parameter.name);
    fail(ErrorKind::usage, "{} has no dimension '{}'{}",
         graph.title.empty() ? graph.name : graph.title, name,
         names.empty() ? "; all its sizes are fixed"
                       : fmt::format("; its dimensions are: {}", fmt::join(names, ", ")));
  }
  if (value < 1) fail(ErrorKind::usage, "dimension '{}' must be at least 1, got {}", name, value);
  const auto [place, is_new] = binding.try_emplace(name, value);
  if (!is_new && place->second != value) {
    fail(ErrorKind::usage, "dimension '{}' is given twice: {} and {}", name, place->second, value);
  }
}

// Silently reading a network otherwise than it was asked for would be a wrong answer.
Graph build_without_options(std::string_view model, const ImportOptions& options) {
  Graph graph = build_network(model);  // a name that does not exist is the greater mistake
  const std::string_view flag = !options.input_shapes.empty() ? "--input"
                                : !options.fuse               ? "--no-fuse"
                                : options.assume_batch_norm   ? "--assume-bn"
                                : options.strict              ? "--strict"
                                                              : "";
  if (!flag.empty()) {
    fail(ErrorKind::usage, "{} is for networks from files; {} is built in", flag, graph.name);
  }
  return graph;
}

/// With the nearest numbers that go: batches that are a multiple, micro-batches that divide.
[[noreturn]] void refuse_split(std::int64_t batch, std::int64_t micro_batches) {
  const std::int64_t below = batch - batch % micro_batches;
  std::string batches = fmt::format("{}", below + micro_batches);
  if (below > 0) batches = fmt::format("{} or {}", below, batches);
  std::int64_t fewer = std::min(micro_batches, batch);
  while (batch % fewer != 0) --fewer;
  std::string counts = fmt::format("{}", fewer);
  if (micro_batches < batch) {
    std::int64_t more = micro_batches;
    while (batch % more != 0) ++more;
    counts += fmt::format(" or {}", more);
  }
  fail(ErrorKind::usage,
       "a batch of {} cannot be split into {} equal micro-batches: take --batch {}, or "
       "--micro-batches {}",
       batch, micro_batches, batches, counts);
}

}  // namespace

Graph load_model(std::string_view model, const ImportOptions& options) {
  const std::filesystem::path path(model);
  const bool is_path = model.find('/') != std::string_view::npos;
  if (!is_path && find_network(model.substr(0, model.find(':'))) != nullptr)
    return build_without_options(model, options);

  std::error_code ignored;  // what cannot be looked at is not there
  const bool exists = std::filesystem::exists(path, ignored);
  const bool looks_like_file = is_path || path.has_extension();
  if (exists) return import_model(path, options);
  if (!looks_like_file)
    return build_without_options(model, options);  // which suggests the nearest names
  fail(ErrorKind::input, "{}: no such file{}", model,
       is_path ? "" : did_you_mean(model, network_names()));
}

void set_batch(ModelSizes& sizes, std::int64_t batch) {
  sizes.batch = batch;
  std::erase_if(sizes.dims, [](const Dimension& dimension) { return dimension.name == "batch"; });
}

BoundGraph bind_model(const Graph& graph, const ModelSizes& sizes) {
  if (graph.recording != nullptr) return bind_graph(graph, {}, recorded_dtype(graph, sizes));
  Binding binding;
  if (sizes.batch) set_dimension(binding, graph, "batch", *sizes.batch);
  if (sizes.sequence) set_dimension(binding, graph, "seq", *sizes.sequence);
  for (const Dimension& dimension : sizes.dims)
    set_dimension(binding, graph, dimension.name, dimension.value);
  for (const Parameter& parameter : graph.symbols.parameters()) {
    if (parameter.name == "batch" && !parameter.default_value)
      binding.try_emplace("batch", default_batch);
  }
  return bind_graph(graph, binding, sizes.dtype);
}

BoundGraph bind_micro_batch(const Graph& graph, const ModelSizes& sizes,
                            std::int64_t micro_batches) {
  if (micro_batches < 1)
    fail(ErrorKind::usage, "{} micro-batches: at least 1 is needed", micro_batches);
  BoundGraph whole = bind_model(graph, sizes);
  if (micro_batches == 1) return whole;
  const auto batch = whole.binding.find("batch");
  if (batch == whole.binding.end())
    fail(ErrorKind::usage,
         "{} has a fixed batch, which cannot be split into micro-batches: export it with an open "
         "batch",
         graph.title.empty() ? graph.name : graph.title);
  if (batch->second % micro_batches != 0) refuse_split(batch->second, micro_batches);
  ModelSizes share = sizes;
  set_batch(share, batch->second / micro_batches);
  return bind_model(graph, share);
}

DType main_dtype(const BoundGraph& bound) {
  if (bound.graph->recording != nullptr && bound.graph->recording->autocast)
    return *bound.graph->recording->autocast;
  std::map<DType, double> bytes;
  for (TensorId id = 0; id < bound.tensors.size(); ++id) {
    const BoundTensor& tensor = bound.tensors[id];
    const bool was_floating = is_floating(bound.graph->tensors[id].type.dtype);
    if (was_floating) bytes[tensor.dtype] += static_cast<double>(tensor.bytes);
  }
  const auto most = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? DType::fp32 : most->first;
}

}  // namespace strata
