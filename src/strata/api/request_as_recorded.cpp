// SPDX-License-Identifier: Apache-2.0
#include "strata/api/request_as_recorded.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/recording.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

[[noreturn]] void refuse(const Graph& graph, const std::string& asked, const std::string& is,
                         std::string_view instead) {
  fail(ErrorKind::usage, "{}: {} was asked, and the recording {}: {}", graph.name, asked, is,
       instead);
}

constexpr std::string_view in_script = "change the training script and record it again";

}  // namespace

PredictRequest request_as_recorded(const Graph& graph, const PredictRequest& request) {
  if (graph.recording == nullptr) return request;
  const RecordedOperations& recording = *graph.recording;
  const TrainingOptions usual;
  const TrainingOptions& asked = request.training;
  if (asked.inference && recording.is_training)
    refuse(graph, "inference", "is of a training step", "record it with training=False");
  if (asked.optimizer != usual.optimizer) refuse(graph, "an optimizer", "has its own", in_script);
  if (asked.micro_batches != 1) refuse(graph, "micro-batches", "has its own", in_script);
  if (asked.recompute != Recompute::none) refuse(graph, "recomputation", "has its own", in_script);
  PredictRequest adapted = request;
  const std::optional<DType> amp = request.framework_options.autocast;
  if (amp && amp != recording.autocast)
    refuse(graph, fmt::format("--amp {}", name_of(*amp)),
           recording.autocast ? fmt::format("is in {}", name_of(*recording.autocast))
                              : "is without autocast",
           "record it under torch.autocast");
  adapted.framework_options.autocast = recording.autocast;
  adapted.training.inference = !recording.is_training;
  return adapted;
}

std::optional<DType> recorded_dtype(const Graph& graph, const ModelSizes& sizes) {
  const RecordedOperations& recording = *graph.recording;
  std::optional<std::int64_t> batch = sizes.batch;
  bool has_others = sizes.sequence.has_value();
  for (const Dimension& dimension : sizes.dims) {
    if (dimension.name == "batch")
      batch = dimension.value;
    else
      has_others = true;
  }
  if (batch && *batch != recording.samples)
    refuse(graph, fmt::format("a batch of {}", *batch),
           fmt::format("has {} samples", recording.samples),
           "record it again with inputs of that batch");
  if (has_others)
    refuse(graph, "another size", "has those of its inputs", "record it again with other inputs");
  if (!sizes.dtype) return recording.is_tf32 ? std::optional(DType::tf32) : std::nullopt;
  const DType wanted = *sizes.dtype;
  if (recording.autocast == wanted) return std::nullopt;
  const bool is_fp32 = wanted == DType::fp32 || wanted == DType::tf32;
  if (!is_fp32 || recording.autocast)
    refuse(graph, fmt::format("--dtype {}", name_of(wanted)), "has its own types",
           "record it under torch.autocast, or a module in that type");
  return wanted;
}

}  // namespace strata
