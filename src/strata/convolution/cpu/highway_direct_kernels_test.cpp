// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/convolution/cpu/kernel_tables.hpp"
#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/cpu/strategies.hpp"
#include "strata/cpu/per_target.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <random>
#include <vector>

namespace strata::cpu {
namespace {

using Numbers = std::vector<float>;

Numbers small_whole_numbers(std::int64_t count, std::mt19937& random) {
  std::uniform_int_distribution<int> any(-4, 4);  // sums of products are exact
  Numbers numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = static_cast<float>(any(random));
  return numbers;
}

/// Numbers that end where memory does: what touches more faults.
class NumbersAtTheEnd {
 public:
  explicit NumbersAtTheEnd(const Numbers& numbers) {
    void* const start =
        ::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(start);
    ::mprotect(memory_ + page_, page_, PROT_NONE);
    first_ = reinterpret_cast<float*>(memory_ + page_) - numbers.size();
    std::copy(numbers.begin(), numbers.end(), first_);
  }
  ~NumbersAtTheEnd() { ::munmap(memory_, 2 * page_); }
  NumbersAtTheEnd(const NumbersAtTheEnd&) = delete;
  NumbersAtTheEnd& operator=(const NumbersAtTheEnd&) = delete;
  float* data() { return first_; }

 private:
  std::size_t page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  char* memory_ = nullptr;
  float* first_ = nullptr;
};

// What is behind the pixels belongs to another thread: reading it and writing it back as it was
// would take away what that thread wrote meanwhile.
TEST(DirectKernels, nothing_behind_the_pixels_is_touched) {
  if (const auto reason = vector_refusal()) GTEST_SKIP() << *reason;
  std::mt19937 random(7);
  const std::vector<std::int64_t> offsets = {0, 2, 5};
  constexpr std::int64_t channels = 2;
  for (const DirectKernels& kernels : compiled_kernels<DirectKernels>().usable()) {
    for (std::int64_t block = 1; block <= kernels.block_width(); block *= 2) {
      for (std::int64_t pixels = 1; pixels <= 70; ++pixels) {
        const std::int64_t step = pixels + offsets.back();
        const Numbers source = small_whole_numbers(channels * step, random);
        const Numbers weights = small_whole_numbers(channels * std::ssize(offsets) * block, random);
        const Numbers start = small_whole_numbers(block * pixels, random);
        NumbersAtTheEnd from(source), to(start);
        const bool adds = pixels % 2 == 0;
        kernels.add_taps({.source = from.data(),
                          .channels = channels,
                          .channel_step = step,
                          .offsets = offsets.data(),
                          .taps = std::ssize(offsets),
                          .weights = weights.data(),
                          .result = to.data(),
                          .result_step = pixels,
                          .block = block,
                          .pixels = pixels,
                          .adds = adds});
        for (std::int64_t i = 0; i < block * pixels; ++i) {
          float sum = adds ? start[static_cast<std::size_t>(i)] : 0;
          const float* weight = weights.data() + i / pixels;
          for (std::int64_t c = 0; c < channels; ++c) {
            for (const std::int64_t offset : offsets) {
              sum += source[static_cast<std::size_t>(c * step + offset + i % pixels)] * *weight;
              weight += block;
            }
          }
          ASSERT_EQ(to.data()[i], sum) << block << " × " << pixels << ", " << i;
        }
      }
    }
  }
}

// The strategy itself runs the best vector unit only.
TEST(DirectKernels, every_vector_unit_sums_over_pixels) {
  if (const auto reason = vector_refusal()) GTEST_SKIP() << *reason;
  std::mt19937 random(3);
  for (const DirectKernels& kernels : compiled_kernels<DirectKernels>().usable()) {
    const std::int64_t block = kernels.pixel_block();
    for (int round = 0; round < 40; ++round) {
      const auto pick = [&](int least, int most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random);
      };
      const std::int64_t rows = pick(1, 4), columns = pick(1, 11), sources = pick(1, 25);
      const std::int64_t pixel_step = pick(1, 3), row_step = pick(0, 20);
      const Numbers source = small_whole_numbers(200, random);
      Scratch memory(4 * block * (rows * columns + sources));
      float* const gradient = memory.at(0);
      float* const result = memory.at(block * rows * columns);
      const Numbers start = small_whole_numbers(block * (rows * columns + sources), random);
      std::copy(start.begin(), start.end(), gradient);
      std::vector<std::int64_t> offsets;
      for (std::int64_t i = 0; i < sources; ++i) offsets.push_back(pick(0, 90));
      const bool adds = round % 2 == 0;
      kernels.multiply_pixels({.gradient = gradient,
                               .source = source.data(),
                               .source_offsets = offsets.data(),
                               .sources = sources,
                               .rows = rows,
                               .columns = columns,
                               .source_row_step = row_step,
                               .source_pixel_step = pixel_step,
                               .result = result,
                               .adds = adds});
      for (std::int64_t j = 0; j < sources; ++j) {
        for (std::int64_t i = 0; i < block; ++i) {
          float sum = adds ? start[static_cast<std::size_t>(block * (rows * columns + j) + i)] : 0;
          for (std::int64_t y = 0; y < rows; ++y) {
            for (std::int64_t x = 0; x < columns; ++x) {
              sum += gradient[(y * columns + x) * block + i] *
                     source.at(static_cast<std::size_t>(offsets[static_cast<std::size_t>(j)] +
                                                        y * row_step + x * pixel_step));
            }
          }
          ASSERT_EQ(result[j * block + i], sum) << "source " << j << ", lane " << i;
        }
      }
    }
  }
}

TEST(DirectKernels, every_vector_unit_sums_taps_with_channels_side_by_side) {
  if (const auto reason = vector_refusal()) GTEST_SKIP() << *reason;
  std::mt19937 random(5);
  for (const DirectKernels& kernels : compiled_kernels<DirectKernels>().usable()) {
    const std::int64_t block = kernels.pixel_block();
    const std::int64_t most = kernels.lane_pixels();
    for (std::int64_t round = 0; round < 9 * most; ++round) {
      const std::int64_t pixels = 1 + round % most, pixel_step = 1 + round % 3;
      const std::int64_t channels = 1 + round % 4, step = 100,
                         result_step = (1 + round % 2) * block;
      std::vector<LaneTap> taps;
      for (std::int64_t t = 0; t < round % 6; ++t) {  // offsets fit, and order is no rule
        taps.push_back({t * 17 % 40, (5 - t) * block,
                        std::clamp<std::int64_t>(t - most_outside, -pixels, pixels)});
      }
      const std::int64_t panel = 6 * block;
      const Numbers source = small_whole_numbers(channels * step, random);
      const Numbers start = small_whole_numbers(channels * panel + pixels * result_step, random);
      Scratch memory(4 * (channels * panel + pixels * result_step));
      std::copy(start.begin(), start.end(), memory.at(0));
      float* const result = memory.at(channels * panel);
      const bool adds = round % 5 < 2;
      kernels.add_lanes({.source = source.data(),
                         .channels = channels,
                         .channel_step = step,
                         .pixel_step = pixel_step,
                         .taps = taps.data(),
                         .tap_count = std::ssize(taps),
                         .weights = memory.at(0),
                         .weight_step = panel,
                         .result = result,
                         .result_step = result_step,
                         .pixels = pixels,
                         .adds = adds});
      for (std::int64_t i = 0; i < pixels * result_step; ++i) {
        const std::int64_t p = i / result_step, r = i % result_step;
        const float before = start[static_cast<std::size_t>(channels * panel + i)];
        float sum = adds || r >= block ? before : 0;
        for (std::int64_t c = 0; r < block && c < channels; ++c) {
          for (const LaneTap& tap : taps) {
            if (p < tap.outside || p >= pixels + std::min<std::int64_t>(0, tap.outside)) continue;
            sum += start[static_cast<std::size_t>(c * panel + tap.weights + r)] *
                   source[static_cast<std::size_t>(c * step + tap.offset + p * pixel_step)];
          }
        }
        ASSERT_EQ(result[i], sum) << pixels << " pixels, pixel " << p << ", lane " << r;
      }
    }
  }
}

TEST(DirectKernels, every_vector_unit_turns_matrices_and_touches_nothing_else) {
  if (const auto reason = vector_refusal()) GTEST_SKIP() << *reason;
  std::mt19937 random(4);
  for (const DirectKernels& kernels : compiled_kernels<DirectKernels>().usable()) {
    for (std::int64_t height = 1; height < 11; ++height) {
      for (std::int64_t width = 1; width < 11; ++width) {
        const std::int64_t from_step = width + height % 3;
        const std::int64_t to_step = height + width % 4;
        const Numbers from = small_whole_numbers(height * from_step, random);
        Numbers to(static_cast<std::size_t>(width * to_step), 9.0F);
        kernels.turn({from.data(), from_step, height, width, to.data(), to_step});
        for (std::int64_t x = 0; x < width; ++x) {
          for (std::int64_t y = 0; y < to_step; ++y) {
            const float expected =
                y < height ? from[static_cast<std::size_t>(y * from_step + x)] : 9.0F;
            ASSERT_EQ(to[static_cast<std::size_t>(x * to_step + y)], expected);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace strata::cpu
