#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_packages.sh [ROOT]: tools/packages.tsv is well-formed, and docs/dependencies.md gives the reason of each
# package that a build needs.
set -euo pipefail
cd "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}"
table=tools/packages.tsv page=docs/dependencies.md

failed=0
complain() { printf '%s\n' "$*"; failed=1; }

line=0
while IFS= read -r row; do
  line=$((line + 1))
  [[ $row == \#* ]] && continue
  IFS=$'\t' read -r group package reason rest <<<"$row"
  if [[ -z $reason || -n $rest || ! $group =~ ^(main|test|optional)(:(x86_64|aarch64))?$ ]]; then
    complain "$table:$line: a row is main|test|optional, package, reason, with a tab between"
  elif [[ $group != optional ]] && ! grep -qF "\`$package\`" "$page"; then
    complain "$table:$line: $page does not say why \`$package\` is needed"
  fi
done <"$table"
while IFS= read -r package; do
  complain "$table: $package is there twice"
done < <(grep -v '^#' "$table" | cut -f 2 | sort | uniq -d)
exit "$failed"
