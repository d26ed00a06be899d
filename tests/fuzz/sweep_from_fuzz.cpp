// SPDX-License-Identifier: Apache-2.0
// Any file as points of a sweep (CSV, JSON lines, SQLite), with every question that is asked of
// them; the readers alone are tried in sweep_results_fuzz.cpp.
#include "tests/fuzz/any_command.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using strata::fuzz::path_of, strata::fuzz::try_command, strata::fuzz::try_forms;
  const std::string file = strata::fuzz::input_file(data, size);
  if (!try_command({"sweep", "--from", file})) return 0;
  const std::vector<std::vector<std::string>> questions = {
      {"--where", "time_s>0", "--column", "cost=time_s*2"},
      {"--pareto", "time,capacity"},
      {"--knee", "capacity", "--knee", "batch"},
      {"--best-under", "capacity<2MB"},
      {"--require-fit"}};
  for (const std::vector<std::string>& question : questions) {
    std::vector<std::string> words = {"sweep", "--from", file};
    words.insert(words.end(), question.begin(), question.end());
    try_forms(words, {"--json"});
  }
  try_command({"sweep", "--from", file, "--html", path_of("page.html")});
  try_command({"sweep", "--from", file, "--plot", path_of("plot.svg")});
  return 0;
}
