// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/kernel_times.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/expected/class_groups.hpp"
#include "strata/predict/expected/least_traffic.hpp"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

constexpr double neighbourhood = 0.5;  // in natural logarithms of a dimension
constexpr double form_weight = 0.02;   // how many samples right here the form itself counts as
// Beyond, a sample weighs less than 1e-17, which no sum with form_weight shows.
constexpr double farthest_squares = 2 * neighbourhood * neighbourhood * 40;
constexpr std::size_t window_dim = 5;   // of a convolution
constexpr double reached_peak = 0.8;    // by kernels that nothing else holds up
constexpr double rounding = 4;          // how sharply one resource takes over from another
constexpr double unknown_sigma = 0.69;  // a factor of two
constexpr double other_alignment = 2;   // how far kernels of another alignment are away

std::uint32_t key_of(OperationClass kernel_class, DType precision) {
  return static_cast<std::uint32_t>(kernel_class) * 16 + static_cast<std::uint32_t>(precision);
}

/// Some algorithms take no scratch memory and others many times the images: a mean is neither.
double weighted_median(std::vector<std::pair<double, double>>& values_and_weights) {
  std::sort(values_and_weights.begin(), values_and_weights.end());
  double all = 0, below = 0;
  for (const auto& [value, weight] : values_and_weights) all += weight;
  for (const auto& [value, weight] : values_and_weights) {
    below += weight;
    if (2 * below >= all) return value;
  }
  return 0;
}

/// A calibration may come from a file that a person has written.
void check_class(KernelForm form, const CalibratedClass& one) {
  const std::size_t coefficients = first_coefficients(form).size(), dims = dims_of(form).size();
  if (one.coefficients.size() > coefficients || one.coefficients.size() < fewest_coefficients(form))
    fail(ErrorKind::input, "{}: {} coefficients, expected {}", one.kernel_class,
         one.coefficients.size(), coefficients);
  for (const KernelSample& sample : one.samples) {
    if (sample.dims.size() != dims)
      fail(ErrorKind::input, "{}: a sample has {} dimensions, expected {}", one.kernel_class,
           sample.dims.size(), dims);
  }
}

}  // namespace

ClassTimes::ClassTimes(OperationClass kernel_class, DType precision,
                       const CalibratedClass& calibrated, const GpuRates& measured_on)
    : kernel_class_(kernel_class),
      form_(form_of(kernel_class)),
      pass_(product_pass(kernel_class)),
      precision_(precision),
      dims_(dims_of(form_).size()),
      coefficients_(calibrated.coefficients),
      sigma_(calibrated.sigma),
      measured_on_(measured_on),
      sampled_(dtype_named(calibrated.precision).value_or(precision)) {
  check_class(form_, calibrated);
  const DType sampled = sampled_;
  if (form_ != KernelForm::product && form_ != KernelForm::convolution)  // those count their bytes
    narrower_ = static_cast<double>(bytes_per_element(sampled)) /
                static_cast<double>(bytes_per_element(precision));
  flop_per_issue_ = measured_on.kernel_peak(sampled) / measured_on.issues_per_s;
  for (const KernelSample& sample : calibrated.samples) {
    KernelDims dims{};
    std::copy(sample.dims.begin(), sample.dims.end(), dims.begin());
    Point point{};
    point.place = place_of(dims);
    const double fitted_s = form_time_s(form_, pass_, sampled, coefficients_, dims, measured_on);
    if (!(fitted_s > 0) || !std::isfinite(fitted_s))
      fail(ErrorKind::input, "{}: its coefficients give a time of {} s", calibrated.kernel_class,
           fitted_s);
    point.residual = std::log(sample.busy_s / fitted_s);
    point.kernels = sample.kernels;
    point.overlap = sample.kernels_s / sample.busy_s;
    const double images = image_bytes(dims, sampled);
    point.scratch = images > 0 ? sample.scratch_bytes / images : 0;
    takes_scratch_ |= point.scratch > 0;
    points_.push_back(point);
  }
}

ClassTimes::Place ClassTimes::place_of(const KernelDims& dims) const {
  Place place{};
  for (std::size_t i = 0; i < dims_; ++i) place[i] = std::log(std::max(dims[i], 1.0));
  // Libraries take other kernels where rows do not begin at whole vectors.
  if (form_ == KernelForm::product)
    place[dims_] = other_alignment * misalignment(pass_, precision_, dims);
  return place;
}

