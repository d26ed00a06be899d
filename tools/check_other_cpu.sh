#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/check_other_cpu.sh [ROOT]: the vector code of the ceilings and of the convolution strategies has parts for Arm or
# for x86 only, and a build reads those of its own machine and compiler. Here clang reads them all for the other one,
# without making code of them.
set -euo pipefail
root=$(readlink -f -- "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}")

case $(uname -m) in
  x86_64) other=aarch64-linux-gnu ;;
  aarch64) other=x86_64-linux-gnu ;;
  *) echo "skipped: the loops are for Arm and x86, and this is neither" && exit 77 ;;
esac
for program in clang++ "$other-g++"; do  # which brings the headers
  command -v "$program" >/dev/null || { echo "skipped: there is no $program" && exit 77; }
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
folder=$root/src/strata
# Libraries have headers for their own machine only, and loops are not in those files.
mapfile -t sources < <({
  find "$folder/measure/ceilings/cpu" -name '*_kernels.cpp' ! -name 'no_*'
  find "$folder/convolution/cpu" -name '*.cpp' ! -name '*_test.cpp' ! -name 'no_*' \
    ! -name 'openblas_*' ! -name 'fftw_*' ! -name 'onednn_*'
} | sort)
((${#sources[@]} > 0)) || { echo "no sources in $folder" && exit 1; }
# Files of vector code are read once for every vector unit and stand alone; the others of a folder are read together.
for source in "${sources[@]}"; do
  if [[ $source == *_kernels.cpp ]]; then
    unit=${source##*/}
  else
    unit=$(dirname -- "${source#"$folder"}" | tr / _).all.cpp
  fi
  printf '#include "%s"\n' "$source" >>"$scratch/$unit"
done
printf '%s\0' "$scratch"/*.cpp |
  xargs -0 -n 1 -P "$(nproc)" clang++ "--target=$other" -std=c++20 -fsyntax-only -Wall -Wextra \
    -Wno-missing-field-initializers -Wno-unknown-pragmas -Werror -I "$root/src" 2>&1 || exit 1
