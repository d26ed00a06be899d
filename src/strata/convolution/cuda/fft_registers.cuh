// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

/// A Fourier transform of N = 16 or 32 complex numbers in one thread's registers. Every index and
/// every factor is known to the compiler, so that no number leaves its register.
namespace strata::cuda {

template <int Count, int At = 0, class Body>
__device__ __forceinline__ void unrolled(const Body& body) {
  if constexpr (At < Count) {
    body(std::integral_constant<int, At>{});
    unrolled<Count, At + 1>(body);
  }
}

/// cos(2π j / 32) for j = 0 … 8.
__host__ __device__ constexpr float cosine_32(int j) {
  constexpr float table[9] = {1.0F,         0.980785280F, 0.923879533F, 0.831469612F, 0.707106781F,
                              0.555570233F, 0.382683432F, 0.195090322F, 0.0F};
  return j <= 8 ? table[j] : -table[16 - j];
}

/// a × exp(∓2πi K/N), minus for the transform, plus for the inverse; 0 ≤ K < N/2.
template <int K, int N, bool Inverse>
__device__ __forceinline__ float2 flipped(float2 a) {
  constexpr int J = K * (32 / N);
  if constexpr (J == 0) {
    return a;
  } else if constexpr (J == 8) {
    return Inverse ? make_float2(-a.y, a.x) : make_float2(a.y, -a.x);
  } else {
    constexpr float c = cosine_32(J);
    constexpr float s =
        Inverse ? -cosine_32(J < 8 ? 8 - J : J - 8) : cosine_32(J < 8 ? 8 - J : J - 8);
    return make_float2(a.x * c + a.y * s, a.y * c - a.x * s);
  }
}

__host__ __device__ constexpr int bits_reversed(int value, int count) {
  int reversed = 0;
  for (int bit = 1; bit < count; bit <<= 1) {
    reversed = reversed << 1 | (value & 1);
    value >>= 1;
  }
  return reversed;
}

template <int N, int Length, bool Inverse>
__device__ __forceinline__ void butterflies(float2 (&a)[N]) {
  if constexpr (Length > 1) {
    constexpr int half = Length / 2;
    unrolled<N / 2>([&](auto index) {
      constexpr int j = decltype(index)::value % half;
      constexpr int low = decltype(index)::value / half * Length + j;
      const float2 u = a[low], v = a[low + half];
      a[low] = make_float2(u.x + v.x, u.y + v.y);
      a[low + half] = flipped<j, Length, Inverse>(make_float2(u.x - v.x, u.y - v.y));
    });
    butterflies<N, half, Inverse>(a);
  }
}

/// Without a factor: the inverse of the transform is N times the original.
template <int N, bool Inverse>
__device__ __forceinline__ void fourier(float2 (&a)[N]) {
  butterflies<N, N, Inverse>(a);
  float2 sorted[N];
  unrolled<N>([&](auto index) {
    constexpr int i = decltype(index)::value;
    sorted[bits_reversed(i, N)] = a[i];
  });
#pragma unroll
  for (int i = 0; i < N; ++i) a[i] = sorted[i];
}

}  // namespace strata::cuda
