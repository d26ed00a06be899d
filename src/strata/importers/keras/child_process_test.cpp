// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/child_process.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <vector>

namespace strata::keras {
namespace {

std::string child_complaint(const std::function<std::string()>& work,
                            const ChildLimits& limits = {}) {
  try {
    run_in_child("libx", work, limits);
  } catch (const Error& error) {
    return fmt::format("{}: {}", name_of(error.kind()), error.what());
  }
  return "nothing";
}

TEST(ChildProcess, gives_back_what_the_work_returns) {
  EXPECT_EQ(run_in_child("libx", [] { return std::string("answer"); }), "answer");
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(run_in_child("libx", [&] { return large; }), large);
  EXPECT_EQ(run_in_child("libx", [] { return std::string(); }), "");
}

// The pipe to the child then has the number of a stream.
TEST(ChildProcess, answers_a_program_whose_streams_are_closed) {
  const std::vector<int> streams = {STDIN_FILENO, STDOUT_FILENO};
  std::vector<int> kept;
  for (const int stream : streams) {
    kept.push_back(dup(stream));
    close(stream);
  }
  const std::string answer = child_complaint([] { return std::string("answer"); });
  for (std::size_t i = 0; i < streams.size(); ++i) {
    dup2(kept[i], streams[i]);
    close(kept[i]);
  }
  EXPECT_EQ(answer, "nothing");
}

TEST(ChildProcess, an_error_comes_out_as_it_is) {
  EXPECT_EQ(child_complaint([]() -> std::string { fail(ErrorKind::unsupported, "no such thing"); }),
            "unsupported: no such thing");
}

TEST(ChildProcess, a_crash_is_an_input_error) {
  EXPECT_EQ(child_complaint([] {
              signal(SIGSEGV, SIG_DFL);  // a sanitizer would catch it
              raise(SIGSEGV);
              return std::string();
            }),
            "input: the file is damaged: libx crashed (signal 11) reading it");
}

TEST(ChildProcess, memory_is_limited) {
  const std::string message = child_complaint([] {
    std::vector<std::unique_ptr<std::vector<char>>> hoard;
    for (int i = 0; i < 64; ++i) {
      hoard.push_back(std::make_unique<std::vector<char>>(std::size_t{16} << 20, 'x'));
    }
    return fmt::format("{}", hoard.size());
  });
  EXPECT_TRUE(message.starts_with("input: ")) << message;
}

TEST(ChildProcess, time_is_limited) {
  const auto forever = [] {
    for (volatile bool goes_on = true; goes_on;) {
    }
    return std::string();
  };
  EXPECT_EQ(child_complaint(forever),
            "input: the file is damaged: libx took more than 1 s reading it");
}

}  // namespace
}  // namespace strata::keras
