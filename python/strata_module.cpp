// SPDX-License-Identifier: Apache-2.0
// The Python module `strata`: load, show, predict, rows. It has no logic of its own: words mean
// what they mean on the command line, and what comes back is the documented JSON as plain dicts and
// lists.
#include "strata/strata.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace py = pybind11;

namespace {

struct Model {
  std::shared_ptr<const strata::Graph> graph;
};

Model load(const std::string& model) {
  return {std::make_shared<const strata::Graph>(strata::load_model(model))};
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
  strata::Machine machine = strata::load_machine(on);
  for (const std::string& assignment : set) strata::set_field(machine, assignment);
  strata::PredictRequest request = strata::request_of_preset(preset);
  request.sizes = sizes_of(batch, seq, dims, dtype);
  for (const auto& [name, value] : options) {
    std::string flag = py::str(name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    strata::set_option(request, flag, option_text(value));
  }
  return parsed(to_json(strata::predict_model(*loaded.graph, machine, request).summary,
                        {.command = "strata.predict"}));
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
  module.def(
      "rows", rows, arg("result"),
      "The rows of what show or predict returned: a list of dicts, one per layer (and pass).");
}
