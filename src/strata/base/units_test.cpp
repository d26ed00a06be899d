// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace strata {
namespace {

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(Units, bytes_are_in_powers_of_1000) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(1024), "1.02 kB");
  EXPECT_EQ(format_bytes(128 << 20), "134 MB");
  EXPECT_EQ(format_bytes(98e6), "98.0 MB");
  EXPECT_EQ(format_bytes(2.9e9, 4), "2.900 GB");
  EXPECT_EQ(format_bytes(1e18), "1.00 EB");
}

TEST(Units, capacities_are_in_powers_of_1024) {
  EXPECT_EQ(format_capacity(0), "0 B");
  EXPECT_EQ(format_capacity(1023), "1023 B");
  EXPECT_EQ(format_capacity(1024), "1.00 KiB");
  EXPECT_EQ(format_capacity(128 << 20), "128 MiB");
  EXPECT_EQ(format_capacity(128e6), "122 MiB");
  EXPECT_EQ(format_capacity(1010.0 * 1024), "1010 KiB");
  EXPECT_EQ(format_capacity(2.9 * 1024 * 1024 * 1024), "2.90 GiB");
  EXPECT_EQ(format_capacity(std::ldexp(1, 63)), "8.00 EiB");
}

// Two numbers of one line divide: 98 MB at 49 GB/s take 2 ms.
TEST(Units, bytes_over_a_rate_are_the_time) {
  EXPECT_EQ(format_bytes(98e6), "98.0 MB");
  EXPECT_EQ(format_bytes_per_s(49e9), "49.0 GB/s");
  EXPECT_EQ(format_time(98e6 / 49e9), "2.00 ms");
}

TEST(Units, rates_and_counts_are_in_powers_of_1000) {
  EXPECT_EQ(format_bytes_per_s(616e9), "616 GB/s");
  EXPECT_EQ(format_bytes_per_s(3.35e12), "3.35 TB/s");
  EXPECT_EQ(format_bytes_per_s(1500), "1.50 kB/s");
  EXPECT_EQ(format_flop_per_s(13.45e12, 4), "13.45 TFLOP/s");
  EXPECT_EQ(format_flop(7.552e9), "7.55 GFLOP");
  EXPECT_EQ(format_flop(0), "0 FLOP");
  EXPECT_EQ(format_count(25557032), "25.6 M");
  EXPECT_EQ(format_count(9408), "9.41 K");
  EXPECT_EQ(format_count(750), "750");
  EXPECT_EQ(format_count(0.5), "0.50");
  EXPECT_EQ(format_count(-9408), "-9.41 K");
}

TEST(Units, times_have_the_unit_that_suits_them) {
  EXPECT_EQ(format_time(0.0421), "42.1 ms");
  EXPECT_EQ(format_time(2.1e-6), "2.10 µs");
  EXPECT_EQ(format_time(3), "3 s");
  EXPECT_EQ(format_time(3.25), "3.25 s");
  EXPECT_EQ(format_time(7200), "7200 s");
  EXPECT_EQ(format_time(0), "0 s");
}

TEST(Units, rounding_moves_on_to_the_next_unit) {
  EXPECT_EQ(format_count(999.6e3), "1.00 M");
  EXPECT_EQ(format_count(999.4e3), "999 K");
  EXPECT_EQ(format_capacity(1023.7 * 1024), "1.00 MiB");
  EXPECT_EQ(format_bytes(999.7e3), "1.00 MB");
  EXPECT_EQ(format_count(9.999e6), "10.0 M");
  EXPECT_EQ(format_count(99.99e6), "100 M");
}

TEST(Units, what_is_no_number_is_shown_as_such) {
  EXPECT_EQ(format_time(std::numeric_limits<double>::quiet_NaN()), "?");
  EXPECT_EQ(format_time(std::numeric_limits<double>::infinity()), "∞");
}

