// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/vector_math.hpp"
#include "strata/measure/engine/constants.hpp"

#include <cmath>
#include <numbers>

/// What gelu and its slope are beside x/2 and 1/2: odd functions that end at ±1/2, in fp32 as
/// x P(x²)/Q(x²) of least error, where one division replaces a power of e, a tanh or an erf and
/// what leads to them. Each is cut where it is 1/2 without an error.
namespace strata::cpu_training {

/// Φ(x) − 1/2, of which gelu is x times 1/2 + this.
template <class V>
STRATA_INLINE Ratio<V> gelu_share_of(V x) {
  static constexpr Repeated above[] = {Repeated(0.246346861F),    Repeated(0.0206608716F),
                                       Repeated(0.00287229056F),  Repeated(0.000101624355F),
                                       Repeated(3.89123306e-06F), Repeated(1.4159987e-08F)};
  static constexpr Repeated below[] = {Repeated(0.617500007F),    Repeated(0.154705629F),
                                       Repeated(0.0175469629F),   Repeated(0.00114894926F),
                                       Repeated(4.45631667e-05F), Repeated(7.40400026e-07F)};
  constexpr float most = 0x1.5ffff8p+2F;
  return ratio_of(kept_between(-most, x, most), above, below);
}

/// The slope of gelu, less 1/2: Φ(x) + x φ(x) − 1/2
template <class V>
STRATA_INLINE Ratio<V> gelu_slope_of(V x) {
  static constexpr Repeated above[] = {Repeated(0.637908697F),    Repeated(-0.0181626007F),
                                       Repeated(0.0110903727F),   Repeated(0.000156893075F),
                                       Repeated(2.72710568e-05F), Repeated(7.22661184e-07F),
                                       Repeated(1.34447786e-08F)};
  static constexpr Repeated below[] = {Repeated(0.799499989F),    Repeated(0.243736416F),
                                       Repeated(0.0351832435F),   Repeated(0.0031611626F),
                                       Repeated(0.000194790075F), Repeated(8.18360058e-06F),
                                       Repeated(2.66039962e-07F), Repeated(1.04086506e-09F)};
  constexpr float most = 0x1.7ffcbp+2F;
  return ratio_of(kept_between(-most, x, most), above, below);
}

/// tanh(√(2/π)·(x + 0.044715 x³))/2, of which gelu by tanh is x times 1/2 + this.
template <class V>
STRATA_INLINE Ratio<V> gelu_tanh_share_of(V x) {
  static constexpr Repeated above[] = {Repeated(0.302198768F),    Repeated(0.0233695023F),
                                       Repeated(0.00275644567F),  Repeated(0.000102909893F),
                                       Repeated(5.21327047e-06F), Repeated(1.69870713e-08F)};
  static constexpr Repeated below[] = {Repeated(0.757499993F),    Repeated(0.185453743F),
                                       Repeated(0.0186002683F),   Repeated(0.000992003595F),
                                       Repeated(5.72942263e-05F), Repeated(9.51852144e-07F)};
  constexpr float most = 0x1.466618p+2F;
  return ratio_of(kept_between(-most, x, most), above, below);
}

/// The slope of gelu by tanh, less 1/2.
template <class V>
STRATA_INLINE Ratio<V> gelu_tanh_slope_of(V x) {
  static constexpr Repeated above[] = {Repeated(0.981397927F),    Repeated(-0.00273699546F),
                                       Repeated(0.0132682128F),   Repeated(0.000630824652F),
                                       Repeated(1.77599213e-05F), Repeated(2.43200179e-06F),
                                       Repeated(1.66345977e-08F)};
  static constexpr Repeated below[] = {Repeated(1.23000002F),     Repeated(0.40859738F),
                                       Repeated(0.0591492839F),   Repeated(0.00458122138F),
                                       Repeated(0.000301717169F), Repeated(1.36441922e-05F),
                                       Repeated(6.84073996e-07F)};
  constexpr float most = 0x1.5fe696p+2F;
  return ratio_of(kept_between(-most, x, most), above, below);
}

/// In fp64 as they are written.
struct GeluOfDoubles {
  static constexpr double factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // √(2/π)
  static constexpr double cubic = training_constants::gelu_cubic;
  static double inner(double x) { return factor * (x + cubic * x * x * x); }
};
inline double gelu_share_of(double x) { return 0.5 * std::erf(x * (std::numbers::sqrt2 / 2)); }
inline double gelu_slope_of(double x) {
  constexpr double density = std::numbers::inv_sqrtpi / std::numbers::sqrt2;  // 1/√(2π)
  return gelu_share_of(x) + x * density * std::exp(-0.5 * x * x);
}
inline double gelu_tanh_share_of(double x) { return 0.5 * std::tanh(GeluOfDoubles::inner(x)); }
inline double gelu_tanh_slope_of(double x) {
  using G = GeluOfDoubles;
  const double t = std::tanh(G::inner(x));
  return 0.5 * (t + x * (1 - t * t) * G::factor * (1 + 3 * G::cubic * x * x));
}

}  // namespace strata::cpu_training
