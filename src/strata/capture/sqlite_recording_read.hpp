// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/sqlite_database.hpp"
#include "strata/capture/recording.hpp"

#include <vector>

namespace strata {

/// What is in a database of Strata's own, in one of Nsight Systems, and in one of nvprof;
/// read_recording_database knows which it is.
std::vector<Recording> read_own_database(const Database& database);
std::vector<Recording> read_nsight_systems(const Database& database);
std::vector<Recording> read_nvprof(const Database& database);

bool is_own_database(const Database& database);
bool is_nsight_systems(const Database& database);
bool is_nvprof(const Database& database);

}  // namespace strata
