#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_optional.sh [ROOT]: a build without an optional library leaves out the files named after it, so no other file may
# include its headers. Prints file, line and the rule.
set -euo pipefail
cd "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}"
parts=cmake/OptionalParts.cmake

# "name header" of each part; what stands in a folder of the library's own is all of it.
mapfile -t rows < <(sed -nE 's/^strata_optional_part\(([a-z0-9]+) HEADER ([^ )]+).*/\1 \2/p' "$parts")
((${#rows[@]} > 0)) || { echo "$parts: no optional parts found" && exit 1; }

failed=0
for row in "${rows[@]}"; do
  read -r name header <<<"$row"
  folder=${header%/*}
  if [[ $folder != "$header" ]]; then header=$folder/; fi
  while IFS= read -r place; do
    printf '%s: only files of the part %s (%s_*, %s/) may include <%s>\n' "$place" "$name" "$name" "$name" "$header"
    failed=1
  done < <({ grep -rnsF --include='*.[ch]pp' "#include <$header" src cli || true; } | cut -d : -f 1,2 |
    { grep -vE "/${name}[/_][^:]*:" || true; })
done
exit "$failed"