NearbySamples ClassTimes::nearby(const KernelDims& dims, std::size_t left_out) const {
  const Place place = place_of(dims);
  double weights = 0, residual = 0, nearest = INFINITY;
  const Point* neighbour = nullptr;
  std::vector<std::pair<double, double>> scratch;  // with the weight of its sample
  for (std::size_t p = 0; p < points_.size(); ++p) {
    if (p == left_out) continue;
    double squares = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const double apart = place[i] - points_[p].place[i];
      squares += apart * apart;
    }
    if (squares < nearest) {
      nearest = squares;
      neighbour = &points_[p];
    }
    const bool is_near = squares <= farthest_squares;
    const double weight = is_near ? std::exp(-squares / (2 * neighbourhood * neighbourhood)) : 0;
    weights += weight;
    residual += weight * points_[p].residual;
    // Far from all samples it is as most of them have it, with a window or without.
    if (takes_scratch_ && (place[window_dim] > 0) == (points_[p].place[window_dim] > 0))
      scratch.emplace_back(points_[p].scratch,
                           weight + form_weight / static_cast<double>(points_.size()));
  }
  NearbySamples found;
  found.correction = std::exp(residual / (weights + form_weight));
  if (neighbour != nullptr) {
    found.kernels = neighbour->kernels;
    found.overlap = neighbour->overlap;
    found.scratch = weighted_median(scratch);
    found.distance = std::sqrt(nearest);
    // A recurrent layer launches its kernels anew in every time step of every layer.
    if (form_ == KernelForm::recurrent)
      found.kernels *= std::exp(place[1] - neighbour->place[1] + place[4] - neighbour->place[4]);
  }
  return found;
}

double ClassTimes::fitted_s(const KernelDims& dims, const GpuRates& gpu) const {
  const int missed = form_ == KernelForm::product ? misalignment(pass_, precision_, dims) : 0;
  if (missed == 0 && narrower_ == 1)
    return form_time_s(form_, pass_, precision_, coefficients_, dims, gpu);
  if (missed == 0) {
    GpuRates narrow = gpu;
    narrow.bytes_per_s *= narrower_;
    return form_time_s(form_, pass_, precision_, coefficients_, dims, narrow);
  }
  const double slower = std::pow(coefficients_.back(), missed);
  GpuRates issuing = gpu;
  double& peak = issuing.kernel_flop_per_s[static_cast<std::size_t>(precision_)];
  peak = std::min(peak * std::max(slower, 1.0), flop_per_issue_ * gpu.issues_per_s);
  return form_time_s(form_, pass_, precision_, coefficients_, dims, issuing);
}

double ClassTimes::image_bytes(const KernelDims& d, DType precision) const {
  if (form_ != KernelForm::convolution && form_ != KernelForm::depthwise) return 0;
  const auto [n, channels, filters, in, out, window, groups] = d;
  return n * (channels * in + filters * out) * static_cast<double>(bytes_per_element(precision));
}

double ClassTimes::least_s(const KernelDims& d, const GpuRates& gpu, DType precision,
                           double kernels) const {
  double streamed_s = least_bytes(kernel_class_, precision, d) / gpu.bytes_per_s;
  const bool is_depthwise = form_ == KernelForm::depthwise;
  if (form_ != KernelForm::convolution && !is_depthwise) return streamed_s;
  // Beside the convolution: images and weights into another order, the result back.
  if (!is_depthwise && bytes_per_element(precision) == 2 && kernels > 3)
    streamed_s += 2 * image_bytes(d, precision) / gpu.bytes_per_s;
  const auto [n, channels, filters, in, out, window, groups] = d;
  const DType type = is_depthwise ? DType::fp32 : precision;
  const bool has_own_units = gpu.peak(type) > gpu.peak(DType::fp32);
  // Convolutions gain nothing where products keep up more of the peak.
  const double peak =
      has_own_units ? std::min(gpu.kernel_peak(type), gpu.peak(type)) : gpu.kernel_peak(type);
  return std::max(streamed_s,
                  2 * n * out * filters * channels / groups * window / (peak * reached_peak));
}

