#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh STRATA WEB_FOLDER [STRATA_WITHOUT_LIBRARIES]: the report page in Chromium. Returns 77 and says why when something is not there.
# STRATA_SCREENSHOTS=DIR keeps pictures of what was seen.
set -euo pipefail
STRATA=$1
STRATA_WITHOUT_LIBRARIES=${3-}
skip() { echo "skipped: $*"; exit 77; }

command -v node >/dev/null || skip "no node"
[[ -s $2/report_page.html ]] || skip "this build has no report page (esbuild and D3 were not there)"
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[[ -n $CHROMIUM ]] || skip "no Chromium"
export STRATA STRATA_WITHOUT_LIBRARIES CHROMIUM
tests=$(dirname -- "${BASH_SOURCE[0]}")
node "$tests/report_test.mjs"
node "$tests/timeline_test.mjs"
node "$tests/recording_test.mjs"
node "$tests/results_test.mjs"
node "$tests/documents_test.mjs"
node "$tests/tables_test.mjs"
node "$tests/parallel_test.mjs"
node "$tests/scaling_test.mjs"
node "$tests/saved_test.mjs"
node "$tests/first_screen_test.mjs"

# axe-core is no package of the distribution. It goes into the build folder; without it the other tests are all there is.
axe="$2/axe/node_modules/axe-core/axe.min.js"
version=4.10.3
sum=880970c081707360e64f34cea25ff91892f5bc95675b0776925b9709dd8a68bb
if [[ ! -s $axe ]]; then
  if ! command -v npm >/dev/null; then
    echo "not checked with axe-core: no npm"; exit 0
  fi
  timeout 90 npm install --silent --no-save --no-audit --no-fund --ignore-scripts --prefix "$2/axe" "axe-core@$version" >/dev/null 2>&1 ||
    { echo "not checked with axe-core: npm cannot fetch it"; exit 0; }
fi
[[ $(sha256sum <"$axe") == "$sum  -" ]] || { echo "axe-core is not the one that was expected: $axe"; exit 1; }
AXE=$axe node "$tests/axe_test.mjs"
