// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/measure/ceilings/cuda/ceilings.cuh"
#include "strata/measure/ceilings/cuda/cublaslt.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace strata::cuda {
namespace {

constexpr std::size_t workspace_bytes = 64 << 20;  // the library asks for 32 MiB on Hopper
constexpr int most_algorithms = 8;
constexpr int checked_elements = 64;

struct Shape {
  std::int64_t m, n, k;
};
constexpr std::array shapes = {Shape{8192, 8192, 8192}, Shape{4096, 4096, 4096},
                               Shape{8192, 8192, 4096}, Shape{16384, 8192, 4096}};
constexpr std::size_t quick_shapes = 1;

DType type_of_result(DType dtype) {
  if (dtype == DType::int8) return DType::int32;
  return dtype == DType::fp8 ? DType::bf16 : dtype;
}

/// Error of one element over Σ|a||b|: rounding of the operands (tf32: 2^-11 each) and of the result
/// (bf16: 2^-9).
float tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::fp64: return 1e-12F;
    case DType::int8: return 0;
    case DType::tf32: return 1e-3F;
    default: return 4e-3F;
  }
}

/// Large products draw so much power that the clock falls within some tens of milliseconds.
Effort burst(bool is_quick) {
  return {.samples = is_quick ? 5 : 15,
          .sample_s = 15e-3,
          .least_warm_up_s = 0,
          .most_warm_up_s = 0.02,
          .rest_s = is_quick ? 0.05 : 0.1};
}

/// Everything of one data type that stays in memory while its shapes are tried.
class ProductBench {
 public:
  ProductBench(const Bench& bench, const CublasLt& library, DType dtype)
      : bench_(bench),
        library_(library),
        dtype_(dtype),
        a_(bytes_for(dtype, [](const Shape& s) { return s.m * s.k; })),
        b_(bytes_for(dtype, [](const Shape& s) { return s.n * s.k; })),
        d_(bytes_for(type_of_result(dtype), [](const Shape& s) { return s.m * s.n; })),
        workspace_(workspace_bytes),
        scale_(sizeof(float)),
        check_(sizeof(ProductCheck)) {
    const float one = 1;
    STRATA_CUDA_CALL(
        cudaMemcpyAsync(scale_.get(), &one, sizeof one, cudaMemcpyHostToDevice, bench.stream()));
    bench.synchronize();
    const std::int64_t size = bytes_per_element(dtype);
    fill_uniform(a_.get(), static_cast<std::int64_t>(a_.bytes()) / size, dtype,
                 bench.options().seed, bench.stream());
    fill_uniform(b_.get(), static_cast<std::int64_t>(b_.bytes()) / size, dtype,
                 bench.options().seed + 1, bench.stream());
  }

  /// The fastest shape and algorithm, timed well; nothing, and the reason, when none works.
  std::optional<Peak> run(std::string& why_not);

 private:
  struct Candidate {
    Shape shape{};
    std::size_t algorithm = 0;
    double flop_per_s = 0;
  };
  template <class Elements>
  static std::size_t bytes_for(DType dtype, const Elements& elements) {
    std::int64_t most = 0;
    for (const Shape& shape : shapes) most = std::max(most, elements(shape));
    return static_cast<std::size_t>(most * bytes_per_element(dtype));
  }
  static double flop_of(const Shape& s) {
    return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  }
  Product product_of(const Shape& s) const {
    return {dtype_, type_of_result(dtype_), s.m, s.n, s.k, a_.get(), b_.get(), d_.get()};
  }
  LtProduct library_product(const Shape& shape) const {
    return {library_, product_of(shape), scale_.get<float>(), workspace_bytes, most_algorithms};
  }
  Candidate best_algorithm(const Shape& shape, std::string& why_not) const;
  Peak timed(const Candidate& candidate, std::size_t tried) const;
  void check(const LtProduct& product, const Candidate& chosen) const;

  const Bench& bench_;
  const CublasLt& library_;
  DType dtype_;
  DeviceBuffer a_, b_, d_, workspace_, scale_, check_;
};

ProductBench::Candidate ProductBench::best_algorithm(const Shape& shape,
                                                     std::string& why_not) const {
  Candidate best{shape};
  const LtProduct product = library_product(shape);
  if (product.algorithms() == 0) why_not = product.why_not();
  for (std::size_t i = 0; i < product.algorithms(); ++i) {
    if (!product.multiply(i, d_.get(), workspace_.get(), bench_.stream())) {
      why_not = "cuBLASLt refuses its own algorithms";
      continue;
    }
    const double seconds = bench_.glance(
        [&](cudaStream_t stream) { product.multiply(i, d_.get(), workspace_.get(), stream); });
    if (flop_of(shape) / seconds > best.flop_per_s) best = {shape, i, flop_of(shape) / seconds};
  }
  return best;
}

