// SPDX-License-Identifier: Apache-2.0
// strata._strata, what the Python package `strata` is built on: runs a command of the program
// inside Python's process. It has no logic of its own, so words mean what they mean on the command
// line.
#include "cli/command.hpp"
#include "cli/guest.hpp"
#include "cli/machine_at_hand.hpp"
#include "cli/output_files.hpp"
#include "cli/parse.hpp"
#include "cli/program.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/version.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

using Words = std::vector<std::string>;

/// Names of files in it may be no UTF-8.
py::object text_of(const std::string& text) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(decoded);
}

/// One command on a thread of its own, so that Python's thread can look at signals meanwhile.
class Call {
 public:
  Call(Words words, Words outputs) : words_(std::move(words)), outputs_(std::move(outputs)) {}

  void run() {
    try {
      const strata::GuestRun run(guest_);
      run_command();
    } catch (const strata::Error& error) {
      set_failure(error.kind(), error.what());
    } catch (const std::bad_alloc&) {
      set_failure(strata::ErrorKind::environment, "not enough memory");
    } catch (const std::exception& error) {
      set_failure(strata::ErrorKind::internal, error.what());
    }
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    ended_.notify_all();
  }

  bool is_done_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, time, [&] { return is_done_; });
  }

  void stop() { guest_.is_stopped = true; }

  /// Exit code, text for people, messages, kind and text of the failure; only of a call that ended.
  py::tuple result() const {
    return py::make_tuple(code_, text_of(guest_.output), text_of(guest_.messages), failure_kind_,
                          text_of(failure_text_));
  }

 private:
  void run_command() {
    const strata::Command& command = strata::command_named(words_.front());
    Words rest(words_.begin() + 1, words_.end());
    rest.insert(rest.end(), outputs_.begin(), outputs_.end());
    strata::Arguments given = strata::parse(command, rest);
    strata::expect_writable_outputs(command, given);
    code_ = command.run({std::move(given), {}, strata::command_line_of(words_), words_});
  }

  /// Messages quote what files say, and Python shows exceptions as they are.
  void set_failure(strata::ErrorKind kind, std::string_view text) {
    failure_kind_ = strata::name_of(kind);
    failure_text_ = strata::printable_lines(text);
  }

  Words words_;
  Words outputs_;
  strata::Guest guest_;
  int code_ = 0;
  std::string failure_kind_;
  std::string failure_text_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_done_ = false;
};

/// Calls that were interrupted and had not ended: a prediction cannot be stopped, only left alone.
/// They end before Python does, whose exit would take away what they use.
std::vector<std::thread>& left_alone() {
  static std::vector<std::thread> threads;
  return threads;
}

void wait_for_left_alone() {
  const py::gil_scoped_release released;
  for (std::thread& thread : left_alone()) thread.join();
  left_alone().clear();
}

py::tuple run(Words words, Words outputs) {
  using namespace std::chrono_literals;
  const auto call = std::make_shared<Call>(std::move(words), std::move(outputs));
  std::thread thread;
  try {
    thread = std::thread([call] { call->run(); });
  } catch (const std::system_error&) {
    // The system has no more threads: this one runs the command, which cannot be interrupted then.
    const py::gil_scoped_release released;
    call->run();
  }
  if (!thread.joinable()) return call->result();
  const auto is_done_within = [&](std::chrono::milliseconds time) {
    const py::gil_scoped_release released;
    return call->is_done_within(time);
  };
  while (!is_done_within(50ms)) {
    if (PyErr_CheckSignals() == 0) continue;
    py::error_already_set interrupt;  // KeyboardInterrupt, or what a handler of signals raised
    call->stop();
    if (is_done_within(500ms)) {
      thread.join();
    } else {
      left_alone().push_back(std::move(thread));
    }
    throw interrupt;
  }
  thread.join();
  return call->result();
}

/// The options of a command: name, what stands for the value ("" of a switch), help, and whether it
/// may be given several times.
using FlagFacts = std::tuple<std::string, std::string, std::string, bool>;
std::vector<FlagFacts> flags(const std::string& command) {
  std::vector<FlagFacts> all;
  for (const strata::Flag& flag : strata::command_named(command).flags)
    all.emplace_back(flag.name, flag.value, flag.help, flag.repeats);
  return all;
}

}  // namespace

PYBIND11_MODULE(_strata, module) {
  using py::arg;
  module.doc() = "Runs commands of Strata inside Python's process.";
  module.attr("version") = std::string(strata::version);
  module.def("run", run, arg("words"), arg("outputs"),
             "Runs a command. `outputs` are words for it that no document mentions. Returns its "
             "exit code, text, messages, and the kind and text of its failure.");
  module.def("flags", flags, arg("command"),
             "The options of a command: name, value, help, whether it may be given several times.");
  strata::also_find_machines(strata::measured_machine_named);
  py::module_::import("atexit").attr("register")(py::cpp_function(wait_for_left_alone));
}
