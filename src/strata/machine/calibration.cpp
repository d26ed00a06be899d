// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/calibration.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/object_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>

namespace strata {
namespace {

using CalibrationJson = ObjectReader::Json;

constexpr std::size_t most_classes = 1000, most_samples = 5000, most_columns = 16;
constexpr double microsecond = 1e-6;

/// [dimensions..., busy µs, µs of all kernels, kernels]
KernelSample sample_from(const CalibrationJson& json, const std::string& place) {
  if (!json.is_array() || json.size() < 4 || json.size() > most_columns)
    fail(ErrorKind::input,
         "{}: expected a list [dimensions..., busy µs, kernels µs, kernels] of 4 to {} numbers, "
         "got {}",
         place, most_columns,
         json.is_array() ? fmt::format("{} numbers", json.size()) : std::string(json.type_name()));
  std::vector<double> numbers;
  for (const CalibrationJson& one : json)
    numbers.push_back(positive_number(one, fmt::format("{}[{}]", place, numbers.size())));
  KernelSample sample;
  const std::size_t dims = numbers.size() - 3;
  sample.dims.assign(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(dims));
  sample.busy_s = numbers[dims] * microsecond;
  sample.kernels_s = numbers[dims + 1] * microsecond;
  sample.kernels = numbers[dims + 2];
  return sample;
}

CalibratedClass class_from(const CalibrationJson& json, const std::string& place) {
  ObjectReader object(json, place);
  CalibratedClass read;
  read.kernel_class = object.text("class");
  read.precision = object.text("precision");
  read.coefficients = object.list("coefficients", most_columns, not_negative_number);
  read.sigma = object.maybe_not_negative("sigma").value_or(0);
  read.samples = object.list("samples", most_samples, sample_from);
  if (object.find("scratch_bytes") != nullptr) {
    const std::vector<double> scratch =
        object.list("scratch_bytes", most_samples, not_negative_number);
    if (scratch.size() != read.samples.size())
      fail(ErrorKind::input, "{}.scratch_bytes: expected {} numbers, one per sample, got {}", place,
           read.samples.size(), scratch.size());
    for (std::size_t i = 0; i < scratch.size(); ++i) read.samples[i].scratch_bytes = scratch[i];
  }
  if (object.find("source") != nullptr) read.source = object.text("source");
  object.finish();
  return read;
}

HostTime host_time_from(const CalibrationJson& json, const std::string& place) {
  ObjectReader object(json, place);
  HostTime time;
  time.forward_s = object.maybe_not_negative("forward_s").value_or(0);
  time.backward_s = object.maybe_not_negative("backward_s").value_or(0);
  time.autocast_forward_s =
      object.maybe_not_negative("autocast_forward_s").value_or(time.forward_s);
  time.autocast_backward_s =
      object.maybe_not_negative("autocast_backward_s").value_or(time.backward_s);
  time.per_tensor_s = object.maybe_not_negative("per_tensor_s").value_or(0);
  time.inference_s = object.maybe_not_negative("inference_s").value_or(0);
  object.finish();
  return time;
}

template <class Read>
auto members(ObjectReader& object, const char* key, Read read) {
  std::map<std::string, decltype(read(std::declval<const CalibrationJson&>(), std::string()))> all;
  const CalibrationJson* found = object.find(key);
  if (found == nullptr) return all;
  if (!found->is_object() || found->size() > most_classes)
    fail(ErrorKind::input, "{}: expected an object of at most {} members, got {}",
         object.place_of(key), most_classes,
         found->is_object() ? fmt::format("{}", found->size()) : std::string(found->type_name()));
  for (const auto& [name, json] : found->items())
    all[name] = read(json, fmt::format("{}.{}", object.place_of(key), name));
  return all;
}

CalibratedRates rates_from(const CalibrationJson& json, const std::string& place) {
  ObjectReader object(json, place);
  CalibratedRates rates;
  rates.units = object.positive("units");
  rates.clock_hz = object.positive("clock_hz");
  rates.bytes_per_s = object.positive("bytes_per_s");
  rates.cache_bytes = object.maybe_not_negative("cache_bytes").value_or(0);
  object.required("flop_per_s");
  rates.flop_per_s = members(
      object, "flop_per_s",
      [](const CalibrationJson& one, const std::string& at) { return positive_number(one, at); });
  if (!rates.flop_per_s.contains("fp32"))
    fail(ErrorKind::input, "{}: expected a rate of fp32, got none", object.place_of("flop_per_s"));
  object.finish();
  return rates;
}

NetworkFactors networks_from(const CalibrationJson& json, const std::string& place) {
  static constexpr std::string_view passes[] = {"training", "inference"};
  static constexpr std::string_view precisions[] = {"fp32", "16 bits"};
  ObjectReader object(json, place);
  NetworkFactors read;
  read.framework = object.text("framework");
  read.is_inference = object.choice("passes", passes) == 1;
  read.in_16_bits = object.choice("precision", precisions) == 1;
  read.factors = members(object, "factors", [](const CalibrationJson& one, const std::string& at) {
    return positive_number(one, at);
  });
  read.runs = object.maybe_count("runs").value_or(0);
  read.networks = object.maybe_count("networks").value_or(0);
  read.error = object.maybe_not_negative("left_out_error").value_or(0);
  read.widening = object.maybe_not_negative("widening").value_or(0);
  read.source = object.text("source");
  object.finish();
  return read;
}

/// The class in one precision; nothing when there is none.
template <class Classes>
auto find_class(Classes& classes, std::string_view kernel_class, std::string_view precision) {
  return std::find_if(classes.begin(), classes.end(), [&](const CalibratedClass& one) {
    return one.kernel_class == kernel_class && one.precision == precision;
  });
}

template <class Samples>
auto find_dims(Samples& samples, const std::vector<double>& dims) {
  return std::find_if(samples.begin(), samples.end(),
                      [&](const KernelSample& sample) { return sample.dims == dims; });
}

}  // namespace

void put_sample(Calibration& calibration, std::string_view kernel_class, std::string_view precision,
                const KernelSample& sample) {
  auto one = find_class(calibration.classes, kernel_class, precision);
  if (one == calibration.classes.end()) {
    CalibratedClass made;
    made.kernel_class = kernel_class;
    made.precision = precision;
    one = calibration.classes.insert(one, std::move(made));
  }
  const auto place = find_dims(one->samples, sample.dims);
  if (place == one->samples.end())
    one->samples.push_back(sample);
  else
    *place = sample;
}

bool has_sample(const Calibration& calibration, std::string_view kernel_class,
                std::string_view precision, const std::vector<double>& dims) {
  const auto one = find_class(calibration.classes, kernel_class, precision);
  return one != calibration.classes.end() && find_dims(one->samples, dims) != one->samples.end();
}

Calibration read_calibration(std::string_view json_text) {
  const CalibrationJson json = CalibrationJson::parse(json_text, nullptr, false);
  if (json.is_discarded()) fail(ErrorKind::input, "not JSON");
  ObjectReader object(json, "calibration");
  if (const CalibrationJson& version = object.required("strata_calibration"); version != 1)
    fail(ErrorKind::input, "calibration.strata_calibration: expected version 1, got {}",
         version.dump().substr(0, 40));
  Calibration read;
  read.name = object.text("name");
  read.machine = object.text("machine");
  read.framework = object.text("framework");
  read.versions = members(object, "versions", plain_text);
  read.host = object.text("host");
  read.date = object.text("date");
  read.rates = object.maybe("rates", rates_from);
  read.host_times = members(object, "host_times", host_time_from);
  read.host_factor = object.maybe_positive("host_factor").value_or(read.host_factor);
  read.host_sigma = object.maybe_positive("host_sigma").value_or(read.host_sigma);
  read.gap_s = object.maybe_not_negative("gap_s").value_or(read.gap_s);
  read.class_sigma = object.maybe_positive("class_sigma").value_or(read.class_sigma);
  read.interval_factor = object.maybe_positive("interval_factor").value_or(read.interval_factor);
  read.classes = object.list("classes", most_classes, class_from);
  if (object.find("base") != nullptr) read.base = object.text("base");
  if (object.find("networks") != nullptr)
    read.networks = object.list("networks", most_classes, networks_from);
  object.finish();
  return read;
}

const std::vector<Calibration>& shipped_calibrations() {
  static const std::vector<Calibration> all = [] {
    std::vector<Calibration> read;
    for (const EmbeddedFile& file : embedded_calibrations())
      read.push_back(read_calibration(file.text));
    return read;
  }();
  return all;
}

const Calibration* find_transfer(std::string_view machine, std::string_view framework) {
  // Each is read when it is asked for: together they are larger than everything else.
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const Calibration>, std::less<>> all;
  const std::string name = fmt::format("{}-{}", machine, framework);
  const std::lock_guard lock(mutex);
  const auto [place, is_new] = all.try_emplace(name);
  if (!is_new) return place->second.get();
  for (const EmbeddedFile& file : embedded_transfers()) {
    if (file.name == name)
      place->second = std::make_unique<const Calibration>(read_calibration(file.text));
  }
  return place->second.get();
}

const Calibration* base_of(const Calibration& calibration) {
  if (calibration.base.empty()) return nullptr;
  for (const Calibration& one : shipped_calibrations()) {
    if (one.name == calibration.base) return &one;
  }
  fail(ErrorKind::input, "calibration.base: no calibration '{}' ships", calibration.base);
}

const Calibration* find_calibration(std::string_view machine, std::string_view framework) {
  for (const Calibration& one : shipped_calibrations()) {
    if (one.machine == machine && one.framework == framework) return &one;
  }
  return nullptr;
}

}  // namespace strata
