// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cuda/efficiencies.cuh"

#include "strata/base/error.hpp"
#include "strata/convolution/lab/efficiency.hpp"

namespace strata::cuda {
namespace {

/// A range for each role. The stream is empty where one ends, so that its kernels are all its own.
class RangesByRole final : public RoleMarks {
 public:
  RangesByRole(RangeMarks& ranges, cudaStream_t stream) : ranges_(ranges), stream_(stream) {}
  void begin(KernelRole role) override {
    end();
    roles.push_back(role);
    ranges_.push(name_of(role));
    is_open_ = true;
  }
  void end() {
    STRATA_CUDA_CALL(cudaStreamSynchronize(stream_));
    if (is_open_) ranges_.pop();
    is_open_ = false;
  }
  std::vector<KernelRole> roles;

 private:
  RangeMarks& ranges_;
  cudaStream_t stream_;
  bool is_open_ = false;
};

}  // namespace

void EfficiencyCounter::open() {
  if (counters_ != nullptr || !problem_.empty()) return;
  try {
    counters_ = open_range_counters(device_);
    plan_ = counters_->plan("efficiency");
  } catch (const Error& error) {
    counters_.reset();
    problem_ = error.what();
  }
}

ConvEfficiencies EfficiencyCounter::of(PreparedConvolution& prepared, const ConvTensors& tensors) {
  open();
  if (counters_ == nullptr) return {{}, problem_};
  try {
    std::vector<KernelRole> roles;
    const CounterTable table = counters_->count(plan_, [&](RangeMarks& ranges) {
      RangesByRole marks(ranges, stream_);
      prepared.run(tensors, marks);
      marks.end();
      roles = marks.roles;
    });
    return {efficiencies_by_role(table, roles), table.ranges.empty() ? "it has no kernels" : ""};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return {{}, error.what()};
  }
}

}  // namespace strata::cuda
