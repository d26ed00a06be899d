// SPDX-License-Identifier: Apache-2.0
// strata_training_dump MODEL BATCH DTYPE FOLDER [NAME=SIZE...] [--conv=NAME]: one iteration of a
// network on the GPU, with everything that goes into it and comes out of it left in the folder, for
// compare_pytorch.py to compute the same: index.json says which tensor is where in data.bin (fp32).
#include "strata/base/error.hpp"
#include "strata/measure/engine/engine.hpp"
#include "strata/strata.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

std::string_view kind_name(TensorKind kind) {
  switch (kind) {
    case TensorKind::input: return "input";
    case TensorKind::activation: return "activation";
    case TensorKind::parameter: return "parameter";
    case TensorKind::buffer: return "buffer";
    case TensorKind::constant: return "constant";
  }
  return "";
}

/// Tensors one after the other in data.bin.
class Dump {
 public:
  explicit Dump(const std::filesystem::path& folder)
      : data_(folder / "data.bin", std::ios::binary) {}
  Json add(const std::vector<double>& numbers) {
    std::vector<float> floats(numbers.begin(), numbers.end());
    data_.write(reinterpret_cast<const char*>(floats.data()),
                static_cast<std::streamsize>(floats.size() * sizeof(float)));
    const std::size_t begin = count_;
    count_ += floats.size();
    return {{"begin", begin}, {"count", floats.size()}};
  }

 private:
  std::ofstream data_;
  std::size_t count_ = 0;
};

int run(const std::vector<std::string>& words) {
  if (words.size() < 4)
    fail(ErrorKind::usage, "MODEL BATCH DTYPE FOLDER [NAME=SIZE...] [--conv=NAME]");
  DeviceChoices choices;
  ModelSizes sizes;
  sizes.batch = std::stoll(words[1]);
  sizes.dtype = dtype_named(words[2]);
  for (std::size_t i = 4; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (words[i].rfind("--conv=", 0) == 0) {
      choices.convolution = words[i].substr(equals + 1);
      continue;
    }
    sizes.dims.push_back({words[i].substr(0, equals), std::stoll(words[i].substr(equals + 1))});
  }
  const Graph graph = with_loss(load_model(words[0]), Loss::automatic);
  const BoundGraph bound = bind_model(graph, sizes);
  choices.dtype = sizes.dtype.value_or(DType::fp32);
  const auto device = cuda_training_device(0, choices);
  Engine::Options options;
  options.training.optimizer = Optimizer::none;
  Engine engine(bound, *device, options);
  const std::filesystem::path folder = words[3];
  std::filesystem::create_directories(folder);
  Dump dump(folder);
  Json index;
  index["tensors"] = Json::array();
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.kind == TensorKind::activation) continue;
    Json entry = dump.add(engine.read(id));
    entry["name"] = tensor.name;
    entry["kind"] = kind_name(tensor.kind);
    entry["dtype"] = name_of(bound.tensors[id].dtype);
    entry["shape"] =
        std::vector<std::int64_t>(bound.tensors[id].shape.begin(), bound.tensors[id].shape.end());
    index["tensors"].push_back(entry);
  }
  engine.iterate(nullptr);
  index["versions"] = device->versions();
  index["loss"] = engine.loss().value_or(0);
  index["not_run"] = Json::array();
  index["convolutions"] = Json::object();  // how often each way was taken
  for (const Engine::Part& part : engine.parts()) {
    if (part.node != no_node && std::holds_alternative<Convolution>(graph.nodes[part.node].op) &&
        !part.implementation.empty()) {
      Json& count = index["convolutions"][part.implementation];
      count = count.is_null() ? 1 : count.get<int>() + 1;
    }
    if (!part.not_run.empty())
      index["not_run"].push_back(graph.nodes[part.node].name + ": " + part.not_run);
  }
  index["gradients"] = Json::array();
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].kind != TensorKind::parameter || !bound.tensors[id].wants_gradient)
      continue;
    Json entry = dump.add(engine.read_gradient(id));
    entry["name"] = graph.tensors[id].name;
    index["gradients"].push_back(entry);
  }
  std::ofstream(folder / "index.json") << index.dump(1) << '\n';
  return 0;
}

}  // namespace
}  // namespace strata

int main(int count, char** words) {
  try {
    return strata::run({words + 1, words + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
