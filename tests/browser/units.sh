#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# units.sh: how the report page writes numbers and tables. Returns 77 and says why when something is not there.
set -euo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
skip() { echo "skipped: $*"; exit 77; }
command -v node >/dev/null || skip "no node"
command -v esbuild >/dev/null || skip "no esbuild"
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
esbuild --log-level=warning --format=esm --outfile="$folder/units.mjs" "$root/web/src/units.ts"
node "$root/tests/browser/units_test.mjs" "$folder/units.mjs"
esbuild --log-level=warning --format=esm --outfile="$folder/csv.mjs" "$root/web/src/csv.ts"
node "$root/tests/browser/csv_test.mjs" "$folder/csv.mjs"
