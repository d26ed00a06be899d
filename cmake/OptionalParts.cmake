# SPDX-License-Identifier: Apache-2.0
# Parts that need a library which may be absent. Each has a stand-in that refuses with a reason, and exactly one of the
# two is built; no source asks by #ifdef. A part <name> is a folder <name>/ or files that begin with <name>_, and its
# stand-in is the folder no_<name>/ or the files no_<name>_*.
#
#   strata_optional_part(<name> HEADER <header> [LIBRARIES <name>...] [LOADED] [PATH_SUFFIXES <suffix>...]
#     [HINTS <folder>...] [INCLUDES_OF <module>] [OWN_INCLUDES] [LEAST <header> <macro> <number>]
#     [MOST <header> <macro> <number>] FOR <what it is for> WITHOUT <what a build without it cannot do, or does worse>)
#
# LEAST, MOST: the header, beside the other one, defines the macro as a number that must not be smaller or larger.
# OWN_INCLUDES: its headers are not for everybody; whoever needs them is given STRATA_<NAME>_INCLUDE_DIR by name.
# HINTS: folders outside the system's in which a vendor puts it; PATH_SUFFIXES are looked for below them too.
# INCLUDES_OF: its headers include those of other libraries, and pkg-config knows where they are.
# LOADED: the library is not linked but loaded by the part itself when it is first needed, from STRATA_<NAME>_LIBRARY: its
# name and major version (libdnnl.so.2), which a machine has that only runs Strata, with the folder where that is not the
# system's.
# STRATA_WITH_<NAME> is AUTO (built when the library is there), ON (an error when it is not) or OFF.
# The libraries are looked for as files: the distributions' CMake packages of libzip and HDF5 ask for more than a C
# library (command-line tools, a C compiler, MPI).

set(STRATA_OPTIONAL_LIBRARIES "")
set(STRATA_OPTIONAL_INCLUDE_DIRS "")
set(STRATA_OPTIONAL_DEFINITIONS "")
set(STRATA_ABSENT_PARTS "")
set(STRATA_PRESENT_PARTS "")
set(STRATA_LOADED_LIBRARIES "")  # files
set(STRATA_BUILD_PARTS "")  # lines for strata doctor: name, yes or no, what it is for, what is lost without it

macro(strata_note_part name is_there purpose)
  string(APPEND STRATA_BUILD_PARTS "${name}\t${is_there}\t${purpose}\t${ARGN}\n")
endmacro()

