// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

/// What Keras files are packed in. Each has a reader in a file of its own and one that refuses, for
/// a build without the library; CMake chooses (STRATA_WITH_HDF5, STRATA_WITH_ZIP).
namespace strata::keras {

/// The attribute model_config of an HDF5 file. Errors: input when the library cannot read the file
/// (it runs in a child process: a crash, too much memory or time are such errors), unsupported when
/// the file holds weights only, environment when this build has no HDF5.
std::string hdf5_model_config(const std::filesystem::path& path);

/// One file of a zip archive, of at most most_bytes. Errors likewise.
std::string zip_member(const std::filesystem::path& path, std::string_view name);

/// The first file of a zip archive whose name is one of `endings`, or ends so behind a '/':
/// archives of PyTorch have all in a folder. Errors likewise.
std::string zip_member_ending(const std::filesystem::path& path,
                              std::span<const std::string_view> endings);

}  // namespace strata::keras
