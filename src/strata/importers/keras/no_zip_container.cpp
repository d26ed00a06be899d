// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/container.hpp"

namespace strata::keras {

std::string zip_member(const std::filesystem::path&, std::string_view) {
  fail(ErrorKind::environment,
       "this build of Strata reads no zip archives; build it with libzip (STRATA_WITH_ZIP=ON), or "
       "give the archive's config.json");
}

std::string zip_member_ending(const std::filesystem::path&, std::span<const std::string_view>) {
  fail(ErrorKind::environment,
       "this build of Strata reads no zip archives; build it with libzip (STRATA_WITH_ZIP=ON)");
}

}  // namespace strata::keras
