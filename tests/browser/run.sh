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
node "$tests/results_test.mjs"
node "$tests/documents_test.mjs"
