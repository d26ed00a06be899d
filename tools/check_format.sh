#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_format.sh [--fix] [ROOT]: C++ is laid out as .clang-format says. Versions of clang-format disagree in
# details, so only one judges: that of Debian 12.
set -euo pipefail
version=14
fix=false
if [[ ${1-} == --fix ]]; then
  fix=true
  shift
fi
cd "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}"

formatter=
for candidate in "clang-format-$version" clang-format; do
  if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q "version $version\."; then
    formatter=$candidate
    break
  fi
done
if [[ -z $formatter ]]; then
  echo "skipped: clang-format $version is not installed"
  exit 77
fi

folders=()
for folder in src cli bench tests examples python; do
  if [[ -d $folder ]]; then folders+=("$folder"); fi
done
# format CLANG-FORMAT-ARGUMENTS...
format() {
  find "${folders[@]}" -type f \( -name '*.h' -o -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
    xargs -r -0 -n 20 -P "$(nproc)" "$formatter" --style=file "$@"
}
if $fix; then
  format -i
elif ! complaints=$(format --dry-run -Werror 2>&1); then
  grep -oE '^[^ :]+:[0-9]+' <<<"$complaints" | sort -t : -k 1,1 -u | sed 's|$|: not formatted, from this line on|'
  echo "tools/check_format.sh --fix lays them out"
  exit 1
fi