function(strata_loaded_name out library)
  set(name "${library}")
  if(CMAKE_READELF)
    execute_process(COMMAND "${CMAKE_READELF}" -d "${library}" OUTPUT_VARIABLE dynamic ERROR_QUIET)
    if(dynamic MATCHES "\\(SONAME\\)[^[]*\\[([^]]+)\\]")
      set(soname "${CMAKE_MATCH_1}")
      cmake_path(GET library PARENT_PATH folder)
      file(REAL_PATH "${folder}" folder)
      set(name "${folder}/${soname}")
      foreach(system_folder ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
        file(REAL_PATH "${system_folder}" system_folder)
        if(folder STREQUAL system_folder)
          set(name "${soname}")
        endif()
      endforeach()
    endif()
  endif()
  set(${out} "${name}" PARENT_SCOPE)
endfunction()

macro(strata_optional_part name)
  cmake_parse_arguments(part "LOADED;OWN_INCLUDES" "HEADER;INCLUDES_OF;FOR;WITHOUT" "LIBRARIES;PATH_SUFFIXES;HINTS;LEAST;MOST" ${ARGN})
  string(TOUPPER "${name}" upper)
  set(STRATA_WITH_${upper} AUTO CACHE STRING "${part_FOR}: AUTO, ON or OFF")
  set_property(CACHE STRATA_WITH_${upper} PROPERTY STRINGS AUTO ON OFF)

  set(part_found NO)
  if(NOT STRATA_WITH_${upper} STREQUAL "OFF")
    find_path(STRATA_${upper}_INCLUDE_DIR "${part_HEADER}" HINTS ${part_HINTS} PATH_SUFFIXES ${part_PATH_SUFFIXES})
    mark_as_advanced(STRATA_${upper}_INCLUDE_DIR)
    set(part_found "${STRATA_${upper}_INCLUDE_DIR}")
    foreach(bound LEAST MOST)
      if(part_${bound} AND part_found)
        list(GET part_${bound} 0 part_version_header)
        list(GET part_${bound} 1 part_version_macro)
        list(GET part_${bound} 2 part_version_bound)
        file(STRINGS "${STRATA_${upper}_INCLUDE_DIR}/${part_version_header}" part_version LIMIT_COUNT 1
          REGEX "define[ \t]+${part_version_macro}[ \t]+[0-9]+")
        string(REGEX REPLACE "^.*[ \t]([0-9]+).*$" "\\1" part_version "${part_version}")
        if((bound STREQUAL "LEAST" AND NOT part_version GREATER_EQUAL part_version_bound)
            OR (bound STREQUAL "MOST" AND NOT part_version LESS_EQUAL part_version_bound))
          set(part_found NO)
        endif()
      endif()
    endforeach()
    if(part_LIBRARIES AND part_found)
      find_library(STRATA_${upper}_LIBRARY NAMES ${part_LIBRARIES} HINTS ${part_HINTS} PATH_SUFFIXES ${part_PATH_SUFFIXES})
      mark_as_advanced(STRATA_${upper}_LIBRARY)
      set(part_found "${STRATA_${upper}_LIBRARY}")
    endif()
    if(part_INCLUDES_OF AND part_found)
      find_package(PkgConfig QUIET)
      if(PKG_CONFIG_FOUND)
        pkg_check_modules(STRATA_${upper}_MODULE QUIET ${part_INCLUDES_OF})
      endif()
      set(part_found "${STRATA_${upper}_MODULE_INCLUDE_DIRS}")
    endif()
  endif()

  if(part_found)
    list(APPEND STRATA_PRESENT_PARTS ${name})
    strata_note_part(${name} yes "${part_FOR}" "${part_WITHOUT}")
    if(NOT part_OWN_INCLUDES)
      list(APPEND STRATA_OPTIONAL_INCLUDE_DIRS "${STRATA_${upper}_INCLUDE_DIR}" ${STRATA_${upper}_MODULE_INCLUDE_DIRS})
    endif()
    if(part_LOADED)
      strata_loaded_name(part_loaded "${STRATA_${upper}_LIBRARY}")
      list(APPEND STRATA_OPTIONAL_DEFINITIONS "STRATA_${upper}_LIBRARY=\"${part_loaded}\"")
      list(APPEND STRATA_LOADED_LIBRARIES "${STRATA_${upper}_LIBRARY}")
    elseif(part_LIBRARIES)
      list(APPEND STRATA_OPTIONAL_LIBRARIES "${STRATA_${upper}_LIBRARY}")
    endif()
  elseif(STRATA_WITH_${upper} STREQUAL "ON")
    message(FATAL_ERROR "STRATA_WITH_${upper}=ON, but ${part_HEADER} ${part_LIBRARIES} was not found. It is needed "
      "for ${part_FOR}; install it, add its place to CMAKE_PREFIX_PATH, or configure with STRATA_WITH_${upper}=OFF.")
  else()
    list(APPEND STRATA_ABSENT_PARTS ${name})
    strata_note_part(${name} no "${part_FOR}" "${part_WITHOUT}")
    message(STATUS "Without ${part_FOR} (STRATA_WITH_${upper})")
  endif()
endmacro()

# Takes out of a list of sources what this build does not have, and the stand-ins of what it has.
function(strata_without_stand_ins list)
  set(kept "")
  foreach(file ${${list}})
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE path)
    set(is_left_out NO)
    foreach(part ${STRATA_PRESENT_PARTS})
      if(path MATCHES "/no_${part}[/_]")
        set(is_left_out YES)
      endif()
    endforeach()
    foreach(part ${STRATA_ABSENT_PARTS})
      # Headers stay: they say what the part offers, with or without it.
      if(path MATCHES "/${part}[/_].*\\.cpp$")
        set(is_left_out YES)
      endif()
    endforeach()
    if(NOT is_left_out)
      list(APPEND kept "${file}")
    endif()
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()

# MPI takes long to load, so the program that is linked with it is one of its own (strata-mpi): the library has the
# stand-in in any case. CMake's own search knows the ways of all vendors.
set(STRATA_WITH_MPI AUTO CACHE STRING "sweeps over machines (mpirun strata sweep): AUTO, ON or OFF")
set_property(CACHE STRATA_WITH_MPI PROPERTY STRINGS AUTO ON OFF)
if(NOT STRATA_WITH_MPI STREQUAL "OFF")
  find_package(MPI QUIET COMPONENTS CXX)
  if(NOT MPI_CXX_FOUND AND STRATA_WITH_MPI STREQUAL "ON")
    message(FATAL_ERROR "STRATA_WITH_MPI=ON, but no MPI was found. It is needed for sweeps over machines; install it "
      "(libopenmpi-dev), or configure with STRATA_WITH_MPI=OFF.")
  endif()
endif()
if(NOT MPI_CXX_FOUND)
  message(STATUS "Without sweeps over machines (STRATA_WITH_MPI)")
endif()
list(APPEND STRATA_ABSENT_PARTS mpi)
set(mpi_there no)
if(MPI_CXX_FOUND)
  set(mpi_there yes)
endif()
strata_note_part(mpi ${mpi_there} "sweeps over machines" "a sweep runs on the cores of one machine")

# The threads of the CPU engine's own loops: oneDNN has OpenMP's as well, and two pools would wait for each other.
set(STRATA_WITH_OPENMP AUTO CACHE STRING "threads of reference code on a CPU: AUTO, ON or OFF")
set_property(CACHE STRATA_WITH_OPENMP PROPERTY STRINGS AUTO ON OFF)
if(NOT STRATA_WITH_OPENMP STREQUAL "OFF")
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(NOT OpenMP_CXX_FOUND AND STRATA_WITH_OPENMP STREQUAL "ON")
    message(FATAL_ERROR "STRATA_WITH_OPENMP=ON, but the compiler has no OpenMP. Configure with STRATA_WITH_OPENMP=OFF.")
  endif()
