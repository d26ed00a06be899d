// SPDX-License-Identifier: Apache-2.0
// The Python module `strata`: load, show, predict, measure, rows, save_html. It has no logic of its
// own: words mean what they mean on the command line, and what comes back is the documented JSON as
// plain dicts and lists.
#include "strata/report/write_file.hpp"
#include "strata/strata.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

struct Model {
  std::shared_ptr<const strata::Graph> graph;
  std::string word;  ///< as it was asked for
};

Model load(const std::string& model) {
  return {std::make_shared<const strata::Graph>(strata::load_model(model)), model};
}

// What takes a model also takes what load takes.
Model model_of(const py::object& model) {
  return py::isinstance<Model>(model) ? model.cast<Model>() : load(py::str(model));
}

strata::ModelSizes sizes_of(std::optional<std::int64_t> batch, std::optional<std::int64_t> seq,
                            const std::map<std::string, std::int64_t>& dims,
                            const std::optional<std::string>& dtype) {
  strata::ModelSizes sizes;
  sizes.batch = batch;
  sizes.sequence = seq;
  for (const auto& [name, value] : dims) sizes.dims.push_back({name, value});
  if (dtype) {
    sizes.dtype = strata::dtype_named(*dtype);
    if (!sizes.dtype) {
      strata::fail(strata::ErrorKind::usage, "unknown data type '{}'", *dtype);
    }
  }
  return sizes;
}

py::object parsed(const std::string& json) {
  return py::module_::import("json").attr("loads")(json);
}

py::object show(const py::object& model, std::optional<std::int64_t> batch,
                std::optional<std::int64_t> seq, const std::map<std::string, std::int64_t>& dims,
                const std::optional<std::string>& dtype, bool inference) {
  const Model loaded = model_of(model);
  const strata::BoundGraph bound =
      strata::bind_model(*loaded.graph, sizes_of(batch, seq, dims, dtype));
  const auto mode = inference ? strata::Mode::inference : strata::Mode::training;
  return parsed(to_json(strata::summarize(bound, mode), {.command = "strata.show"}));
}

// True is "true"; everything else as it is printed.
std::string option_text(const py::handle& value) {
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>() ? "true" : "false";
  return py::str(value);
}

py::object predict(const py::object& model, const std::string& on, const std::string& preset,
                   const std::vector<std::string>& set, std::optional<std::int64_t> batch,
                   std::optional<std::int64_t> seq, const std::map<std::string, std::int64_t>& dims,
                   const std::optional<std::string>& dtype, const py::kwargs& options) {
  const Model loaded = model_of(model);
  strata::RequestText words;
  words.model = loaded.word;
  words.machine = on;
  words.settings = set;
  words.preset = preset;
  words.sizes = sizes_of(batch, seq, dims, dtype);
  for (const auto& [name, value] : options) {
    std::string flag = py::str(name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    words.options.emplace_back(flag, option_text(value));
  }
  const strata::PredictedIteration iteration =
      strata::predict_model(*loaded.graph, strata::machine_of(words), strata::request_of(words));
  return parsed(
      to_json(iteration.summary, {.command = "strata.predict", .request = to_json(words)}));
}

py::object measure(const py::object& model, const std::string& device,
                   const std::optional<std::string>& on, std::size_t iterations, bool inference,
                   std::optional<std::int64_t> batch, std::optional<std::int64_t> seq,
                   const std::map<std::string, std::int64_t>& dims,
                   const std::optional<std::string>& dtype) {
  const Model loaded = model_of(model);
  strata::MeasureRequest request;
  request.sizes = sizes_of(batch, seq, dims, dtype);
  request.options.iterations = iterations;
  request.options.engine.training.inference = inference;
  std::optional<strata::Machine> machine;
  if (on) machine = strata::load_machine(*on);
  const strata::MeasuredModel measured = strata::measure_model(
      *loaded.graph, strata::chosen_device(device), request, std::move(machine));
  return parsed(to_json(measured.summary, {.command = "strata.measure"}));
}

void save_html(const py::object& result, const std::string& path, const std::string& title,
               const std::optional<std::string>& on) {
  const std::string document = py::str(py::module_::import("json").attr("dumps")(result));
  const strata::PageSection part =
      strata::page_section(title, document, {.on = on}, {.command = "strata.save_html"});
  strata::write_file(path, strata::html_page(title, {part}));
}

py::object rows(const py::dict& result) { return result["layers"]; }

void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const strata::Error& error) {
    switch (error.kind()) {
      case strata::ErrorKind::usage:
      case strata::ErrorKind::input: PyErr_SetString(PyExc_ValueError, error.what()); return;
      case strata::ErrorKind::unsupported:
        PyErr_SetString(PyExc_NotImplementedError, error.what());
        return;
      case strata::ErrorKind::environment: PyErr_SetString(PyExc_OSError, error.what()); return;
      case strata::ErrorKind::internal: PyErr_SetString(PyExc_RuntimeError, error.what()); return;
    }
  }
}

}  // namespace

PYBIND11_MODULE(strata, module) {
  using py::arg;
  module.doc() = "Where the time of training a neural network goes, layer by layer.";
  py::register_exception_translator(translate);
  py::class_<Model>(module, "Model", "A network, as load returns it.")
      .def_property_readonly("name", [](const Model& model) { return model.graph->name; })
      .def_property_readonly("title", [](const Model& model) { return model.graph->title; });
  const std::map<std::string, std::int64_t> no_dims;
  module.def("load", load, arg("model"), "A built-in network by name, or a file.");
  module.def("show", show, arg("model"), py::kw_only(), arg("batch") = py::none(),
             arg("seq") = py::none(), arg("dims") = no_dims, arg("dtype") = py::none(),
             arg("inference") = false, "What `strata show --json` writes, as a dict.");
  module.def(
      "predict", predict, arg("model"), py::kw_only(), arg("on") = "h100-sxm", arg("preset") = "",
      arg("set") = std::vector<std::string>(), arg("batch") = py::none(), arg("seq") = py::none(),
      arg("dims") = no_dims, arg("dtype") = py::none(),
      "What `strata predict --json` writes, as a dict. Every flag of the command is a keyword, "
      "with _ for -: capacity='128MiB', micro_batches=4.");
  module.def("measure", measure, arg("model"), py::kw_only(), arg("device") = "cpu",
             arg("on") = py::none(), arg("iterations") = 10, arg("inference") = false,
             arg("batch") = py::none(), arg("seq") = py::none(), arg("dims") = no_dims,
             arg("dtype") = py::none(),
             "What `strata measure --json` writes, as a dict: the network is trained on the "
             "device (cpu, cuda, cuda:N) and every layer timed; `on` names a machine whose peaks "
             "it is held against.");
  module.def("save_html", save_html, arg("result"), arg("path"), py::kw_only(),
             arg("title") = "Strata", arg("on") = py::none(),
             "Writes the report page of what show, predict or measure returned; `on` names the "
             "machine whose roofs it lies under, else its own.");
  module.def("rows", rows, arg("result"),
             "The rows of what show, predict or measure returned: a list of dicts, one per layer "
             "(and pass).");
}
