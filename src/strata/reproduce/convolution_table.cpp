// SPDX-License-Identifier: Apache-2.0
// The claims of the convolution study, by the numbers of their rows.
#include "strata/base/error.hpp"
#include "strata/reproduce/convolution_claims.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace strata {
namespace {

struct ConvClaimText {
  std::string_view number, where, sentence, what, printed;
};
constexpr ConvClaimText claims_of_convolution[] = {
    {"1", "figure 3a, 3b", "FFT is the fastest at every batch and input",
     "time of others over FFT, along b and i", "1.4–9.7×"},
    {"2", "figure 3c", "FFT is the fastest at every number of filters",
     "time of others over FFT, along f", "1.19–5.1×"},
    {"3", "figure 3d", "cuDNN is faster than FFT at kernels below 7",
     "time of FFT over the library, k < 7", "1.21–2.62×"},
    {"4", "figure 3d", "FFT is faster than cuDNN at kernels above 7",
     "time of the library over FFT, k > 7", "1.15–19×"},
    {"5", "figure 3d", "The time of FFT is nearly constant in the size of the kernel",
     "time of FFT along k, most over least", "nearly constant"},
    {"6", "figure 3e", "cuDNN is the fastest at strides above 1",
     "points with s > 1 at which the library is the fastest", "all"},
    {"7", "figure 3e", "FFT takes stride 1 only", "points with s > 1 at which FFT runs", "none"},
    {"40", "figure 3e", "FFT is the fastest at stride 1", "time of others over FFT at s = 1",
     "the fastest"},
    {"33", "figure 3a, 3b", "cuDNN is the fastest of the unrolling implementations",
     "points of b and i at which the library's matrix products are ahead of unroll", "all"},
    {"34", "figure 3", "cuDNN is the second fastest, after FFT",
     "points of b, i, f and k at which the library's own choice comes after FFT alone", "second"},
    {"35", "figure 3d", "cuda-convnet2 takes about as long as cuDNN over the size of the kernel",
     "time of direct over the library's matrix products, along k", "about equal"},
    {"11", "figure 3c", "Explicit unrolling (Theano-CorrMM) is faster than cuDNN above 160 filters",
     "points with f > 160 at which unroll is ahead of the library", "all"},
    {"17", "figure 3a", "cuda-convnet2 is fast at batches that are multiples of 128 only",
     "time of an image at other batches over that at multiples of 128", "longer"},
    {"16", "section IV-B", "Implementations by unrolling take every shape",
     "shapes of the suite that unroll takes", "all"},
    {"10", "figure 4", "Matrix products are 80 to 87 % of the time of explicit unrolling",
     "share of GEMM in unroll at (64, 128, 64, 11, 1)", "80–87 %"},
    {"46", "figure 4",
     "fbfft spends its time in FFT, matrix products, inverse FFT and transposition",
     "kernels of FFT by role at (64, 128, 64, 11, 1)", "four kinds"},
    {"8", "figure 5", "Direct convolution needs the least memory", "memory of direct",
     "125–2076 MB"},
    {"9", "figure 5", "FFT needs the most memory", "memory of FFT", "1.6–10.9 GB"},
    {"18", "figure 5", "Unrolling needs more memory than direct and less than FFT",
     "memory of unroll", "between"},
    {"41", "figure 5", "cuDNN needs more memory than other unrolling implementations",
     "memory of the library's matrix products over unroll", "more"},
    {"19", "figure 5b", "The memory of FFT fluctuates with the size of the input",
     "memory of FFT along i", "rises and falls"},
    {"31", "figure 5d", "The memory of FFT fluctuates with the size of the kernel",
     "memory of FFT along k", "rises and falls"},
    {"20", "figure 6, occupancy", "The occupancy of most implementations is below 30 %",
     "achieved occupancy, mean over the layers of table I", "< 30 %"},
    {"21", "figure 6, occupancy", "High occupancy does not make an implementation fast",
     "layers at which another than that of the highest occupancy is the fastest", "most"},
    {"37", "figure 6, occupancy", "cuDNN has a higher occupancy than its counterparts by unrolling",
     "layers at which the library's matrix products are above unroll", "higher"},
    {"36", "figure 6, IPC", "cuDNN has more IPC than its counterparts by unrolling",
     "layers at which the library's matrix products are above unroll", "higher"},
    {"22", "figure 6, global loads", "Most implementations load with an efficiency below 20 %",
     "global load efficiency, mean over the layers of table I", "< 20 %"},
    {"23", "figure 6, global stores", "Most implementations store with an efficiency below 60 %",
     "global store efficiency, mean over the layers of table I", "< 60 %"},
    {"24", "figure 6, shared memory", "cuDNN uses shared memory with an efficiency above 130 %",
     "shared memory efficiency of the library's own choice", "> 130 %"},
    {"38", "figure 6, shared memory",
     "cuDNN has a higher efficiency of shared memory than its counterparts by unrolling",
     "layers at which the library's matrix products are above unroll", "higher"},
    {"39", "figure 6, shared memory", "FFT has the lowest efficiency of shared memory",
     "shared memory efficiency, mean over the layers of table I", "8–20 %"},
    {"25", "figure 6, warp execution",
     "Most implementations but Theano-fft execute warps with an efficiency above 97 %",
     "warp execution efficiency of all but FFT", "> 97 %"},
    {"32", "figure 6, warp execution",
     "Theano-fft executes warps with an efficiency far below 97 %",
     "warp execution efficiency of FFT", "66–81 %"},
    {"12", "table II", "Main kernels use 2 to 116 registers per thread",
     "registers per thread of the main kernels", "2–116"},
    {"13", "table II", "Main kernels use 4.5 to 16 KB of shared memory per block",
     "shared memory per block of the main kernels", "4.5–16 KB"},
    {"14", "figure 7", "Copies that are page-locked and asynchronous take 0 to 15 % of the time",
     "share of time in copies of the input, page-locked and asynchronous", "about 0–15 %"},
    {"15", "figure 7", "Once, from ordinary memory, the copy takes more than 60 % of the time",
     "the most share of time in the copy, from ordinary memory while nothing runs",
     "more than 60 %"},
    {"30", "figure 4", "", "matrix products, of the time of the library's kernels for convolutions",
     ""}};

}  // namespace

ConvClaim conv_claim(std::string_view number) {
  const auto* const found =
      std::find_if(std::begin(claims_of_convolution), std::end(claims_of_convolution),
                   [&](const ConvClaimText& claim) { return claim.number == number; });
  STRATA_CHECK(found != std::end(claims_of_convolution), "every row is of a claim");
  return {std::string(found->number), std::string(found->where), std::string(found->sentence),
          std::string(found->what), std::string(found->printed)};
}

}  // namespace strata
