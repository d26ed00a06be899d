// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/tensor_numbers.hpp"

#include "strata/base/error.hpp"
#include "strata/convolution/lab/encoded_numbers.hpp"
#include "strata/convolution/lab/on_all_cores.hpp"

#include <cstdint>
#include <cstring>

namespace strata {
namespace {

constexpr std::int64_t numbers_worth_a_thread = 1 << 16;

template <class Stored, class Convert>
std::vector<std::byte> stored_as(std::span<const double> numbers, const Convert& convert) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(Stored));
  on_all_cores(static_cast<std::int64_t>(numbers.size()), numbers_worth_a_thread,
               [&](std::int64_t begin, std::int64_t end) {
                 for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end);
                      ++i) {
                   const Stored stored = convert(numbers[i]);
                   std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
                 }
               });
  return bytes;
}

template <class Stored, class Convert>
std::vector<double> read_as(std::span<const std::byte> bytes, const Convert& convert) {
  std::vector<double> numbers(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    numbers[i] = convert(stored);
  }
  return numbers;
}

template <class Stored>
std::vector<std::byte> plainly_stored(std::span<const double> numbers) {
  return stored_as<Stored>(numbers, [](double number) { return static_cast<Stored>(number); });
}

template <class Stored>
std::vector<double> plainly_read(std::span<const std::byte> bytes) {
  return read_as<Stored>(bytes, [](Stored stored) { return static_cast<double>(stored); });
}

}  // namespace

std::vector<std::byte> tensor_bytes(std::span<const double> numbers, DType dtype) {
  switch (dtype) {
    case DType::fp64: return plainly_stored<double>(numbers);
    case DType::fp32:
    case DType::tf32: return plainly_stored<float>(numbers);
    case DType::fp16:
      return stored_as<std::uint16_t>(
          numbers, [](double number) { return to_fp16(static_cast<float>(number)); });
    case DType::bf16:
      return stored_as<std::uint16_t>(
          numbers, [](double number) { return to_bf16(static_cast<float>(number)); });
    case DType::int8: return plainly_stored<std::int8_t>(numbers);
    case DType::int32: return plainly_stored<std::int32_t>(numbers);
    case DType::int64: return plainly_stored<std::int64_t>(numbers);
    case DType::boolean:
      return stored_as<std::uint8_t>(
          numbers, [](double number) { return static_cast<std::uint8_t>(number != 0 ? 1 : 0); });
    case DType::fp8: break;
  }
  fail(ErrorKind::unsupported, "tensors of {} cannot be measured", name_of(dtype));
}

std::vector<double> tensor_numbers(std::span<const std::byte> bytes, DType dtype) {
  switch (dtype) {
    case DType::fp64: return plainly_read<double>(bytes);
    case DType::fp32:
    case DType::tf32: return plainly_read<float>(bytes);
    case DType::fp16:
      return read_as<std::uint16_t>(
          bytes, [](std::uint16_t bits) { return static_cast<double>(from_fp16(bits)); });
    case DType::bf16:
      return read_as<std::uint16_t>(
          bytes, [](std::uint16_t bits) { return static_cast<double>(from_bf16(bits)); });
    case DType::int8: return plainly_read<std::int8_t>(bytes);
    case DType::int32: return plainly_read<std::int32_t>(bytes);
    case DType::int64: return plainly_read<std::int64_t>(bytes);
    case DType::boolean: return plainly_read<std::uint8_t>(bytes);
    case DType::fp8: break;
  }
  fail(ErrorKind::unsupported, "tensors of {} cannot be measured", name_of(dtype));
}

}  // namespace strata
