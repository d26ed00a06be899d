// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/grid.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <utility>

namespace strata {

Grid::Grid(std::vector<Axis> axes) : axes_(std::move(axes)), stride_(axes_.size()) {
  for (std::size_t at = axes_.size(); at-- > 0;) {
    stride_[at] = size_;
    if (__builtin_mul_overflow(size_, axes_[at].size(), &size_) || size_ > most_points) {
      std::vector<std::string> sizes;
      for (const Axis& axis : axes_)
        sizes.push_back(fmt::format("{} {}", format_exact(axis.size()), axis.name()));
      fail(ErrorKind::usage, "{} make more than {} points", fmt::join(sizes, " × "),
           format_exact(most_points));
    }
  }
}

}  // namespace strata
