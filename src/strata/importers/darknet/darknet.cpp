// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/darknet/darknet.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/darknet/config.hpp"
#include "strata/importers/darknet/sections.hpp"
#include "strata/importers/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace strata {
namespace {

using darknet::Assembly;
using darknet::Made;
using darknet::Section;

// A section that darknet does not know: all we can know is what goes in.
Made make_unknown(const Section& section, Assembly& net) {
  net.note(WarningCode::operator_not_counted,
           fmt::format("section [{}] is unknown: it is not counted, and its output is taken to "
                       "have the shape of its input",
                       section.kind));
  const TensorId x = net.previous();
  const Opaque op{fmt::format("darknet.{}", section.kind), {net.type(x).shape}};
  return {net.builder().add(net.numbered(section.kind), op, {x})};
}

Made made_of(const Section& section, Assembly& net) {
  try {
    if (net.builder().graph().tensors.size() > darknet::most_tensors) {
      fail(ErrorKind::input, "the network has more than {} tensors", darknet::most_tensors);
    }
    const darknet::MakeSection make = darknet::find_section(section.kind);
    return make == nullptr ? make_unknown(section, net) : make(section, net);
  } catch (Error& error) {
    error.add_context(
        fmt::format("section {} [{}] (line {})", net.index(), section.kind, section.line));
    throw;
  }
}

Graph assembled(std::span<const Section> sections, std::string name, const ImportOptions& options) {
  if (sections.empty()) fail(ErrorKind::input, "expected the section [net], got nothing");
  const Section& net = sections.front();
  const auto layers = sections.subspan(1);
  if (net.kind != "net" && net.kind != "network") {
    fail(ErrorKind::input, "line {}: expected the section [net] first, got [{}]", net.line,
         net.kind);
  }
  if (layers.empty()) {
    fail(ErrorKind::input, "line {}: expected layers after [{}], got none", net.line, net.kind);
  }
  const bool is_recurrent = std::any_of(layers.begin(), layers.end(), [](const Section& section) {
    return darknet::is_recurrent(section.kind);
  });
  Assembly assembly(net, is_recurrent, std::move(name), options);
  for (const Section& section : layers) assembly.section_made(made_of(section, assembly));
  return std::move(assembly).finish();
}

}  // namespace

Graph read_darknet_text(std::string_view text, std::string_view file_name,
                        const ImportOptions& options) {
  const std::filesystem::path path(file_name);
  try {
    const std::vector<Section> sections = darknet::parse_config(text);
    Graph graph = assembled(sections, path.stem().string(), options);
    graph.title = graph.name;
    graph.source = fmt::format("darknet file {}", path.filename().string());
    return graph;
  } catch (Error& error) {
    error.add_context(file_name);
    throw;
  }
}

Graph read_darknet(const std::filesystem::path& path, const ImportOptions& options) {
  return read_darknet_text(read_text_file(path, darknet::most_bytes), path.string(), options);
}

}  // namespace strata
