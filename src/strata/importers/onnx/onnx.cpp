// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/onnx.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/graph/bind.hpp"
#include "strata/importers/onnx/declared_types.hpp"
#include "strata/importers/onnx/emit.hpp"
#include "strata/importers/onnx/flat_graph.hpp"
#include "strata/importers/onnx/mapped_file.hpp"
#include "strata/importers/onnx/ops/ops.hpp"
#include "strata/importers/onnx/passes/passes.hpp"
#include "strata/importers/onnx/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata {
namespace onnx {
namespace {

constexpr std::int64_t newest_opset = 23;

void check(const ModelDef& model) {
  if (!model.graph) fail(ErrorKind::input, "not an ONNX model: it has no graph");
  if (model.graph->nodes.empty()) fail(ErrorKind::input, "its graph has no nodes");
  if (model.graph->outputs.empty()) fail(ErrorKind::input, "its graph has no outputs");
}

void warn_of_new_opset(Session& session) {
  for (const OpsetDef& opset : session.model.opsets) {
    if (!opset.domain.empty() || opset.version <= newest_opset) continue;
    session.warn(WarningCode::value_assumed,
                 fmt::format("the file uses opset {}; its operators are read as those of opset {}",
                             opset.version, newest_opset));
  }
}

void enter_outputs(Session& session) {
  const std::vector<ValueDef>& declared = session.model.graph->outputs;
  for (std::size_t i = 0; i < session.flat.outputs.size(); ++i) {
    const FlatValueId id = session.flat.outputs[i];
    const DraftId tensor = session.values[id].tensor;
    const bool is_made = tensor != no_tensor &&
                         session.draft.tensors[tensor].kind == TensorKind::activation &&
                         !session.draft.tensors[tensor].is_fixed;
    if (is_made) {
      session.draft.outputs.push_back(tensor);
      session.output_names.push_back(declared[i].name);
    } else {
      warn_of_idle_output(session, declared[i].name);
    }
  }
}

void add_summary_warnings(Session& session) {
  for (const auto& [name, entry] : session.uncounted) {
    session.warn(WarningCode::operator_not_counted,
                 fmt::format("Strata does not know the operator {} ({} node{}, the first is {}): "
                             "its tensors are counted, its arithmetic is not",
                             name, entry.count, entry.count == 1 ? "" : "s", entry.first_node));
  }
  if (session.quantisations > 0) {
    session.warn(WarningCode::part_ignored,
                 fmt::format("{} quantise/dequantise pairs are left out: the network is counted as "
                             "the floating-point one it stands for",
                             session.quantisations));
  }
}

// Open dimensions get what is usual, or, where a table in the file is shorter than that, the half
// of it, and so on.
void choose_open_dims(Graph& graph, const std::vector<Parameter>& assumed) {
  if (assumed.empty()) return;
  Binding binding;
  for (std::int64_t divisor = 1; divisor <= 128; divisor *= 2) {
    for (const Parameter& dim : assumed) {
      binding[dim.name] = std::max<std::int64_t>(*dim.default_value / divisor, 1);
    }
    try {
      bind_graph(graph, binding);
      break;
    } catch (const Error&) {
      if (divisor < 128) continue;
      for (const Parameter& dim : assumed) binding[dim.name] = *dim.default_value;
    }
  }
  for (const Parameter& dim : assumed) {
    const std::int64_t value = binding[dim.name];
    graph.symbols.parameter(dim.name, value);
    graph.warnings.push_back(
        {WarningCode::value_assumed,
         fmt::format("the file leaves dimension '{0}' open; {1} is assumed, --dim {0}=N sets it",
                     dim.name, value)});
  }
}

bool holds(const Assumption& assumption, const std::vector<std::int64_t>& values) {
  const auto value = [&](Dim dim) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(dim.factor, values[dim.symbol], &product) ? -1 : product;
  };
  return value(assumption.left) == value(assumption.right);
}

// An opened batch must be free: what had to be taken for equal has to be so for other batches, too.
void check_batch(const Graph& graph, const Batch& batch) {
  if (!batch.is_from_number()) return;
  for (const std::int64_t value : {batch.file_value + 1, 2 * batch.file_value + 3}) {
    std::vector<std::int64_t> values;
    try {
      values = graph.symbols.evaluate({{"batch", value}});
    } catch (const Error& error) {
      throw BatchConflict{error.what()};
    }
    for (const Assumption& assumption : graph.assumptions) {
      if (holds(assumption, values)) continue;
      throw BatchConflict{fmt::format("node '{}' needs {} = {}", graph.nodes[assumption.node].name,
                                      graph.symbols.text(assumption.left),
                                      graph.symbols.text(assumption.right))};
    }
  }
}

class Importer {
 public:
  Importer(const ModelDef& model, const FlatGraph& flat, const ImportOptions& options,
           std::string name)
      : model_(model), flat_(flat), options_(options), name_(std::move(name)) {}

