// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/container.hpp"

namespace strata::keras {

std::string hdf5_model_config(const std::filesystem::path&) {
  fail(ErrorKind::environment,
       "this build of Strata reads no HDF5 files; build it with the HDF5 library "
       "(STRATA_WITH_HDF5=ON), "
       "or save the architecture with model.to_json()");
}

}  // namespace strata::keras
