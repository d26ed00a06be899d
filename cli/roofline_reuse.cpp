// SPDX-License-Identifier: Apache-2.0
#include "cli/roofline_reuse.hpp"

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/predict_flags.hpp"
#include "cli/profile_argument.hpp"
#include "strata/base/error.hpp"
#include "strata/report/reuse_roofline.hpp"
#include "strata/strata.hpp"

#include <string>

namespace strata {
namespace {

ReuseRoofline made_of(const Arguments& given, const Machine& machine) {
  const std::string& word = given.words().front();
  if (stored_profile(word))
    fail(ErrorKind::usage, "--reuse is about a model, and {} is a profile", word);
  const PredictRequest request = quick_request(given);
  const Graph graph = load_model(word, import_options(given));
  const BoundGraph bound = bind_request(graph, request);
  const Program program = make_program(bound, request.training);
  const DType dtype = main_dtype(bound);
  ReuseRoofline roofline = reuse_roofline(program, hardware_for(machine, dtype, request));
  roofline.network = graph.name;
  roofline.title = graph.title;
  roofline.dtype = name_of(dtype);
  roofline.machine = machine.name;
  roofline.machine_title = machine.title;
  return roofline;
}

}  // namespace

int run_reuse_roofline(const Request& request, const Flag& on, std::size_t top,
                       const ReuseOutputs& outputs) {
  const Arguments& given = request.arguments;
  if (given.words().size() != 1) fail(ErrorKind::usage, "--reuse is about one model at a time");
  const ReuseRoofline roofline = made_of(given, machine_for(asked_roofs(given, on), ""));
  if (const auto file = given.value(outputs.plot)) {
    write_picture(std::string(*file), chart::to_svg(to_chart(roofline)), given.has(outputs.png));
  }
  OutputFiles files(given);
  files.write(outputs.json, [&] { return to_json(roofline, {.command = request.command_line}); });
  files.write(outputs.csv, [&] { return to_csv(roofline); });
  if (!files.took_stdout() && given.value(outputs.plot) != "-")
    print(to_text(roofline, top, request.style));
  return exit_code::done;
}

}  // namespace strata
