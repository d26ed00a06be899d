// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/answers_sensitivity.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

std::int64_t grown(std::int64_t amount, double more) {
  const auto added = static_cast<std::int64_t>(std::floor(static_cast<double>(amount) * more));
  return checked_add(amount, std::max<std::int64_t>(1, added));
}

}  // namespace

SensitivityAnswer sensitivity_at(const OperatingPoint& point, const PredictPoint& predict,
                                 double more) {
  SensitivityAnswer answer{.point = point, .speed = predict(point), .resources = {}};
  const auto add = [&](std::string_view resource, double from, double to,
                       const OperatingPoint& changed) {
    Sensitivity row{.resource = resource, .from = from, .to = to, .speed = {}, .error = {}};
    try {
      row.speed = predict(changed);
      row.gained = row.speed.samples_per_s / answer.speed.samples_per_s - 1;
      row.returns = row.gained / (to / from - 1);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      row.error = error.what();
    }
    answer.resources.push_back(std::move(row));
  };

  const Hardware& now = point.hardware;
  OperatingPoint capacity = point;
  capacity.hardware.capacity_bytes = grown(now.capacity_bytes, more);
  add("capacity", static_cast<double>(now.capacity_bytes),
      static_cast<double>(capacity.hardware.capacity_bytes), capacity);
  OperatingPoint bandwidth = point;
  bandwidth.hardware.bytes_per_s *= 1 + more;
  add("bandwidth", now.bytes_per_s, bandwidth.hardware.bytes_per_s, bandwidth);
  OperatingPoint throughput = point;
  throughput.hardware.dense_flop_per_s *= 1 + more;
  throughput.hardware.other_flop_per_s *= 1 + more;
  add("throughput", now.dense_flop_per_s, throughput.hardware.dense_flop_per_s, throughput);
  if (point.batch > 0) {
    OperatingPoint batch = point;
    batch.batch = grown(point.batch, more);
    add("batch", static_cast<double>(point.batch), static_cast<double>(batch.batch), batch);
  }
  return answer;
}

}  // namespace strata
