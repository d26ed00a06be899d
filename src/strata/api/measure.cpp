// SPDX-License-Identifier: Apache-2.0
#include "strata/api/measure.hpp"

#include "strata/base/this_run.hpp"

#include <utility>

namespace strata {

std::unique_ptr<TrainableModel> trainable_model(const Graph& network,
                                                const MeasureRequest& request) {
  if (network.recording != nullptr)
    fail(ErrorKind::unsupported,
         "{}: a recording says what PyTorch ran; what is measured is a network from a file or by "
         "its "
         "name, and a training script under strata capture",
         network.name);
  auto made = std::make_unique<TrainableModel>();
  made->options = request.options;
  made->options.network_nodes = network.nodes.size();
  made->graph =
      request.options.engine.training.inference ? network : with_loss(network, request.loss);
  made->bound = bind_model(made->graph, request.sizes);
  made->dtype = main_dtype(made->bound);
  return made;
}

MeasuredModel measure_model(std::unique_ptr<TrainableModel> model, TrainingDevice& device,
                            std::optional<Machine> machine, const MeasureHooks& hooks) {
  TrainingMeasurement measured = measure_training(model->bound, device, model->options, hooks);
  MeasurementSummary summary =
      summarize(model->bound, std::move(measured), model->options, model->dtype, machine);
  summary.host = this_host();
  summary.date = this_moment();
  return {std::move(model), std::move(machine), std::move(summary)};
}

MeasuredModel measure_model(const Graph& network, const ChosenDevice& device,
                            MeasureRequest request, std::optional<Machine> machine) {
  // Marks between layers cost something on a device that works behind the program's back.
  request.options.times_whole_apart = device.is_gpu;
  std::unique_ptr<TrainableModel> model = trainable_model(network, request);
  const std::unique_ptr<TrainingDevice> opened =
      open_training_device(device, {.dtype = model->dtype});
  return measure_model(std::move(model), *opened, std::move(machine));
}

}  // namespace strata