void ProductBench::check(const LtProduct& product, const Candidate& chosen) const {
  d_.poison(product_poison);
  check_.poison(0);
  product.multiply(chosen.algorithm, d_.get(), workspace_.get(), bench_.stream());
  check_product(product_of(chosen.shape), checked_elements, bench_.options().seed,
                check_.get<ProductCheck>(), bench_.stream());
  ProductCheck result;
  bench_.synchronize();
  STRATA_CUDA_CALL(cudaMemcpy(&result, check_.get(), sizeof result, cudaMemcpyDeviceToHost));
  if (result.unwritten != 0 || !(result.worst <= tolerance_of(dtype_))) {
    fail(ErrorKind::environment,
         "a product in {} is wrong: {} elements were not written, the worst error is {:.2g} of "
         "Σ|a||b|",
         name_of(dtype_), result.unwritten, result.worst);
  }
}

Peak ProductBench::timed(const Candidate& candidate, std::size_t tried) const {
  const LtProduct product = library_product(candidate.shape);
  check(product, candidate);
  const Bench::Enqueue multiply = [&](cudaStream_t stream) {
    product.multiply(candidate.algorithm, d_.get(), workspace_.get(), stream);
  };
  const Shape& shape = candidate.shape;
  // A step of training has other work between its products, so the ceiling is that of bursts.
  const Timing timing = bench_.time(multiply, burst(bench_.options().is_quick));
  Peak peak = {
      dtype_, ComputeUnit::matrix,
      rate_of(flop_of(shape), timing,
              fmt::format(
                  "library GEMM: cuBLASLt {}, {} x {} x {}, random data, result in {}{}; "
                  "the best of {} shapes with up to {} algorithms; in bursts of 15 ms with rests "
                  "between "
                  "them; the median",
                  library_.version(), shape.m, shape.n, shape.k, name_of(type_of_result(dtype_)),
                  dtype_ == DType::fp8 ? ", fast accumulation" : "", tried, most_algorithms))};
  if (bench_.options().is_quick) return peak;
  const Timing long_load = bench_.time(multiply);
  std::string note = fmt::format(
      "without rests {}", format_flop_per_s(flop_of(shape) / median_of(long_load.samples_s)));
  if (const auto clock_hz = long_load.clocks.sm_hz())
    note += fmt::format(" at {:.0f} MHz", *clock_hz * 1e-6);
  if (const std::string why = long_load.clocks.note(); !why.empty())
    note += fmt::format(": {}", why);
  peak.flop_per_s.evidence->notes.push_back(std::move(note));
  return peak;
}

std::optional<Peak> ProductBench::run(std::string& why_not) {
  std::vector<Candidate> candidates;
  const std::size_t tried = bench_.options().is_quick ? quick_shapes : shapes.size();
  for (std::size_t i = 0; i < tried; ++i) {
    const Candidate candidate = best_algorithm(shapes[i], why_not);
    if (candidate.flop_per_s > 0) candidates.push_back(candidate);
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.flop_per_s > b.flop_per_s; });
  // A glance does not last until the power limit acts, so two of them get the full time.
  constexpr std::size_t most_timed = 2;
  std::optional<Peak> best;
  for (std::size_t i = 0; i < std::min(candidates.size(), most_timed); ++i) {
    Peak peak = timed(candidates[i], tried);
    if (!best || peak.flop_per_s.value > best->flop_per_s.value) best = std::move(peak);
  }
  if (best) compare_with_documents(bench_.device(), *best);
  return best;
}

}  // namespace

void measure_products(const Bench& bench, const Say& say, Machine& machine) {
  std::vector<std::string>& warnings = machine.measured->warnings;
  say("loading cuBLASLt");
  std::string problem;
  const std::unique_ptr<CublasLt> library = CublasLt::load(problem);
  if (library == nullptr) {
    warnings.push_back("matrix units: " + problem);
    return;
  }
  machine.measured->versions.push_back({"cuBLASLt", library->version()});
  for (const DType dtype :
       {DType::tf32, DType::fp16, DType::bf16, DType::fp8, DType::int8, DType::fp64}) {
    say(fmt::format("{} matrix products", name_of(dtype)));
    std::string why_not;
    const std::optional<Peak> peak = ProductBench(bench, *library, dtype).run(why_not);
    if (!peak) {
      warnings.push_back(fmt::format("matrix products in {}: {}", name_of(dtype), why_not));
      continue;
    }
    const Peak* lanes = find_peak(machine, dtype, ComputeUnit::vector);
    if (lanes != nullptr && lanes->flop_per_s.value > peak->flop_per_s.value) {
      warnings.push_back(
          fmt::format("matrix products in {} reach {}, less than the lanes: left out",
                      name_of(dtype), format_flop_per_s(peak->flop_per_s.value)));
      continue;
    }
    machine.peaks.push_back(*peak);
  }
}

}  // namespace strata::cuda
