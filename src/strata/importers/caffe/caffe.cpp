// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/caffe/caffe.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/caffe/layers.hpp"
#include "strata/importers/caffe/sources.hpp"
#include "strata/importers/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

using caffe::Layer;
using caffe::Net;
using caffe::Source;

/// Runs `act`; errors get the layer's name and line.
template <class Act>
auto at(const Layer& layer, const Act& act) {
  try {
    return act();
  } catch (Error& error) {
    error.add_context(layer.place());
    throw;
  }
}

std::vector<Source> all_sources(const caffe::Document& document, const std::vector<Layer>& layers) {
  std::vector<Source> sources = document.inputs;
  for (const Layer& layer : layers) {
    if (!is_source(layer)) continue;
    for (Source& source : at(layer, [&] { return sources_of(layer); })) {
      sources.push_back(std::move(source));
    }
  }
  return sources;
}

void note_frozen(const std::vector<Layer>& layers, Net& net) {
  for (const Layer& layer : layers) {
    // The statistics of a BatchNorm are never learnt; their rate says nothing.
    if (!layer.is_frozen || layer.kind == "batchnorm") continue;
    net.note(WarningCode::part_ignored, layer,
             "a learning rate of 0 freezes weights; Strata trains them as well");
  }
}

Graph assembled(const caffe::Document& document, std::string name, const ImportOptions& options) {
  caffe::Phase phase = caffe::Phase::train;
  const std::vector<Layer> layers = caffe::layers_in_phase(document, phase);
  Net net(std::move(name), layers, options);
  if (phase == caffe::Phase::test) {
    net.note(WarningCode::value_assumed, "complete in phase TEST only, and read in that phase");
  }
  net.add_sources(all_sources(document, layers), options);
  if (options.fuse) join_scales(layers, net);
  for (const Layer& layer : layers) {
    if (is_source(layer)) continue;
    const caffe::AddLayer add = caffe::find_layer(layer.kind);
    at(layer, [&] { add == nullptr ? add_unknown(layer, net) : add(layer, net); });
  }
  if (net.builder().graph().nodes.empty()) {
    fail(ErrorKind::input, "the network has no layers that compute anything");
  }
  note_frozen(layers, net);
  return std::move(net).finish();
}

}  // namespace

Graph read_caffe_text(std::string_view text, std::string_view file_name,
                      const ImportOptions& options) {
  const std::filesystem::path path(file_name);
  try {
    const caffe::Message root = caffe::parse_text_format(text);
    const caffe::Document document = caffe::read_document(root);
    Graph graph = assembled(document, path.stem().string(), options);
    graph.title = document.name.empty() ? graph.name : document.name;
    graph.source = fmt::format("Caffe file {}", path.filename().string());
    return graph;
  } catch (Error& error) {
    error.add_context(file_name);
    throw;
  }
}

Graph read_caffe(const std::filesystem::path& path, const ImportOptions& options) {
  return read_caffe_text(read_text_file(path, caffe::most_bytes), path.string(), options);
}

}  // namespace strata
