// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/loaded_library.hpp"
#include "strata/importers/keras/child_process.hpp"
#include "strata/importers/keras/container.hpp"
#include "strata/importers/keras/document.hpp"

#include <hdf5.h>
#include <stdlib.h>  // setenv

namespace strata::keras {
namespace {

/// What is called of the HDF5 library. It is loaded for the first file, as it brings thirty others
/// along: they would take half of the time in which the program starts.
struct Hdf5 {
// clang-format off
#define STRATA_HDF5_FUNCTIONS(f)                                                          \
  f(H5free_memory) f(H5Eset_auto2) f(H5PLset_loading_state) f(H5Fopen) f(H5Fclose)        \
  f(H5Aexists) f(H5Aopen) f(H5Aclose) f(H5Aread) f(H5Aget_type) f(H5Aget_space)           \
  f(H5Sclose) f(H5Sget_simple_extent_npoints) f(H5Tcreate) f(H5Tclose) f(H5Tset_cset)     \
  f(H5Tget_cset) f(H5Tget_size) f(H5Tget_class) f(H5Tis_variable_str)
// clang-format on
#define STRATA_DECLARE(name) decltype(&::name) name = nullptr;
  STRATA_HDF5_FUNCTIONS(STRATA_DECLARE)
#undef STRATA_DECLARE
  static constexpr unsigned read_only = 0;  // whose macro would call the library itself

  Hdf5() {
    const LoadedLibrary library(STRATA_HDF5_LIBRARY);
#define STRATA_FIND(name) library.find(#name, name);
    STRATA_HDF5_FUNCTIONS(STRATA_FIND)
#undef STRATA_FIND
#undef STRATA_HDF5_FUNCTIONS
  }
};

const Hdf5& hdf5() {
  static const Hdf5 library;
  return library;
}

/// An identifier of the HDF5 library with the function that gives it back.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), std::string_view what) : id_(id), close_(close) {
    if (id_ < 0) fail(ErrorKind::input, "the file is damaged: HDF5 cannot read {}", what);
  }
  ~Handle() { close_(id_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  hid_t get() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

[[noreturn]] void fail_too_long(std::size_t bytes) {
  fail(ErrorKind::input, "the attribute model_config has {} bytes, the most is {}", bytes,
       most_bytes);
}

void check(herr_t status) {
  if (status < 0) {
    fail(ErrorKind::input, "the file is damaged: HDF5 cannot read the attribute model_config");
  }
}

std::string variable_text(hid_t attribute, hid_t stored_type) {
  const Hdf5& h = hdf5();
  const Handle type(h.H5Tcreate(H5T_STRING, H5T_VARIABLE), h.H5Tclose, "a type");
  check(h.H5Tset_cset(type.get(), h.H5Tget_cset(stored_type)));
  char* text = nullptr;
  check(h.H5Aread(attribute, type.get(), static_cast<void*>(&text)));
  std::string result = text == nullptr ? "" : text;
  h.H5free_memory(text);
  if (result.size() > most_bytes) fail_too_long(result.size());
  return result;
}

std::string fixed_text(hid_t attribute, hid_t type) {
  const Hdf5& h = hdf5();
  const std::size_t bytes = h.H5Tget_size(type);
  if (bytes > most_bytes) fail_too_long(bytes);
  std::string text(bytes, '\0');
  check(h.H5Aread(attribute, type, text.data()));
  text.resize(text.find_last_not_of(std::string("\0 ", 2)) + 1);
  return text;
}

std::string read_model_config(const std::string& path) {
  // Reading needs no lock, and some file systems have none. This process is a child that only
  // reads.
  ::setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
  const Hdf5& h = hdf5();
  h.H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  h.H5PLset_loading_state(0);  // a file may not bring code along
  const Handle file(h.H5Fopen(path.c_str(), Hdf5::read_only, H5P_DEFAULT), h.H5Fclose, "it");
  if (h.H5Aexists(file.get(), "model_config") <= 0) {
    fail(ErrorKind::unsupported,
         "an HDF5 file without the attribute model_config: weights only, or no Keras file; save "
         "the whole model with model.save(), or the architecture with model.to_json()");
  }
  const Handle attribute(h.H5Aopen(file.get(), "model_config", H5P_DEFAULT), h.H5Aclose,
                         "the attribute model_config");
  const Handle type(h.H5Aget_type(attribute.get()), h.H5Tclose, "the attribute model_config");
  const Handle space(h.H5Aget_space(attribute.get()), h.H5Sclose, "the attribute model_config");
  if (h.H5Tget_class(type.get()) != H5T_STRING ||
      h.H5Sget_simple_extent_npoints(space.get()) != 1) {
    fail(ErrorKind::input, "expected a text for the attribute model_config");
  }
  return h.H5Tis_variable_str(type.get()) > 0 ? variable_text(attribute.get(), type.get())
                                              : fixed_text(attribute.get(), type.get());
}

}  // namespace

std::string hdf5_model_config(const std::filesystem::path& path) {
  const std::string name = path.string();
  return run_in_child("HDF5", [&name] { return read_model_config(name); });
}

}  // namespace strata::keras