  Graph read() {
    std::string conflict;
    bool is_from_number = false;
    try {
      return attempt(false, is_from_number);
    } catch (const BatchConflict& problem) {
      conflict = problem.reason;
    } catch (const Error& error) {
      if (!is_from_number || error.kind() == ErrorKind::internal) throw;
      conflict = error.what();
    }
    Graph graph = attempt(true, is_from_number);
    graph.warnings.push_back(
        {WarningCode::batch_fixed_in_file,
         fmt::format("the file fixes its batch, and other batches cannot be chosen ({}); export "
                     "with a dynamic first axis",
                     conflict)});
    return graph;
  }

 private:
  Graph attempt(bool fix_batch, bool& is_from_number) {
    Session session(model_, flat_, options_);
    enter_initializers(session);
    enter_inputs(session, fix_batch);
    is_from_number = session.batch.is_from_number();
    warn_of_new_opset(session);
    lower_all(session);
    enter_outputs(session);
    run_passes(session);
    add_summary_warnings(session);
    const Batch batch = session.batch;
    const std::vector<Parameter> assumed = std::move(session.assumed);
    Graph graph = emit(session, name_);
    choose_open_dims(graph, assumed);
    check_batch(graph, batch);
    return graph;
  }

  const ModelDef& model_;
  const FlatGraph& flat_;
  const ImportOptions& options_;
  std::string name_;
};

// Names that exporters give to every graph say nothing about this one.
std::string title_of(const ModelDef& model, const std::string& otherwise) {
  constexpr std::array<std::string_view, 5> empty_names = {"main_graph", "torch_jit",
                                                           "torch-jit-export", "graph", "test"};
  const std::string_view name = model.graph->name;
  const bool says_nothing =
      name.empty() || name.starts_with("Extracted from ") ||
      std::find(empty_names.begin(), empty_names.end(), name) != empty_names.end();
  return says_nothing ? otherwise : printable(name.substr(0, 200));
}

Graph read(Bytes bytes, const std::filesystem::path& path, const ImportOptions& options) {
  const ModelDef model = parse_model(bytes);
  check(model);
  const FlatGraph flat = flatten(model, is_known_operator);
  const std::string name = printable(path.stem().string());
  Graph graph = Importer(model, flat, options, name).read();
  graph.title = title_of(model, name);
  graph.source = fmt::format("ONNX file {}", printable(path.filename().string()));
  return graph;
}

}  // namespace
}  // namespace onnx

Graph read_onnx_text(std::string_view bytes, std::string_view file_name,
                     const ImportOptions& options) {
  try {
    return onnx::read(bytes, std::filesystem::path(file_name), options);
  } catch (Error& error) {
    error.add_context(file_name);
    throw;
  }
}

Graph read_onnx(const std::filesystem::path& path, const ImportOptions& options) {
  try {
    const onnx::MappedFile file(path);
    return onnx::read(file.bytes(), path, options);
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
}

}  // namespace strata
