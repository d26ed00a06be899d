// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/tap_plan.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The first of `count` positions start, start + step, … that is not below zero, and the first
/// that is not below `size`.
struct Inside {
  std::int64_t begin;
  std::int64_t end;
};
Inside positions_inside(std::int64_t start, std::int64_t step, std::int64_t size,
                        std::int64_t count) {
  const std::int64_t begin = start >= 0 ? 0 : divide_up(-start, step);
  const std::int64_t end = start >= size ? 0 : divide_up(size - start, step);
  return {std::min(begin, count), std::clamp(end, std::min(begin, count), count)};
}

/// One axis of an input gradient: those result positions with remainder `remainder`.
struct AxisPhase {
  std::int64_t first = 0;  ///< result position
  std::int64_t frame = 0;  ///< its place in the frame
  std::int64_t count = 0;
};
AxisPhase axis_phase(std::int64_t remainder, std::int64_t stride, std::int64_t pad,
                     std::int64_t size) {
  AxisPhase phase;
  phase.frame = pad > remainder ? divide_up(pad - remainder, stride) : 0;
  phase.first = phase.frame * stride + remainder - pad;
  phase.count = phase.first >= size ? 0 : divide_up(size - phase.first, stride);
  return phase;
}

}  // namespace

TapPlan forward_taps(const ConvShape& s) {
  TapPlan plan;
  plan.source_step_y = s.stride_height;
  plan.source_step_x = s.stride_width;
  plan.plane_height =
      s.output_height() + (s.kernel_height - 1) * s.dilation_height / s.stride_height;
  plan.plane_width = s.output_width() + (s.kernel_width - 1) * s.dilation_width / s.stride_width;
  TapPhase phase{.rows = s.output_height(), .columns = s.output_width()};
  for (std::int64_t ky = 0; ky < s.kernel_height; ++ky) {
    for (std::int64_t kx = 0; kx < s.kernel_width; ++kx) {
      const std::int64_t y = ky * s.dilation_height;
      const std::int64_t x = kx * s.dilation_width;
      const PlaneStart start{y % s.stride_height - s.pad_height, x % s.stride_width - s.pad_width};
      const auto same = [&](const PlaneStart& p) { return p.y == start.y && p.x == start.x; };
      auto plane = std::find_if(plan.planes.begin(), plan.planes.end(), same);
      if (plane == plan.planes.end()) plane = plan.planes.insert(plane, start);
      phase.taps.push_back({(plane - plan.planes.begin()) * plan.plane_floats() +
                                y / s.stride_height * plan.plane_width + x / s.stride_width,
                            ky, kx});
    }
  }
  plan.phases.push_back(std::move(phase));
  return plan;
}

TapPlan input_gradient_taps(const ConvShape& s) {
  // With input position i and remainder r of i + pad by the stride, i + pad = f·stride + r:
  // kernel position k belongs to it when k·dilation leaves the same remainder, and then meets the
  // output position f − k·dilation div stride.
  TapPlan plan;
  plan.result_step_y = s.stride_height;
  plan.result_step_x = s.stride_width;
  const std::int64_t reach_y = (s.kernel_height - 1) * s.dilation_height / s.stride_height;
  const std::int64_t reach_x = (s.kernel_width - 1) * s.dilation_width / s.stride_width;
  plan.planes.push_back({-reach_y, -reach_x});
  plan.plane_height = (s.height - 1 + s.pad_height) / s.stride_height + 1 + reach_y;
  plan.plane_width = (s.width - 1 + s.pad_width) / s.stride_width + 1 + reach_x;
  for (std::int64_t ry = 0; ry < s.stride_height; ++ry) {
    for (std::int64_t rx = 0; rx < s.stride_width; ++rx) {
      const AxisPhase y = axis_phase(ry, s.stride_height, s.pad_height, s.height);
      const AxisPhase x = axis_phase(rx, s.stride_width, s.pad_width, s.width);
      if (y.count <= 0 || x.count <= 0) continue;
      TapPhase phase{.rows = y.count, .columns = x.count, .first_y = y.first, .first_x = x.first};
      for (std::int64_t ky = 0; ky < s.kernel_height; ++ky) {
        for (std::int64_t kx = 0; kx < s.kernel_width; ++kx) {
          const std::int64_t down = ky * s.dilation_height;
          const std::int64_t right = kx * s.dilation_width;
          if (down % s.stride_height != ry || right % s.stride_width != rx) continue;
          phase.taps.push_back({(y.frame + reach_y - down / s.stride_height) * plan.plane_width +
                                    x.frame + reach_x - right / s.stride_width,
                                ky, kx});
        }
      }
      plan.phases.push_back(std::move(phase));
    }
  }
  return plan;
}

void fill_planes(const TapPlan& plan, const float* source, std::int64_t height, std::int64_t width,
                 float* planes) {
  for (const PlaneStart& start : plan.planes) {
    const Inside in_y = positions_inside(start.y, plan.source_step_y, height, plan.plane_height);
    const Inside in_x = positions_inside(start.x, plan.source_step_x, width, plan.plane_width);
    for (std::int64_t y = 0; y < plan.plane_height; ++y, planes += plan.plane_width) {
      if (y < in_y.begin || y >= in_y.end) {
        std::fill_n(planes, plan.plane_width, 0.0F);
        continue;
      }
      const float* const row = source + (start.y + y * plan.source_step_y) * width;
      std::fill_n(planes, in_x.begin, 0.0F);
      if (plan.source_step_x == 1) {
        std::copy(row + start.x + in_x.begin, row + start.x + in_x.end, planes + in_x.begin);
      } else {
        for (std::int64_t x = in_x.begin; x < in_x.end; ++x) {
          planes[x] = row[start.x + x * plan.source_step_x];
        }
      }
      std::fill(planes + in_x.end, planes + plan.plane_width, 0.0F);
    }
  }
}

}  // namespace strata::cpu
