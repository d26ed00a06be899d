// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/huggingface/huggingface.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/importers/huggingface/families.hpp"
#include "strata/importers/keras/document.hpp"
#include "strata/importers/text_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace strata {
namespace {

struct HuggingFaceFamily {
  std::string_view type;  ///< as "model_type" says it
  Graph (*build)(const huggingface::ModelConfig& config);
};

constexpr std::array<HuggingFaceFamily, 13> huggingface_families = {{
    {"bert", huggingface::build_bert},
    {"roberta", huggingface::build_bert},
    {"xlm-roberta", huggingface::build_bert},
    {"distilbert", huggingface::build_distilbert},
    {"gpt2", huggingface::build_gpt2},
    {"opt", huggingface::build_opt},
    {"llama", huggingface::build_llama},
    {"mistral", huggingface::build_llama},
    {"mixtral", huggingface::build_llama},
    {"qwen2", huggingface::build_llama},
    {"gemma", huggingface::build_llama},
    {"t5", huggingface::build_t5},
    {"vit", huggingface::build_vit},
}};

const HuggingFaceFamily& family_of(const huggingface::ModelConfig& config) {
  const auto found =
      std::find_if(huggingface_families.begin(), huggingface_families.end(),
                   [&](const HuggingFaceFamily& family) { return family.type == config.type(); });
  if (found != huggingface_families.end()) return *found;
  std::vector<std::string_view> known;
  for (const HuggingFaceFamily& family : huggingface_families) known.push_back(family.type);
  fail(ErrorKind::unsupported,
       "model_type '{}' is not known; known are {}; others: export the model to ONNX",
       printable(config.type()), fmt::join(known, ", "));
}

// A config.json lies in the folder of its model: that is what people call it.
std::string model_name(const std::filesystem::path& path) {
  if (path.stem() != "config") return path.stem().string();
  const std::string folder = std::filesystem::absolute(path).parent_path().filename().string();
  return folder.empty() ? "config" : folder;
}

}  // namespace

Graph read_huggingface(const std::filesystem::path& path, const ImportOptions& options) {
  Graph graph =
      read_huggingface_text(read_text_file(path, keras::most_bytes), path.string(), options);
  graph.name = model_name(path);
  return graph;
}

Graph read_huggingface_text(std::string_view text, std::string_view file_name,
                            const ImportOptions& options) {
  if (!options.input_shapes.empty()) {
    fail(ErrorKind::usage,
         "{}: the sizes of a config.json are its own; --input is for other formats (--batch and "
         "--seq choose what is open)",
         file_name);
  }
  try {
    const keras::Json document = keras::parse_json(text);
    if (!document.is_object()) fail(ErrorKind::input, "expected an object of keys");
    Notes notes(options.strict);
    const huggingface::ModelConfig config(document, notes);
    Graph graph = family_of(config).build(config);
    graph.source = fmt::format(
        "{}, as transformers' {}", std::filesystem::path(file_name).filename().string(),
        config.architecture().empty() ? config.type() : printable(config.architecture()));
    graph.warnings = notes.warnings();
    return graph;
  } catch (Error& error) {
    error.add_context(file_name);
    throw;
  }
}

}  // namespace strata
