// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/read_recording.hpp"

#include "strata/base/byte_source.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/capture/chrome/chrome_json.hpp"
#include "strata/capture/log_reader.hpp"
#include "strata/capture/ncu_csv.hpp"
#include "strata/capture/nvprof_csv.hpp"
#include "strata/capture/recording_sqlite.hpp"

#include <array>
#include <optional>
#include <string>

namespace strata {
namespace {

enum class FileKind : std::uint8_t { none, chrome_json, ncu_csv, nvprof_csv, database, log };

/// Enough for the properties of the devices, which Kineto writes before the events.
constexpr std::size_t beginning_bytes = std::size_t{64} << 10;

std::string beginning_of_file(const std::filesystem::path& path) {
  const auto source = plain_source(file_source(path));
  std::string text(beginning_bytes, '\0');
  std::size_t count = 0;
  while (count < text.size()) {
    const std::size_t more = source->read(std::span(text).subspan(count));
    if (more == 0) break;
    count += more;
  }
  text.resize(count);
  return text;
}

bool looks_like_chrome_json(std::string_view text) {
  const std::string_view body = trimmed(text);
  const auto has = [&](std::string_view part) { return body.find(part) != body.npos; };
  if (body.starts_with('[')) return has("\"ph\"");
  return body.starts_with('{') && (has("\"traceEvents\"") || has("\"deviceProperties\""));
}

FileKind kind_of_file(const std::filesystem::path& path) {
  const std::string text = beginning_of_file(path);
  if (text.starts_with(std::string_view("SQLite format 3\0", 16))) return FileKind::database;
  if (is_capture_log(text)) return FileKind::log;
  if (looks_like_chrome_json(text)) return FileKind::chrome_json;
  if (looks_like_ncu_csv(text)) return FileKind::ncu_csv;
  if (looks_like_nvprof_csv(text)) return FileKind::nvprof_csv;
  return FileKind::none;
}

std::vector<Recording> one(Recording recording) {
  std::vector<Recording> recordings;
  recordings.push_back(std::move(recording));
  return recordings;
}

std::vector<Recording> read_kind(const std::filesystem::path& path, FileKind kind) {
  switch (kind) {
    case FileKind::database: return read_recording_database(path);
    case FileKind::log: return one(read_capture_log(path).recording);
    case FileKind::chrome_json: return one(read_chrome_json(*plain_source(file_source(path))));
    case FileKind::ncu_csv: return one(read_ncu_csv(*plain_source(file_source(path))));
    case FileKind::nvprof_csv: return one(read_nvprof_csv(*plain_source(file_source(path))));
    case FileKind::none: break;
  }
  fail(ErrorKind::input,
       "no recording: neither a trace of the PyTorch profiler (JSON), nor a table of Nsight "
       "Compute (ncu --csv --page raw) or nvprof (nvprof --csv --print-gpu-trace), nor a database "
       "of Nsight Systems, nvprof or strata capture");
}

}  // namespace

bool is_recording(const std::filesystem::path& path) {
  try {
    const FileKind kind = kind_of_file(path);
    return kind == FileKind::database ? is_recording_database(path) : kind != FileKind::none;
  } catch (const Error&) {
    return false;
  }
}

std::vector<Recording> read_recordings(const std::filesystem::path& path) {
  try {
    return read_kind(path, kind_of_file(path));
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
}

}  // namespace strata
