#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_layers.sh [ROOT]: which folder of src/strata may include which. The table is the architecture; goodwill
# alone does not keep it. Prints file, line and the rule of each violation.
set -euo pipefail
cd "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}"

# folder: what it may include besides itself. The table stands here once; ARCHITECTURE.md points to it.
layers='
base:
graph:     base
operations: base graph
importers: base graph operations
zoo:       base graph cost
cost:      base graph
training:  base graph cost
framework: base graph cost training operations
machine:   base
profile:   base
predict:   base graph cost training operations framework machine profile
parallel:  base graph cost training operations framework machine profile predict
sweep:     base training operations framework machine profile predict parallel
cpu:       base gpu
gpu:       base machine profile
convolution: base graph machine cpu gpu
measure:   base graph cost training machine profile cpu gpu convolution capture
capture:   base graph cost training profile gpu
roofline:  base machine profile
explain:   base machine profile capture roofline
reproduce: base graph zoo training machine profile predict gpu convolution measure capture roofline report
report:    base graph importers zoo cost training operations framework machine profile predict parallel sweep cpu gpu convolution measure capture roofline explain
api:       base graph importers zoo cost training operations framework machine profile predict parallel sweep cpu gpu convolution measure capture roofline explain report reproduce
'

find src/strata -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -exec \
  grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' {} + |
  LAYERS=$layers awk '
    BEGIN {
      count = split(ENVIRON["LAYERS"], lines, "\n")
      for (i = 1; i <= count; i++) {
        fields = split(lines[i], field, /[ :]+/)
        if (field[1] == "") continue
        known[field[1]] = 1
        may[field[1], field[1]] = 1
        for (k = 2; k <= fields; k++) {
          may[field[1], field[k]] = 1
          if (field[k] != "") list[field[1]] = list[field[1]] " " field[k]
        }
      }
    }
    function violation(rule) { print place ": " rule; failed = 1 }
    {
      match($0, /^[^:]*:[0-9]+/)
      place = substr($0, 1, RLENGTH)
      split($0, quoted, "\"")
      included = quoted[2]
      split(place, path, "/")            # src/strata/<folder>/...
      folder = path[3]
      if (path[4] == "") {               # only the list of what api/ offers stands outside a folder
        if (folder !~ /^strata\.hpp:/) violation("a file of the library stands in a folder")
        else if (included !~ /^strata\/api\//) violation("strata.hpp includes api/ and nothing else")
        next
      }
      if (!(folder in known)) {
        violation("folder " folder " is not in the table of tools/check_layers.sh")
        next
      }
      parts = split(included, target, "/")
      if (target[1] != "strata") { violation("write the path from the root: \"strata/" folder "/...\", not \"" included "\""); next }
      if (included == "strata/version.hpp") next   # generated, a leaf
      if (parts == 2) { violation(folder " may not include " included ", the list of what api/ offers"); next }
      if (place ~ /_test\.[ch]pp:/) next   # a test may ask anybody whether its folder is right
      if (!((folder, target[2]) in may))
        violation(folder " may not include " target[2] " (it may include:" (list[folder] == "" ? " nothing" : list[folder]) ")")
    }
    END { exit failed }'
