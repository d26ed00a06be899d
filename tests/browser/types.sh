#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# types.sh: the TypeScript of the report page is free of type errors.
set -euo pipefail
if ! command -v tsc >/dev/null; then
  echo "skipped: there is no tsc (node-typescript)"
  exit 77
fi
exec tsc --noEmit --project "$(dirname -- "${BASH_SOURCE[0]}")/../../web"
