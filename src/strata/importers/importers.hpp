// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/importers/import_options.hpp"

#include <filesystem>
#include <span>
#include <string_view>

/// A file becomes a Graph. Which format it has is seen from its content, because names lie; the
/// name decides only where the content leaves it open. Every error names the file.
///
/// To add a format: a folder importers/<format>/ with a function from a path to a Graph, and a row
/// in importers.cpp.
namespace strata {

/// The first bytes of a file and how its name ends: what a format is recognised by.
struct FileHead {
  std::string_view bytes;
  std::string_view extension;  ///< lower case, with the dot
};

struct Format {
  std::string_view name;
  std::string_view description;
  std::span<const std::string_view> extensions;
  bool (*looks_like)(const FileHead& head);
  Graph (*read)(const std::filesystem::path& path, const ImportOptions& options);
  bool may_lack_batch_norm = false;  ///< files may be exports that folded it away
};

/// The formats that Strata reads.
std::span<const Format> formats();

/// Whether the file, or a folder's config.json, begins like one of them. False where there is none.
bool is_model_file(const std::filesystem::path& file_or_folder);

/// Reads a network from a file of any of these formats, or from a folder's config.json. Errors:
/// input when there is no such file or nothing in it is a network, unsupported when its reader does
/// not do what it asks for, environment when this build lacks the library that reads it, usage when
/// an option makes no sense for the format: normalisation put back where files always say it,
/// shapes where they are stated.
Graph import_model(const std::filesystem::path& file_or_folder, const ImportOptions& options = {});

}  // namespace strata
