// SPDX-License-Identifier: Apache-2.0
#include "strata/base/loaded_library.hpp"
#include "strata/convolution/cpu/fourier.hpp"
#include "strata/convolution/cpu/scratch.hpp"

#include <fftw3.h>

#include <mutex>

namespace strata::cpu {
namespace {

struct FftwFunctions {
  decltype(&fftwf_plan_dft_2d) plan;
  decltype(&fftwf_execute_dft) execute;
  decltype(&fftwf_destroy_plan) destroy;
  decltype(&fftwf_set_timelimit) limit_planning;
  const char* version;  ///< "fftw-3.3.10-sse2-avx…"
};

FftwFunctions load_fftw() {
  const LoadedLibrary library(STRATA_FFTW_LIBRARY);
  FftwFunctions fftw{};
  library.find("fftwf_plan_dft_2d", fftw.plan);
  library.find("fftwf_execute_dft", fftw.execute);
  library.find("fftwf_destroy_plan", fftw.destroy);
  library.find("fftwf_set_timelimit", fftw.limit_planning);
  library.find("fftwf_version", fftw.version);
  // Some builds (Debian's for Arm) have no clock finer than the system's, and try each plan for so
  // long that a size takes seconds.
  constexpr double seconds_per_plan = 0.1;
  fftw.limit_planning(seconds_per_plan);
  return fftw;
}

const FftwFunctions& fftw_functions() {
  static const FftwFunctions fftw = load_fftw();
  return fftw;
}

/// Only fftwf_execute may be called by several threads at once.
std::mutex& fftw_planner() {
  static std::mutex planner;
  return planner;
}

fftwf_complex* as_fftw(void* values) { return static_cast<fftwf_complex*>(values); }

class FftwFourier : public Fourier {
 public:
  FftwFourier(std::int64_t height, std::int64_t width) {
    // Planning overwrites what it tries on.
    const std::int64_t bytes = checked_mul(8, height, width);
    Scratch from(bytes);
    Scratch to(bytes);
    const std::lock_guard lock(fftw_planner());
    const auto plan = [&](int sign) {
      const fftwf_plan made = fftw_functions().plan(
          static_cast<int>(height), static_cast<int>(width), as_fftw(from.at(0)), as_fftw(to.at(0)),
          sign, FFTW_MEASURE | FFTW_DESTROY_INPUT);
      if (made == nullptr) fail(ErrorKind::environment, "FFTW refuses {}×{}", height, width);
      return made;
    };
    forward_ = plan(FFTW_FORWARD);
    backward_ = plan(FFTW_BACKWARD);
  }
  ~FftwFourier() override {
    const std::lock_guard lock(fftw_planner());
    fftw_functions().destroy(forward_);
    fftw_functions().destroy(backward_);
  }

  void forward(std::complex<float>* from, std::complex<float>* to) const override {
    fftw_functions().execute(forward_, as_fftw(from), as_fftw(to));
  }
  void backward(std::complex<float>* from, std::complex<float>* to) const override {
    fftw_functions().execute(backward_, as_fftw(from), as_fftw(to));
  }

 private:
  fftwf_plan forward_;
  fftwf_plan backward_;
};

}  // namespace

std::unique_ptr<Fourier> make_fourier(std::int64_t height, std::int64_t width) {
  return std::make_unique<FftwFourier>(height, width);
}

std::string fourier_version() {
  if (fourier_refusal()) return "";
  std::string version = fftw_functions().version;
  if (version.starts_with("fftw-")) version.erase(0, 5);
  return version.substr(0, version.find('-'));
}

std::optional<std::string> fourier_refusal() {
  try {
    fftw_functions();
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

}  // namespace strata::cpu
