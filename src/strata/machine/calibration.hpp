// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A Calibration is what the kernels of one framework take on one machine, class by class:
/// measured samples, and coefficients that were fitted to them (predict/expected/fit.hpp). It is a
/// JSON file; data/calibrations/ holds those that ship. One with a `base` knows a part only, from
/// published tables or from iterations of whole networks; the rest is carried over from the base.
/// data/transfers/ holds those.
namespace strata {

/// One operation of one shape.
struct KernelSample {
  std::vector<double> dims;
  double busy_s = 0;         ///< while at least one of its kernels ran
  double kernels_s = 0;      ///< all its kernels added up; more where several streams run
  double kernels = 1;        ///< how many there were
  double scratch_bytes = 0;  ///< that the library took while they ran

  bool operator==(const KernelSample&) const = default;
};

struct CalibratedClass {
  std::string kernel_class;          ///< "relu.forward"
  std::string precision;             ///< fp32, tf32, bf16
  std::vector<double> coefficients;  ///< empty: not fitted
  double sigma = 0;  ///< standard deviation of log(time), of samples that the fit did not see
  std::vector<KernelSample> samples;
  std::string source;  ///< of samples that somebody else published; empty: measured by `host`

  bool operator==(const CalibratedClass&) const = default;
};

/// How much longer kernels take in whole networks than what is carried over says, by regression on
/// measured iterations (predict/expected/factor_fit.hpp).
struct NetworkFactors {
  std::string framework;  ///< that ran the networks; it may take its calibration from another one
  bool is_inference = false;
  bool in_16_bits = false;                ///< products in 16 bits, as under autocast; or in fp32
  std::map<std::string, double> factors;  ///< by group of classes (class_groups.hpp)
  std::int64_t runs = 0, networks = 0;
  double error = 0;  ///< mean |error| of networks that a fit to the others did not see
  /// By so much, in logarithms, an interval has to be widened to hold nine of ten of them.
  double widening = 0;
  std::string source;

  bool operator==(const NetworkFactors&) const = default;
};

/// What the host takes to dispatch one operation, in seconds.
struct HostTime {
  double forward_s = 0, backward_s = 0, autocast_forward_s = 0, autocast_backward_s = 0;
  double per_tensor_s = 0;  ///< of an update
  double inference_s = 0;   ///< where nothing is kept for backward; 0: as forward

  bool operator==(const HostTime&) const = default;
};

/// What the fit took the machine to reach. Coefficients are relative to it.
struct CalibratedRates {
  double units = 0;  ///< SMs or cores
  double clock_hz = 0;
  double bytes_per_s = 0;                    ///< of its memory
  double cache_bytes = 0;                    ///< of its last cache; 0: not known
  std::map<std::string, double> flop_per_s;  ///< by data type

  bool operator==(const CalibratedRates&) const = default;
};

struct Calibration {
  std::string name;       ///< "h200-pytorch-eager"
  std::string machine;    ///< "h200"
  std::string framework;  ///< "pytorch-eager"
  std::map<std::string, std::string> versions;
  std::string host;
  std::string date;
  std::optional<CalibratedRates> rates;        ///< nothing: those of the machine that is called so
  std::map<std::string, HostTime> host_times;  ///< by kind of operation
  /// How much longer the host takes in a whole network than for single operations, and its
  /// standard deviation (of the logarithm).
  double host_factor = 1, host_sigma = 0.25;
  double gap_s = 0.7e-6;  ///< between two kernels on the device
  /// σ of what all kernels of a class have in common, and the factor that makes nine of ten runs
  /// lie inside the interval.
  double class_sigma = 0.05, interval_factor = 1.645;
  std::vector<CalibratedClass> classes;
  std::string base;  ///< name of the calibration that the rest is carried over from; empty: none
  std::vector<NetworkFactors> networks;
};

/// Errors (input) name the place, what was expected and what came.
Calibration read_calibration(std::string_view json_text);
std::string to_json(const Calibration& calibration);

/// Adds a sample, or puts it in place of one with the same dimensions.
void put_sample(Calibration& calibration, std::string_view kernel_class, std::string_view precision,
                const KernelSample& sample);
/// Whether there is a sample with these dimensions.
bool has_sample(const Calibration& calibration, std::string_view kernel_class,
                std::string_view precision, const std::vector<double>& dims);

const std::vector<Calibration>& shipped_calibrations();
/// Of that machine and framework; nothing when none ships.
const Calibration* find_calibration(std::string_view machine, std::string_view framework);
/// What ships of a machine that was not calibrated itself; nothing: nothing is known of it.
const Calibration* find_transfer(std::string_view machine, std::string_view framework);
/// The base of a calibration; nothing: it has none. Errors (input): its base does not ship.
const Calibration* base_of(const Calibration& calibration);

}  // namespace strata