/// What is slower than peak and bandwidth allow is held up by something else: instructions to
/// address pixels, changes of layout in the caches, waits. That grows with the clocks of all SMs,
/// not with the matrix units, of which another GPU may have a fourteenth beside half the clocks.
double ClassTimes::by_resources_s(double measured_s, double least_there_s, const KernelDims& dims,
                                  const GpuRates& gpu, double kernels) const {
  const double least_here_s = least_s(dims, measured_on_, sampled_, kernels);
  if (measured_s <= least_here_s) return least_there_s * measured_s / least_here_s;
  const double fixed_s = std::min(measured_s, coefficients_.front() * 1e-6);  // however small it is
  // Both at once are a little longer than the longer one; so they are taken apart, too.
  const double beside = std::pow(measured_s - fixed_s, rounding) - std::pow(least_here_s, rounding);
  const double issued_s =
      std::pow(std::max(beside, 0.0), 1 / rounding) * measured_on_.issues_per_s / gpu.issues_per_s;
  return fixed_s +
         std::pow(std::pow(least_there_s, rounding) + std::pow(issued_s, rounding), 1 / rounding);
}

KernelTime ClassTimes::time(const KernelDims& dims, const GpuRates& gpu,
                            const NearbySamples& nearby) const {
  KernelTime time;
  const double least = gpu == measured_on_ ? 0 : least_s(dims, gpu, precision_, nearby.kernels);
  time.busy_s = least > 0 ? by_resources_s(fitted_s(dims, measured_on_) * nearby.correction, least,
                                           dims, gpu, nearby.kernels)
                          : fitted_s(dims, gpu) * nearby.correction;
  time.kernels_s = time.busy_s * nearby.overlap;
  time.kernels = nearby.kernels;
  time.scratch_bytes = nearby.scratch * image_bytes(dims, precision_);
  time.sigma = sigma_;
  return time;
}

namespace {

using ClassMap = std::unordered_map<std::uint32_t, ClassTimes>;

void add_class(ClassMap& classes, const CalibratedClass& one, DType sampled, DType as,
               const GpuRates& measured_on) {
  const auto kernel_class = operation_class_named(one.kernel_class);
  if (!kernel_class || dtype_named(one.precision) != sampled || one.coefficients.empty()) return;
  const std::uint32_t key = key_of(*kernel_class, as);
  if (!classes.contains(key)) classes.emplace(key, ClassTimes(*kernel_class, as, one, measured_on));
}

/// A class in fp16 without samples of its own takes those in bf16.
void add_classes(ClassMap& classes, const Calibration& calibration, const GpuRates& measured_on,
                 std::span<const OperationClass> fp16_as_fp32) {
  for (const CalibratedClass& one : calibration.classes) {
    if (const auto precision = dtype_named(one.precision))
      add_class(classes, one, *precision, *precision, measured_on);
  }
  for (const CalibratedClass& one : calibration.classes) {
    const auto kernel_class = operation_class_named(one.kernel_class);
    if (std::find(fp16_as_fp32.begin(), fp16_as_fp32.end(), kernel_class) != fp16_as_fp32.end())
      add_class(classes, one, DType::fp32, DType::fp16, measured_on);
  }
  for (const CalibratedClass& one : calibration.classes)
    add_class(classes, one, DType::bf16, DType::fp16, measured_on);
}

/// How far samples so far away are believed, beside what another GPU says nearer by: a table of 3×3
/// convolutions says little of 1×1.
double belief_at(double distance) {
  constexpr double believed = 1, unbelieved = 2;
  return std::clamp((unbelieved - distance) / (unbelieved - believed), 0.0, 1.0);
}

const ClassTimes* found(const ClassMap& classes, OperationClass kernel_class, DType precision) {
  const auto place = classes.find(key_of(kernel_class, precision));
  return place == classes.end() ? nullptr : &place->second;
}

}  // namespace

KernelTimes::KernelTimes(const Calibration& calibration, const GpuRates& measured_on,
                         const GpuRates& gpu, std::span<const OperationClass> fp16_as_fp32)
    : gpu_(gpu) {
  auto classes = std::make_shared<Classes>();
  add_classes(*classes, calibration, measured_on, fp16_as_fp32);
  classes_ = std::move(classes);
}

KernelTimes KernelTimes::corrected_by(const Calibration& transfer, const GpuRates& measured_on,
                                      const Framework& framework) const {
  auto own = std::make_shared<Own>();
  add_classes(own->classes, transfer, measured_on, framework.fp16_as_fp32);
  own->rates = measured_on;
  for (const NetworkFactors& one : transfer.networks) {
    if (one.framework != framework.name) continue;
    std::vector<double>& factors =
        own->factors[place_of(RunKind{one.is_inference, one.in_16_bits})];
    for (std::size_t i = 0; i < operation_class_names().size(); ++i) {
      const std::size_t group = class_group_of(static_cast<OperationClass>(i));
      const auto factor = one.factors.find(std::string(class_group_names()[group]));
      factors.push_back(factor == one.factors.end() ? 1 : factor->second);
    }
  }
  KernelTimes other = *this;
  other.own_ = std::move(own);
  return other;
}

