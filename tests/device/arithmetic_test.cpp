// SPDX-License-Identifier: Apache-2.0
// The multiply-adds behind the peaks are really done: their closed form is exact in small integers.
#include "strata/measure/ceilings/cuda/kernels.cuh"
#include "tests/device/on_device.hpp"

#include <cmath>
#include <cstring>

namespace strata::test {
namespace {

using cuda::DeviceBuffer;
using cuda::FmaRun;

constexpr std::uint32_t seed = 5;

/// A small integer as fp16: 5 bits of exponent, 10 of mantissa.
std::uint16_t half_bits(std::int64_t integer) {
  if (integer == 0) return 0;
  const std::int64_t size = integer < 0 ? -integer : integer;
  int exponent = 0;
  while ((size >> (exponent + 1)) != 0) ++exponent;
  const std::int64_t mantissa = (size << (10 - exponent)) & 0x3FF;
  return static_cast<std::uint16_t>((integer < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) |
                                    mantissa);
}

std::uint16_t bfloat_bits(std::int64_t integer) {
  const auto number = static_cast<float>(integer);
  std::uint32_t word = 0;
  std::memcpy(&word, &number, sizeof word);
  return static_cast<std::uint16_t>(word >> 16);
}

class Arithmetic : public OnDevice {
 protected:
  /// What is in `numbers` at `index`, compared with an integer.
  static bool holds(const std::vector<unsigned char>& numbers, DType dtype, std::size_t index,
                    std::int64_t integer) {
    const auto at = [&]<class Number>(Number) {
      Number number{};
      std::memcpy(&number, numbers.data() + index * sizeof number, sizeof number);
      return number;
    };
    switch (dtype) {
      case DType::fp64: return at(double{}) == static_cast<double>(integer);
      case DType::fp32: return at(float{}) == static_cast<float>(integer);
      case DType::fp16: return at(std::uint16_t{}) == half_bits(integer);
      default: return at(std::uint16_t{}) == bfloat_bits(integer);
    }
  }

  void expect_closed_form(FmaRun run, std::int64_t factor, std::int64_t term) {
    run.a = static_cast<float>(factor);
    run.b = static_cast<float>(term);
    const std::int64_t count = fma_elements(run);
    const auto bytes = static_cast<std::size_t>(count * bytes_per_element(run.dtype));
    const DeviceBuffer start(bytes), out(bytes);
    cuda::fill_small_integers(start.get(), count, run.dtype, seed, stream());
    bench().synchronize();
    out.poison(0xFF);
    run_fma(run, start.get(), out.get(), stream());
    const auto result = on_host<unsigned char>(out.get(), static_cast<std::int64_t>(bytes));
    const std::int64_t steps = std::int64_t{run.rounds} * cuda::fma_unroll;
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t expected = cuda::small_integer(static_cast<std::uint64_t>(i), seed);
      for (std::int64_t step = 0; step < steps; ++step) expected = factor * expected + term;
      ASSERT_TRUE(holds(result, run.dtype, static_cast<std::size_t>(i), expected))
          << name_of(run.dtype) << " element " << i << ", expected " << expected;
    }
  }
};

TEST_F(Arithmetic, every_step_of_every_chain_is_done) {
  for (const DType dtype : {DType::fp64, DType::fp32, DType::fp16, DType::bf16}) {
    if (dtype == DType::bf16 && device_.major < 8) continue;
    for (const int rounds : {1, 2, 7}) {
      // x + 1, 224 times at most: the largest number, 239, is exact in bf16.
      expect_closed_form({.dtype = dtype, .blocks = 2, .rounds = rounds}, 1, 1);
      expect_closed_form({.dtype = dtype, .blocks = 2, .rounds = rounds}, -1, 7);
    }
  }
}

TEST_F(Arithmetic, a_product_that_is_wrong_is_found) {
  constexpr std::int64_t m = 48, n = 32, k = 64;
  std::vector<signed char> a(m * k), b(n * k);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<signed char>(i * 37 % 255 - 127);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<signed char>(i * 91 % 255 - 127);
  std::vector<std::int32_t> d(m * n);
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      for (std::int64_t i = 0; i < k; ++i)
        d[static_cast<std::size_t>(column * m + row)] +=
            a[static_cast<std::size_t>(row * k + i)] * b[static_cast<std::size_t>(column * k + i)];
    }
  }
  const DeviceBuffer a_there(a.size()), b_there(b.size()), d_there(d.size() * sizeof(d[0]));
  const DeviceBuffer check_there(sizeof(cuda::ProductCheck));
  STRATA_CUDA_CALL(cudaMemcpy(a_there.get(), a.data(), a.size(), cudaMemcpyHostToDevice));
  STRATA_CUDA_CALL(cudaMemcpy(b_there.get(), b.data(), b.size(), cudaMemcpyHostToDevice));
  const auto checked = [&] {
    const cuda::Product product{DType::int8,   DType::int32, m, n, k, a_there.get(),
                                b_there.get(), d_there.get()};
    check_there.poison(0);  // waits for the copies too
    cuda::check_product(product, 32, seed, check_there.get<cuda::ProductCheck>(), stream());
    return on_host<cuda::ProductCheck>(check_there.get(), 1).front();
  };
  d_there.poison(cuda::product_poison);
  EXPECT_EQ(checked().unwritten, static_cast<unsigned long long>(m * n));
  STRATA_CUDA_CALL(cudaMemcpy(d_there.get(), d.data(), d_there.bytes(), cudaMemcpyHostToDevice));
  EXPECT_EQ(checked().unwritten, 0u);
  EXPECT_EQ(checked().worst, 0);
  d.back() += 1;
  STRATA_CUDA_CALL(cudaMemcpy(d_there.get(), d.data(), d_there.bytes(), cudaMemcpyHostToDevice));
  EXPECT_GT(checked().worst, 0);
}

}  // namespace
}  // namespace strata::test
