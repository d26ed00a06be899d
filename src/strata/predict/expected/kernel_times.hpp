// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/operations.hpp"
#include "strata/machine/calibration.hpp"
#include "strata/predict/expected/kernel_forms.hpp"

#include <array>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace strata {

/// What one operation takes.
struct KernelTime {
  double busy_s = 0;
  double kernels_s = 0;       ///< all its kernels added up
  double kernels = 1;         ///< how many there are
  double sigma = 0;           ///< of log(busy_s)
  double scratch_bytes = 0;   ///< of memory that the library takes meanwhile
  bool is_calibrated = true;  ///< false: no sample of this class was measured

  /// What an operation has of it; it may know itself how many kernels it launches.
  KernelTime part_of(const FrameworkOperation& operation) const {
    KernelTime one = *this;
    one.busy_s *= operation.share;
    one.kernels_s *= operation.share;
    one.kernels = operation.kernels > 0 ? operation.kernels : kernels * operation.share;
    return one;
  }
};

/// What the samples near some dimensions say of a kernel there. It is the same on every GPU.
struct NearbySamples {
  double correction = 1;  ///< of the form's time
  double kernels = 1;     ///< of the nearest sample: how many there are
  double overlap = 0;     ///< kernels_s over busy_s
  double scratch = 0;     ///< of most of them: bytes of scratch memory per byte of images
  double distance = 0;    ///< of the nearest sample, in natural logarithms of the dimensions
};

/// The fitted form of one class in one precision, corrected by what it misses at the samples
/// nearby: libraries choose among dozens of kernels, and no formula knows where they switch.
class ClassTimes {
 public:
  /// Kernels in `precision`; their samples may be in another one, which the calibrated class names.
  /// Errors (input) name the class whose coefficients or samples are not those of its form.
  ClassTimes(OperationClass kernel_class, DType precision, const CalibratedClass& calibrated,
             const GpuRates& measured_on);

  KernelTime time(const KernelDims& dims, const GpuRates& gpu) const {
    return time(dims, gpu, no_sample);
  }
  static constexpr std::size_t no_sample = ~std::size_t{0};
  /// As if that sample had not been measured: what it predicts of it.
  KernelTime time(const KernelDims& dims, const GpuRates& gpu, std::size_t left_out) const {
    return time(dims, gpu, nearby(dims, left_out));
  }
  /// In two steps, for several GPUs: most of the time goes into the first.
  NearbySamples nearby(const KernelDims& dims, std::size_t left_out = no_sample) const;
  KernelTime time(const KernelDims& dims, const GpuRates& gpu, const NearbySamples& nearby) const;

 private:
  /// Logarithms of the dimensions, and the alignment of products.
  using Place = std::array<double, most_kernel_dims>;
  Place place_of(const KernelDims& dims) const;
  /// The form's time; of a product whose rows do not begin at whole vectors, by what SMs issue.
  double fitted_s(const KernelDims& dims, const GpuRates& gpu) const;
  /// At the peak and the bandwidth of a GPU; 0 where the form carries over as it is.
  double least_s(const KernelDims& dims, const GpuRates& gpu, DType precision,
                 double kernels) const;
  /// What a convolution reads and writes but for its weights; 0 of other forms.
  double image_bytes(const KernelDims& dims, DType precision) const;
  /// On another GPU, of a kernel whose own limits keep it from the peak where it was measured.
  double by_resources_s(double measured_s, double least_there_s, const KernelDims& dims,
                        const GpuRates& gpu, double kernels) const;

  struct Point {
    Place place;
    double residual;  ///< log of measured over fitted
    double kernels, overlap, scratch;
  };
  OperationClass kernel_class_;
  KernelForm form_;
  ProductPass pass_;
  DType precision_;
  std::size_t dims_ = 0;
  std::vector<double> coefficients_;
  double sigma_ = 0;
  double narrower_ = 1;        // bytes of a number in the samples over those in the precision
  double flop_per_issue_ = 0;  // of the GPU that was measured, in the precision of the samples
  GpuRates measured_on_;
  DType sampled_;
  bool takes_scratch_ = false;
  std::vector<Point> points_;
};

/// What of the samples concerns one operation, whatever the GPU that is asked about.
struct NearbyKernels {
  const ClassTimes* times = nullptr;  ///< null: no sample was measured
  NearbySamples samples;
  double factor = 1;  ///< of the time that is carried over, by what is known of the GPU
  /// Samples of the GPU itself, and how far they are believed: not at all far away from them.
  const ClassTimes* own = nullptr;
  NearbySamples own_samples;
  double own_weight = 0;
};

/// Every class of a calibration, on a GPU: the one it was measured on, or another one to which the
/// fits are transferred. A class in fp16 without samples of its own takes those in bf16, at the
/// fp16 peak of the GPU: Volta and Turing have matrix units for fp16 alone.
class KernelTimes {
 public:
  /// `fp16_as_fp32`: classes that take samples in fp32 there, with half the bytes.
  KernelTimes(const Calibration& calibration, const GpuRates& measured_on, const GpuRates& gpu,
              std::span<const OperationClass> fp16_as_fp32 = {});
  /// The same with what is known of another machine: its own samples stand before those that are
  /// carried over, classes of the same kind are corrected by them, and everything by what
  /// iterations of whole networks in the framework say.
  KernelTimes corrected_by(const Calibration& transfer, const GpuRates& measured_on,
                           const Framework& framework) const;

  KernelTime time(const FrameworkOperation& operation, RunKind run = {}) const {
    return time(operation, nearby(operation, run));
  }
  /// In two steps, for several GPUs. Valid as long as this or another one that shares its classes.
  NearbyKernels nearby(const FrameworkOperation& operation, RunKind run) const;
  KernelTime time(const FrameworkOperation& operation, const NearbyKernels& nearby) const;
  const GpuRates& gpu() const { return gpu_; }
  /// Whose corrections these are: the same on every GPU that on() makes of them; null: nobody's.
  const void* corrections() const { return own_.get(); }

  /// The same calibration on another GPU; both share the classes.
  KernelTimes on(const GpuRates& gpu) const;

 private:
  using Classes = std::unordered_map<std::uint32_t, ClassTimes>;
  /// What is known of a machine beside what is carried over to it.
  struct Own {
    Classes classes;
    GpuRates rates;
    std::array<std::vector<double>, run_kinds> factors;  // by OperationClass; empty: all are 1
  };
  const ClassTimes* carried(OperationClass kernel_class, DType precision) const;
  double factor_by_own(const FrameworkOperation& operation) const;
  void add_own(const FrameworkOperation& operation, NearbyKernels& nearby) const;

  GpuRates gpu_;
  std::shared_ptr<const Classes> classes_;
  std::shared_ptr<const Own> own_;  // null: nothing
};

}  // namespace strata