TEST(Units, exact_numbers_have_separators) {
  EXPECT_EQ(format_exact(25557032), "25,557,032");
  EXPECT_EQ(format_exact(999), "999");
  EXPECT_EQ(format_exact(-1000), "-1,000");
  EXPECT_EQ(format_exact(-999), "-999");
  EXPECT_EQ(format_exact(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(Units, sizes_are_read_in_both_families) {
  EXPECT_EQ(parse_bytes("128MB", "size"), 128'000'000);
  EXPECT_EQ(parse_bytes("128MiB", "size"), 128 << 20);
  EXPECT_EQ(parse_bytes(" 128 mib ", "size"), 128 << 20);
  EXPECT_EQ(parse_bytes("128gb", "size"), 128'000'000'000);
  EXPECT_EQ(parse_bytes("4096B", "size"), 4096);
  EXPECT_EQ(parse_bytes("4KB", "size"), 4000);
  EXPECT_EQ(parse_bytes("4kB", "size"), 4000);
  EXPECT_EQ(parse_bytes("4KiB", "size"), 4096);
  EXPECT_EQ(parse_bytes("1.5GB", "size"), 1'500'000'000);
  EXPECT_EQ(parse_bytes("1.5GiB", "size"), 3LL << 29);
  EXPECT_EQ(parse_bytes("0.1KiB", "size"), 102);
  EXPECT_EQ(parse_bytes("2TB", "size"), 2'000'000'000'000);
  EXPECT_EQ(parse_bytes("0", "size"), 0);
  EXPECT_EQ(parse_bytes("0MB", "size"), 0);
}

TEST(Units, bits_are_not_taken_for_bytes) {
  const auto message_of = [](const auto& parse) -> std::string {
    try {
      parse();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message_of([] { parse_bytes("128Gb", "size"); }),
            "size: '128Gb' is in bits: write 16GB");
  EXPECT_EQ(message_of([] { parse_bytes_per_s("400Gb/s", "rate"); }),
            "rate: '400Gb/s' is in bits: write 50GB/s");
  EXPECT_EQ(message_of([] { parse_bytes("8Mib", "size"); }), "size: '8Mib' is in bits: write 1MiB");
}

TEST(Units, rates_are_read_as_people_write_them) {
  EXPECT_EQ(parse_bytes_per_s("616GB/s", "rate"), 616e9);
  EXPECT_EQ(parse_bytes_per_s("616 gb/s", "rate"), 616e9);
  EXPECT_EQ(parse_bytes_per_s("1GiB/s", "rate"), 1073741824.0);
  EXPECT_EQ(parse_bytes_per_s("9e11B/s", "rate"), 9e11);
  EXPECT_EQ(parse_flop_per_s("13.45TFLOP/s", "rate"), 13.45e12);
  EXPECT_EQ(parse_flop_per_s("13.45 TFLOP/s", "rate"), 13.45e12);
  EXPECT_EQ(parse_flop_per_s("13.45TFLOPS", "rate"), 13.45e12);
  EXPECT_EQ(parse_flop_per_s("1e9FLOP/s", "rate"), 1e9);
  EXPECT_EQ(parse_count("1.5K", "count"), 1500);
  EXPECT_EQ(parse_count("2m", "count"), 2000000);
  EXPECT_EQ(parse_number("13.45T", "number"), 13.45e12);
  EXPECT_EQ(parse_number("1.25", "number"), 1.25);
  EXPECT_EQ(parse_time("2.1us", "time"), 2.1e-6);
  EXPECT_EQ(parse_time("2.1 µs", "time"), 2.1e-6);
  EXPECT_EQ(parse_time("10ms", "time"), 10e-3);
  EXPECT_EQ(parse_time("3", "time"), 3);
}

TEST(Units, a_size_without_a_unit_is_refused_with_what_to_write) {
  const auto refusal = [](std::string_view text) {
    return message_of([&] { parse_bytes(text, "--capacity"); });
  };
  EXPECT_EQ(refusal("128"),
            "--capacity: '128' has no unit: write 128MB (10^6 bytes) or 128MiB (2^20 bytes)");
  EXPECT_EQ(refusal("128M"),
            "--capacity: '128M' has no unit: write 128MB (10^6 bytes) or 128MiB (2^20 bytes)");
  EXPECT_EQ(refusal("1.5 g"),
            "--capacity: '1.5 g' has no unit: write 1.5GB (10^9 bytes) or 1.5GiB (2^30 bytes)");
  EXPECT_EQ(refusal("64K"),
            "--capacity: '64K' has no unit: write 64kB (10^3 bytes) or 64KiB (2^10 bytes)");
  EXPECT_EQ(refusal("134217728"), "--capacity: '134217728' has no unit: write 134217728B");
}

TEST(Units, a_rate_without_a_unit_is_refused_with_what_to_write) {
  const auto bytes = [](std::string_view text) {
    return message_of([&] { parse_bytes_per_s(text, "--bandwidth"); });
  };
  EXPECT_EQ(bytes("616"), "--bandwidth: '616' has no unit: write 616GB/s");
  EXPECT_EQ(bytes("616G"), "--bandwidth: '616G' has no unit: write 616GB/s");
  EXPECT_EQ(bytes("9e11"), "--bandwidth: '9e11' has no unit: write 9e11B/s");
  EXPECT_EQ(bytes("616GB"), "--bandwidth: '616GB' is a size: write 616GB/s");
  EXPECT_EQ(bytes("616GFLOP/s"),
            "--bandwidth expects a rate like 616GB/s or 3.35TB/s, got "
            "'616GFLOP/s'");
  const auto flop = [](std::string_view text) {
    return message_of([&] { parse_flop_per_s(text, "--throughput"); });
  };
  EXPECT_EQ(flop("13.45T"), "--throughput: '13.45T' has no unit: write 13.45TFLOP/s");
  EXPECT_EQ(flop("13.45"), "--throughput: '13.45' has no unit: write 13.45TFLOP/s");
  EXPECT_EQ(flop("1.345e13"), "--throughput: '1.345e13' has no unit: write 1.345e13FLOP/s");
  EXPECT_EQ(flop("13TFLOP"),
            "--throughput expects a rate like 13.45TFLOP/s or 900GFLOP/s, got "
            "'13TFLOP'");
}

TEST(Units, names_say_which_bytes_are_capacities) {
  for (const char* name : {"capacity_bytes", "footprint_bytes", "peak_memory_bytes",
                           "scratch_bytes", "machine_memory_l2_capacity_bytes"}) {
    EXPECT_TRUE(is_capacity_name(name)) << name;
  }
  for (const char* name : {"traffic_in_bytes", "parameter_bytes", "offered_bytes",
                           "machine_memory_dram_bandwidth_bytes_per_s"}) {
    EXPECT_FALSE(is_capacity_name(name)) << name;
  }
}

TEST(Units, an_error_says_what_was_expected_and_what_came) {
  EXPECT_EQ(message_of([] { parse_bytes("128XB", "--capacity"); }),
            "--capacity expects a size like 128MB (10^6 bytes) or 128MiB (2^20 bytes), got "
            "'128XB'");
  EXPECT_EQ(message_of([] { parse_whole_number("zero", "--batch"); }),
            "--batch expects a whole number of at least 1, got 'zero'");
  EXPECT_EQ(message_of([] { parse_whole_number("7", "--axis", 0, 3); }),
            "--axis expects a whole number between 0 and 3, got '7'");
  EXPECT_EQ(message_of([] { parse_whole_number("99999999999999999999", "--batch"); }),
            "--batch: '99999999999999999999' does not fit in 64 bits");
}

TEST(Units, hostile_numbers_are_refused) {
  for (const char* text :
       {"", " ", "-1", "-0MB", "nan", "inf", "1e999", "MB", "1 2", "0x10", "1,5GB", "--json"}) {
    EXPECT_NE(message_of([&] { parse_bytes(text, "size"); }), "no error") << text;
    EXPECT_NE(message_of([&] { parse_bytes_per_s(text, "rate"); }), "no error") << text;
    EXPECT_NE(message_of([&] { parse_flop_per_s(text, "rate"); }), "no error") << text;
    EXPECT_NE(message_of([&] { parse_count(text, "count"); }), "no error") << text;
    EXPECT_NE(message_of([&] { parse_time(text, "time"); }), "no error") << text;
  }
  EXPECT_EQ(message_of([] { parse_bytes("10EB", "size"); }),
            "size: '10EB' is too large for 64 bits");
  EXPECT_NE(message_of([] { parse_count("1.5", "count"); }), "no error");
  for (const char* text : {"", "0", "-1", "1.0", "1e3", "+1", "1x", "0x10"}) {
    EXPECT_NE(message_of([&] { parse_whole_number(text, "batch"); }), "no error") << text;
  }
}

// What is printed can be typed in again, and means the same up to the rounding.
RC_GTEST_PROP(Units, formatted_numbers_read_back, ()) {
  const double value = std::pow(10.0, *rc::gen::inRange(0, 1800) / 100.0);
  const auto is_near = [&](double back) { return std::fabs(back - value) <= 0.005 * value + 0.5; };
  RC_ASSERT(is_near(static_cast<double>(parse_bytes(format_bytes(value), "size"))));
  RC_ASSERT(is_near(static_cast<double>(parse_bytes(format_capacity(value), "size"))));
  RC_ASSERT(is_near(parse_bytes_per_s(format_bytes_per_s(value), "rate")));
  RC_ASSERT(is_near(parse_flop_per_s(format_flop_per_s(value), "rate")));
  RC_ASSERT(is_near(static_cast<double>(parse_count(format_count(std::round(value)), "count"))));
  const double seconds = value * 1e-9;
  RC_ASSERT(std::fabs(parse_time(format_time(seconds), "time") - seconds) <=
            0.005 * seconds + 1e-11);
}

RC_GTEST_PROP(Units, whole_powers_of_two_read_back_exactly, ()) {
  const std::int64_t bytes = std::int64_t{1} << *rc::gen::inRange(0, 62);
  RC_ASSERT(parse_bytes(format_capacity(static_cast<double>(bytes)), "size") == bytes);
}

TEST(Units, one_unit_for_many_numbers_is_the_largest_that_fits) {
  EXPECT_EQ(bytes_unit(999).name, "B");
  EXPECT_EQ(bytes_unit(1 << 20).name, "MB");
  EXPECT_EQ(bytes_unit(1 << 20).size, 1e6);
  EXPECT_EQ(capacity_unit(1023).name, "B");
  EXPECT_EQ(capacity_unit(1 << 20).name, "MiB");
  EXPECT_EQ(capacity_unit(1 << 20).size, 1 << 20);
  EXPECT_EQ(count_unit(616e9, "B/s").name, "GB/s");
  EXPECT_EQ(count_unit(616e9, "B/s").size, 1e9);
  EXPECT_EQ(count_unit(0).name, "");
  EXPECT_EQ(time_unit(0.0559).name, "ms");
  EXPECT_EQ(time_unit(0).name, "ns");
}

}  // namespace
}  // namespace strata
