// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/child_process.hpp"
#include "strata/importers/keras/container.hpp"
#include "strata/importers/keras/document.hpp"

#include <hdf5.h>

namespace strata::keras {
namespace {

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
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "a type");
  check(H5Tset_size(type.get(), H5T_VARIABLE));
  check(H5Tset_cset(type.get(), H5Tget_cset(stored_type)));
  char* text = nullptr;
  check(H5Aread(attribute, type.get(), static_cast<void*>(&text)));
  std::string result = text == nullptr ? "" : text;
  H5free_memory(text);
  if (result.size() > most_bytes) fail_too_long(result.size());
  return result;
}

std::string fixed_text(hid_t attribute, hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  if (bytes > most_bytes) fail_too_long(bytes);
  std::string text(bytes, '\0');
  check(H5Aread(attribute, type, text.data()));
  text.resize(text.find_last_not_of(std::string("\0 ", 2)) + 1);
  return text;
}

std::string read_model_config(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);  // a file may not bring code along
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "anything");
  // Reading needs no lock, and some file systems have none.
  H5Pset_file_locking(access.get(), false, true);
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose, "it");
  if (H5Aexists(file.get(), "model_config") <= 0) {
    fail(ErrorKind::unsupported,
         "an HDF5 file without the attribute model_config: weights only, or no Keras file; save "
         "the whole model with model.save(), or the architecture with model.to_json()");
  }
  const Handle attribute(H5Aopen(file.get(), "model_config", H5P_DEFAULT), H5Aclose,
                         "the attribute model_config");
  const Handle type(H5Aget_type(attribute.get()), H5Tclose, "the attribute model_config");
  const Handle space(H5Aget_space(attribute.get()), H5Sclose, "the attribute model_config");
  if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1) {
    fail(ErrorKind::input, "expected a text for the attribute model_config");
  }
  return H5Tis_variable_str(type.get()) > 0 ? variable_text(attribute.get(), type.get())
                                            : fixed_text(attribute.get(), type.get());
}

}  // namespace

std::string hdf5_model_config(const std::filesystem::path& path) {
  const std::string name = path.string();
  return run_in_child("HDF5", [&name] { return read_model_config(name); });
}

}  // namespace strata::keras
