// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

/// Recordings in SQLite files: Strata's own, read and written (docs/formats/capture.md has the
/// tables), and those that `nsys export --type sqlite` and `nvprof -o` write, read. A build without
/// SQLite refuses with a reason (environment).
namespace strata {

/// Of Strata's own files; a newer one is refused by older programs.
inline constexpr std::int64_t capture_schema_version = 1;

/// One file with one or more processes. What is at `path` is replaced, in one step at the end.
/// Errors (environment): it cannot be written.
void write_recordings(const std::filesystem::path& path, std::span<const Recording> recordings);

/// The processes in a file of any of these kinds, as they are in it; rows by start. Errors (input)
/// name the table and what is wrong, or say that the database is of something else.
std::vector<Recording> read_recording_database(const std::filesystem::path& path);
/// Of a file that is in memory.
std::vector<Recording> read_recording_database(std::string_view bytes);

/// Whether the file is a database with a recording in it. False where it cannot be opened, and in
/// a build without SQLite.
bool is_recording_database(const std::filesystem::path& path);

}  // namespace strata
