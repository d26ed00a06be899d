#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# types.sh WEB_FOLDER: the TypeScript of the report page is free of type errors.
set -euo pipefail
if [[ ! -x $1/node_modules/.bin/tsc ]]; then
  echo "skipped: this build did not fetch the packages of the report page (npm)"
  exit 77
fi
cd "$1"
exec node_modules/.bin/tsc --noEmit
