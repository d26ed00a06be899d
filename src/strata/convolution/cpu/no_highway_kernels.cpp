// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/convolution/cpu/depthwise_kernels.hpp"
#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/convolution/cpu/spectrum_kernels.hpp"
#include "strata/convolution/cpu/strategies.hpp"
#include "strata/convolution/cpu/winograd_kernels.hpp"

namespace strata::cpu {
namespace {

[[noreturn]] void refuse_vectors() { fail(ErrorKind::environment, "{}", *vector_refusal()); }

}  // namespace

std::optional<std::string> vector_refusal() {
  return "this strata was built without Highway (libhwy-dev)";
}

void add_taps(const TapSums&) { refuse_vectors(); }
void add_lanes(const LaneSums&) { refuse_vectors(); }
void multiply_taps(const TapProducts&) { refuse_vectors(); }
void multiply_pixels(const PixelProducts&) { refuse_vectors(); }
void turn(const TurnedMatrix&) { refuse_vectors(); }
std::int64_t widest_channel_block() { return 1; }
std::int64_t pixel_block() { return 1; }
std::int64_t lane_pixels() { return 1; }

void copy_rows(const RowCopies&) { refuse_vectors(); }
void split_rows(const RowCopies&, float* const*) { refuse_vectors(); }
void sum_rows(const RowSums&) { refuse_vectors(); }
void sum_rows_in_turn(const RowSums&, const PlaneTaps&) { refuse_vectors(); }
void multiply_planes(const PlaneProducts&) { refuse_vectors(); }

void transform_tiles(int, TileTransform, const TileBatch&) { refuse_vectors(); }
void split_line(int, const float*, std::int64_t, std::int64_t, float*, std::int64_t) {
  refuse_vectors();
}
void join_line(int, const float*, std::int64_t, std::int64_t, float*) { refuse_vectors(); }

void join_rows(const float*, const float*, std::int64_t, float*) { refuse_vectors(); }
void split_row(const float*, std::int64_t, float, float*, float*) { refuse_vectors(); }
void store_spectrum(const float*, std::int64_t, float*, std::int64_t) { refuse_vectors(); }
void load_spectrum(const float*, std::int64_t, std::int64_t, float*) { refuse_vectors(); }
void multiply_spectra(const SpectrumProduct&) { refuse_vectors(); }

}  // namespace strata::cpu
