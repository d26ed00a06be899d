// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/png.hpp"

#include "strata/base/error.hpp"

#include <cairo-pdf.h>
#include <dlfcn.h>
#include <librsvg/rsvg.h>

#include <cmath>
#include <memory>

namespace strata {
namespace {

/// The functions of librsvg, cairo and GLib that Strata calls. They bring some forty libraries, and
/// loading them takes longer than most commands run: they are loaded when a picture is asked for.
struct RsvgFunctions {
  decltype(&rsvg_handle_new_from_data) new_from_data;
  decltype(&rsvg_handle_get_intrinsic_size_in_pixels) size_in_pixels;
  decltype(&rsvg_handle_render_document) render;
  decltype(&cairo_image_surface_create) new_surface;
  decltype(&cairo_surface_status) surface_status;
  decltype(&cairo_surface_destroy) destroy_surface;
  decltype(&cairo_surface_write_to_png_stream) write_png;
  decltype(&cairo_pdf_surface_create_for_stream) new_pdf;
  decltype(&cairo_surface_finish) finish_surface;
  decltype(&cairo_create) new_context;
  decltype(&cairo_destroy) destroy_context;
  decltype(&g_object_unref) unref;
  decltype(&g_error_free) free_error;
};

template <class Function>
void find_rsvg_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) fail(ErrorKind::environment, "{} lacks {}", STRATA_RSVG_LIBRARY, name);
}

RsvgFunctions load_rsvg() {
  // Never closed: GLib does not support that. What it depends on is found through it.
  void* const library = ::dlopen(STRATA_RSVG_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    fail(ErrorKind::environment,
         "the library that draws PNG and PDF cannot be loaded ({}): install librsvg2-2; SVG works "
         "without it: --out FILE.svg",
         ::dlerror());
  RsvgFunctions rsvg{};
  find_rsvg_function(library, "rsvg_handle_new_from_data", rsvg.new_from_data);
  find_rsvg_function(library, "rsvg_handle_get_intrinsic_size_in_pixels", rsvg.size_in_pixels);
  find_rsvg_function(library, "rsvg_handle_render_document", rsvg.render);
  find_rsvg_function(library, "cairo_image_surface_create", rsvg.new_surface);
  find_rsvg_function(library, "cairo_surface_status", rsvg.surface_status);
  find_rsvg_function(library, "cairo_surface_destroy", rsvg.destroy_surface);
  find_rsvg_function(library, "cairo_surface_write_to_png_stream", rsvg.write_png);
  find_rsvg_function(library, "cairo_pdf_surface_create_for_stream", rsvg.new_pdf);
  find_rsvg_function(library, "cairo_surface_finish", rsvg.finish_surface);
  find_rsvg_function(library, "cairo_create", rsvg.new_context);
  find_rsvg_function(library, "cairo_destroy", rsvg.destroy_context);
  find_rsvg_function(library, "g_object_unref", rsvg.unref);
  find_rsvg_function(library, "g_error_free", rsvg.free_error);
  return rsvg;
}

const RsvgFunctions& rsvg_functions() {
  static const RsvgFunctions rsvg = load_rsvg();
  return rsvg;
}

struct ReleaseRsvg {
  void operator()(RsvgHandle* handle) const { rsvg_functions().unref(handle); }
  void operator()(cairo_surface_t* surface) const { rsvg_functions().destroy_surface(surface); }
  void operator()(cairo_t* context) const { rsvg_functions().destroy_context(context); }
};
template <class Object>
using Owned = std::unique_ptr<Object, ReleaseRsvg>;

[[noreturn]] void fail_with(GError* error) {
  const std::string reason = error == nullptr ? "no reason given" : error->message;
  if (error != nullptr) rsvg_functions().free_error(error);
  fail(ErrorKind::input, "this SVG cannot be drawn: {}", reason);
}

cairo_status_t append(void* text, const unsigned char* data, unsigned int size) {
  static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(data), size);
  return CAIRO_STATUS_SUCCESS;
}

struct ReadSvg {
  Owned<RsvgHandle> handle;
  double width = 0;  // pixels
  double height = 0;
};

ReadSvg read_svg(std::string_view svg) {
  const RsvgFunctions& rsvg = rsvg_functions();
  GError* error = nullptr;
  ReadSvg read;
  read.handle.reset(
      rsvg.new_from_data(reinterpret_cast<const unsigned char*>(svg.data()), svg.size(), &error));
  if (read.handle == nullptr) fail_with(error);
  if (rsvg.size_in_pixels(read.handle.get(), &read.width, &read.height) == FALSE) {
    fail(ErrorKind::input, "this SVG cannot be drawn: it does not say how large it is");
  }
  return read;
}

void draw_onto(cairo_surface_t* surface, const ReadSvg& read, double scale) {
  const RsvgFunctions& rsvg = rsvg_functions();
  const RsvgRectangle viewport{0, 0, std::ceil(read.width * scale), std::ceil(read.height * scale)};
  if (rsvg.surface_status(surface) != CAIRO_STATUS_SUCCESS) {
    fail(ErrorKind::input, "this SVG cannot be drawn: {} × {} pixels are too many", viewport.width,
         viewport.height);
  }
  const Owned<cairo_t> context(rsvg.new_context(surface));
  GError* error = nullptr;
  if (rsvg.render(read.handle.get(), context.get(), &viewport, &error) == FALSE) fail_with(error);
}

}  // namespace

std::string svg_to_png(std::string_view svg, double scale) {
  const RsvgFunctions& rsvg = rsvg_functions();
  const ReadSvg read = read_svg(svg);
  const Owned<cairo_surface_t> surface(
      rsvg.new_surface(CAIRO_FORMAT_ARGB32, static_cast<int>(std::ceil(read.width * scale)),
                       static_cast<int>(std::ceil(read.height * scale))));
  draw_onto(surface.get(), read, scale);
  std::string png;
  if (rsvg.write_png(surface.get(), append, &png) != CAIRO_STATUS_SUCCESS) {
    fail(ErrorKind::environment, "cannot make a PNG of this picture");
  }
  return png;
}

bool has_png() { return true; }

std::string svg_to_pdf(std::string_view svg) {
  const RsvgFunctions& rsvg = rsvg_functions();
  const ReadSvg read = read_svg(svg);
  std::string pdf;
  const Owned<cairo_surface_t> surface(rsvg.new_pdf(append, &pdf, read.width, read.height));
  draw_onto(surface.get(), read, 1);
  rsvg.finish_surface(surface.get());  // writes the end of the file
  if (rsvg.surface_status(surface.get()) != CAIRO_STATUS_SUCCESS)
    fail(ErrorKind::environment, "cannot make a PDF of this picture");
  return pdf;
}

}  // namespace strata
