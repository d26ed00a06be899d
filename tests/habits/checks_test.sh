#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A check that cannot fail checks nothing: each one runs here on a small tree that is good, then on one that is bad.
# shellcheck disable=SC2016  # dollars and backticks in single quotes are text here
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/expect.sh
source "$root/tests/expect.sh"

spdx='// SPDX-License-Identifier: Apache-2.0'
tree=$scratch/tree

# write FILE LINE...
write() {
  local file=$tree/$1
  shift
  mkdir -p "${file%/*}"
  printf '%s\n' "$@" >"$file"
}
good_tree() {
  rm -rf "$tree"
  write src/strata/base/error.hpp "$spdx" '#pragma once' '// may print( in a comment'
  write src/strata/cost/conv.cpp "$spdx" '#include "strata/base/error.hpp"' '#include "strata/graph/graph.hpp"' \
    'static_assert(true);  // exit(1)'
  write src/strata/strata.hpp "$spdx" '#pragma once' '#include "strata/api/model.hpp"'
  write tools/packages.tsv $'main\tg++\tcompiles'
  write docs/dependencies.md '`g++` compiles.'
  write cmake/OptionalParts.cmake 'strata_optional_part(onnx HEADER protozero/pbf_reader.hpp FOR "ONNX")' \
    'strata_optional_part(zip HEADER zip.h FOR "archives")'
  write src/strata/importers/onnx/wire.cpp "$spdx" '#include <protozero/pbf_reader.hpp>'
  write src/strata/importers/zip_container.cpp "$spdx" '#include <zip.h>'
  cp "$root/.clang-format" "$tree"
}
check() { run "$root/tools/check_$1.sh" "$tree"; }

# rejects CHECK MESSAGE: the tree, as it was changed since good_tree, is refused with that message.
rejects() {
  begin "check_$1 on $2"
  check "$1"
  expect_status 1
  expect_out_has "$2"
  good_tree
}

good_tree
for name in layers source packages optional; do
  begin "check_$name on a good tree"
  check "$name"
  expect_status 0
  expect_out ''
done

write src/strata/cost/conv_test.cpp "$spdx" '#include "strata/zoo/zoo.hpp"'
begin 'check_layers on a test that looks into other folders'
check layers
expect_status 0
good_tree

write src/strata/cost/conv.cpp "$spdx" '' '  #  include "strata/machine/machine.hpp"'
rejects layers 'src/strata/cost/conv.cpp:3: cost may not include machine (it may include: base graph)'
write src/strata/base/text.cpp "$spdx" '#include "strata/graph/graph.hpp"'
rejects layers 'src/strata/base/text.cpp:2: base may not include graph (it may include: nothing)'
write src/strata/cost/conv.cpp "$spdx" '#include "strata/strata.hpp"'
rejects layers 'src/strata/cost/conv.cpp:2: cost may not include strata/strata.hpp, the list of what api/ offers'
write src/strata/strata.hpp "$spdx" '#pragma once' '#include "strata/report/report.hpp"'
rejects layers 'src/strata/strata.hpp:3: strata.hpp includes api/ and nothing else'
write src/strata/model.cpp "$spdx" '#include "strata/base/error.hpp"'
rejects layers 'src/strata/model.cpp:2: a file of the library stands in a folder'
write src/strata/cost/conv.cpp "$spdx" '#include "../machine/machine.hpp"'
rejects layers 'src/strata/cost/conv.cpp:2: write the path from the root'
write src/strata/shiny/new.cpp "$spdx" '#include "strata/base/error.hpp"'
rejects layers 'src/strata/shiny/new.cpp:2: folder shiny is not in the table'

write src/strata/cost/conv.cpp "$spdx" 'std::cout << 1;'
rejects source 'src/strata/cost/conv.cpp:2: the library never prints'
write src/strata/cost/conv.cpp "$spdx" '' 'if (bad) std::abort();'
rejects source 'src/strata/cost/conv.cpp:3: the library never ends the program'
write src/strata/cost/conv_test.cpp "$spdx" 'auto path = std::filesystem::temp_directory_path() / "mine.json";'
rejects source 'src/strata/cost/conv_test.cpp:2: a temporary file of a test stands in a TemporaryFolder of its own'
write src/strata/cost/conv.cpp '#include <vector>'
rejects source 'src/strata/cost/conv.cpp:1: the first line is // SPDX'
write src/strata/cost/conv.hpp "$spdx"
rejects source 'src/strata/cost/conv.hpp:1: a header has #pragma once'
write src/strata/cost/conv.hpp "$spdx" '#pragma once' '#include <string>' 'std::int64_t macs();'
rejects source 'src/strata/cost/conv.hpp:4: include <cstdint>'
begin 'check_source on a header that comes through one of the project'
write src/strata/cost/conv.hpp "$spdx" '#pragma once' '#include "strata/cost/macs.hpp"' 'std::int64_t macs();'
write src/strata/cost/macs.hpp "$spdx" '#pragma once' '#include <cstdint>'
check source
expect_status 0
good_tree
for name in utils.cpp string_utils.hpp core/a.cpp manager_test.cpp; do
  write "src/strata/cost/$name" "$spdx" '#pragma once'
  rejects source "src/strata/cost/$name: a name that says nothing"
done
write docs/where.md 'look into /ho''me/somebody/strata'
rejects source 'docs/where.md:1: a path or host of one machine'
mapfile -t long < <(yes '// line' | head -n 601)
write src/strata/cost/conv.cpp "$spdx" "${long[@]}"
rejects source 'src/strata/cost/conv.cpp:1: 602 lines, the cap is 600'
begin 'check_source on 401 lines'
write src/strata/cost/conv.cpp "$spdx" "${long[@]:0:400}"
check source
expect_status 0
expect_out_has 'note: src/strata/cost/conv.cpp has 401 lines'
good_tree

write tools/packages.tsv $'main\tg++\tcompiles' $'main\tcmake\tconfigures'
rejects packages 'tools/packages.tsv:2: docs/dependencies.md does not say why `cmake` is needed'
write tools/packages.tsv $'main\tg++'
rejects packages 'tools/packages.tsv:1: a row is main|test|optional'
write tools/packages.tsv $'main\tg++\tcompiles' $'test\tg++\tagain'
rejects packages 'g++ is there twice'

write src/strata/importers/model.cpp "$spdx" '#include <protozero/types.hpp>'
rejects optional 'src/strata/importers/model.cpp:2: only files of the part onnx (onnx_*, onnx/) may include <protozero/>'
write cli/show.cpp "$spdx" '' '#include <zip.h>'
rejects optional 'cli/show.cpp:3: only files of the part zip'

# These three need their tool; without it the check itself says that it was skipped.
check format
if [[ $status != 77 ]]; then
  write src/strata/cost/conv.cpp "$spdx" 'int   x;'
  rejects format 'src/strata/cost/conv.cpp:2: not formatted'
fi
check shell
if [[ $status != 77 ]]; then
  write tools/bad.sh '#!/bin/bash' 'echo $1'
  rejects shell 'SC2086'
fi
loops() { write src/strata/convolution/cpu/loops.cpp "$spdx" '#ifdef __x86_64__' "$1" '#else' "$2" '#endif'; }
write src/strata/measure/ceilings/cpu/sound_kernels.cpp "$spdx" 'int sound;'
case $(uname -m) in
  x86_64) loops 'int x;' 'int x = y;' ;;
  *) loops 'int x = y;' 'int x;' ;;
esac
check other_cpu
if [[ $status != 77 ]]; then rejects other_cpu 'loops.cpp'; fi

finish