endif()
set(strata_openmp_purpose "threads of reference code on a CPU")
if(OpenMP_CXX_FOUND)
  list(APPEND STRATA_PRESENT_PARTS openmp)
  list(APPEND STRATA_OPTIONAL_LIBRARIES ${OpenMP_CXX_LIBRARIES})
  strata_note_part(openmp yes "${strata_openmp_purpose}" "reference code runs on one core")
else()
  list(APPEND STRATA_ABSENT_PARTS openmp)
  strata_note_part(openmp no "${strata_openmp_purpose}" "reference code runs on one core")
  message(STATUS "Without ${strata_openmp_purpose} (STRATA_WITH_OPENMP)")
endif()

strata_optional_part(toml HEADER toml++/toml.h FOR "networks written as TOML"
  WITHOUT "networks and sweeps written as TOML are refused, JSON is read")
strata_optional_part(onnx HEADER protozero/pbf_reader.hpp FOR "ONNX files" WITHOUT "ONNX files are refused")
strata_optional_part(hdf5 HEADER hdf5.h LIBRARIES hdf5_serial hdf5 LOADED
  PATH_SUFFIXES hdf5/serial FOR "Keras .h5 files" WITHOUT "Keras .h5 files are refused, the model's JSON is read")
strata_optional_part(zip HEADER zip.h LIBRARIES zip FOR "Keras .keras archives"
  WITHOUT "Keras .keras archives are refused, config.json out of them is read")
strata_optional_part(zlib HEADER zlib.h LIBRARIES z FOR "compressed report pages and traces"
  WITHOUT "report pages are several times larger, and traces must be unpacked first (.json.gz)")
strata_optional_part(muparser HEADER muParser.h LIBRARIES muparser FOR "formulas in sweeps"
  WITHOUT "sweeps refuse --where and --column")
strata_optional_part(cbc HEADER coin/Cbc_C_Interface.h LIBRARIES CbcSolver LOADED FOR "exact plans (--policy exact)"
  WITHOUT "--policy exact is refused, the other policies and the lower bound are there")
strata_optional_part(sqlite HEADER sqlite3.h LIBRARIES sqlite3 FOR "databases of sweep results and captures"
  WITHOUT "captures, databases of Nsight Systems and nvprof, and sweep --db are refused")
strata_optional_part(lemon HEADER lemon/network_simplex.h FOR "the independent check of flows in tests"
  WITHOUT "one test is left out, the program is the same")
strata_optional_part(rsvg HEADER librsvg/rsvg.h LIBRARIES rsvg-2 LOADED PATH_SUFFIXES librsvg-2.0
  INCLUDES_OF librsvg-2.0 FOR "PNG pictures (--png)" WITHOUT "--png and PDF are refused, figures are SVG")
strata_optional_part(highway HEADER hwy/highway.h LIBRARIES hwy FOR "vector code chosen at run time"
  WITHOUT "ceilings and own convolutions of the CPU use the compiler's baseline, and show less than the CPU can")
strata_optional_part(openblas HEADER cblas.h LIBRARIES openblas LOADED PATH_SUFFIXES openblas
  FOR "unrolled, FFT and Winograd convolutions on the CPU"
  WITHOUT "strata conv has no unrolled, FFT or Winograd convolutions on the CPU")
strata_optional_part(fftw HEADER fftw3.h LIBRARIES fftw3f LOADED FOR "FFT convolutions on the CPU"
  WITHOUT "strata conv has no FFT convolutions on the CPU")
# Version 3 has other interfaces.
strata_optional_part(onednn HEADER oneapi/dnnl/dnnl.hpp LIBRARIES dnnl MOST oneapi/dnnl/dnnl_version.h DNNL_VERSION_MAJOR 2
  FOR "training on the CPU as frameworks do it"
  WITHOUT "strata measure on a CPU runs reference code, many times slower than a framework")
strata_optional_part(hwloc HEADER hwloc.h LIBRARIES hwloc FOR "the topology of the machine at hand by hwloc"
  WITHOUT "cores and caches are read from /sys, which is right for most machines")
# Apart from CUDA: its host half names and plans counters without a GPU and without nvcc.
strata_optional_part(cupti HEADER cupti_range_profiler.h LIBRARIES cupti LOADED OWN_INCLUDES
  LEAST cupti_version.h CUPTI_API_VERSION 130000
  HINTS "${CUDAToolkit_ROOT}" ENV CUDAToolkit_ROOT ENV CUDA_PATH ENV CUDA_HOME /usr/local/cuda
  PATH_SUFFIXES include lib lib64 extras/CUPTI/include extras/CUPTI/lib64 FOR "counters and kernel times of NVIDIA GPUs"
  WITHOUT "strata capture cannot watch programs, and GPUs have no counters")