KernelTimes KernelTimes::on(const GpuRates& gpu) const {
  KernelTimes other = *this;
  other.gpu_ = gpu;
  return other;
}

const ClassTimes* KernelTimes::carried(OperationClass kernel_class, DType precision) const {
  for (std::optional<OperationClass> one = kernel_class; one; one = class_instead(*one)) {
    const ClassTimes* times = found(*classes_, *one, precision);
    // TF32 is a way to multiply: everything else runs as in fp32.
    if (times == nullptr && precision == DType::tf32) times = found(*classes_, *one, DType::fp32);
    if (times != nullptr) return times;
  }
  return nullptr;
}

/// Tables have products forward. Those of other passes take what those take longer than is carried
/// over, at the same extents; so do convolutions and attention.
double KernelTimes::factor_by_own(const FrameworkOperation& operation) const {
  constexpr double farthest = 4;  // more says that the extents have little to do with the table's
  for (const OperationClass sibling : tabulated_siblings(operation.kernel_class)) {
    const ClassTimes* here = found(own_->classes, sibling, operation.precision);
    const ClassTimes* there = carried(sibling, operation.precision);
    if (here == nullptr || there == nullptr) continue;
    const NearbySamples samples = here->nearby(operation.dims);
    const double ratio = here->time(operation.dims, own_->rates, samples).busy_s /
                         there->time(operation.dims, own_->rates).busy_s;
    return std::pow(std::clamp(ratio, 1 / farthest, farthest), belief_at(samples.distance));
  }
  return 1;
}

void KernelTimes::add_own(const FrameworkOperation& operation, NearbyKernels& nearby) const {
  nearby.own = found(own_->classes, operation.kernel_class, operation.precision);
  if (nearby.own == nullptr) {
    if (nearby.times != nullptr) nearby.factor = factor_by_own(operation);
    return;
  }
  nearby.own_samples = nearby.own->nearby(operation.dims);
  nearby.own_weight = nearby.times == nullptr ? 1 : belief_at(nearby.own_samples.distance);
}

NearbyKernels KernelTimes::nearby(const FrameworkOperation& operation, RunKind run) const {
  NearbyKernels nearby;
  nearby.times = carried(operation.kernel_class, operation.precision);
  if (nearby.times != nullptr) nearby.samples = nearby.times->nearby(operation.dims);
  if (own_ == nullptr) return nearby;
  add_own(operation, nearby);
  const std::vector<double>& factors = own_->factors[place_of(run)];
  if (!factors.empty()) nearby.factor *= factors[static_cast<std::size_t>(operation.kernel_class)];
  return nearby;
}

KernelTime KernelTimes::time(const FrameworkOperation& operation,
                             const NearbyKernels& nearby) const {
  KernelTime time;
  if (nearby.times != nullptr) {
    time = nearby.times->time(operation.dims, gpu_, nearby.samples);
  } else {
    const KernelForm form = form_of(operation.kernel_class);
    time.is_calibrated = false;
    time.sigma = unknown_sigma;
    time.busy_s = form_time_s(form, product_pass(operation.kernel_class), operation.precision,
                              first_coefficients(form), operation.dims, gpu_);
    time.kernels_s = time.busy_s;
  }
  if (nearby.own_weight > 0) {
    const KernelTime own = nearby.own->time(operation.dims, gpu_, nearby.own_samples);
    const double overlap = own.kernels_s / own.busy_s;
    time.busy_s =
        std::pow(time.busy_s, 1 - nearby.own_weight) * std::pow(own.busy_s, nearby.own_weight);
    time.kernels_s = time.busy_s * overlap;
    time.kernels = nearby.own_weight > 0.5 ? own.kernels : time.kernels;
    time.sigma += nearby.own_weight * (own.sigma - time.sigma);
    time.is_calibrated = true;
  }
  time.busy_s *= nearby.factor;
  time.kernels_s *= nearby.factor;
  return time.part_of(operation);
}

}  // namespace strata
