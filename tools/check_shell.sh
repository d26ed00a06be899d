#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_shell.sh [ROOT]: shellcheck over every script, found by its first line.
set -euo pipefail
cd "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}"

if ! command -v shellcheck >/dev/null; then
  echo "skipped: shellcheck is not installed"
  exit 77
fi
mapfile -t scripts < <(
  find . \( -name .git -o -name build -o -name node_modules \) -prune -o -type f -size -100k \
    -exec awk 'FNR == 1 && /^#(!.*sh$| shellcheck shell=)/ { print FILENAME } { nextfile }' {} +)
shellcheck --external-sources "${scripts[@]}"
