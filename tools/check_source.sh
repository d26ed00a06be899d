#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_source.sh [ROOT]: the rules of CONTRIBUTING.md that a pattern can see. Prints file, line and the rule.
set -euo pipefail
cd "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}"

soft_cap=400  # lines: a reader's limit, shown
hard_cap=600  # lines: not accepted

failed=0
# report RULE: reads places on stdin, prints them with the rule.
report() {
  local place
  while IFS= read -r place; do
    printf '%s: %s\n' "$place" "$1"
    failed=1
  done
}

folders=()
for folder in src cli bench tests examples python web tools cmake; do
  if [[ -d $folder ]]; then folders+=("$folder"); fi
done
# files PATTERN... below the folders of the project
files() {
  local tests=() pattern
  for pattern; do tests+=(-o -name "$pattern"); done
  find "${folders[@]}" -name node_modules -prune -o -type f \( "${tests[@]:1}" \) -print
}
mapfile -t cpp < <(files '*.hpp' '*.cpp' '*.cu' '*.cuh')
mapfile -t library < <(printf '%s\n' "${cpp[@]}" | grep '^src/strata/' | grep -v '_test\.cpp$')

# matches REGEX FILE... → "file:line" where the code, comments taken away, matches.
matches() {
  local regex=$1
  shift
  (($#)) || return 0
  { grep -nHE "$regex" "$@" || true; } | sed 's|//.*||' | { grep -E "$regex" || true; } | cut -d : -f 1,2
}

report 'the library never prints; return a value or throw Error' \
  < <(matches 'std::(cout|cerr|clog|print)|fmt::print|\b(printf|fprintf|puts|fputs|putchar|perror)[[:space:]]*\(' "${library[@]}")
report 'the library never ends the program; throw Error, or STRATA_CHECK for what cannot happen' \
  < <(matches '\b(exit|_exit|_Exit|quick_exit|abort|terminate|assert)[[:space:]]*\(' "${library[@]}" |
    { grep -v '^src/strata/base/child_process\.cpp:' || true; }) # ends a child that it made
# Tests run side by side: a file with a fixed name would be written by two of them at once.
mapfile -t tests < <(printf '%s\n' "${cpp[@]}" | grep -E '^tests/|_test\.(cpp|hpp)$' | grep -v '/temporary_folder_test\.hpp$')
report 'a temporary file of a test stands in a TemporaryFolder of its own' \
  < <(matches '\btemp_directory_path\(|\bTempDir\(' "${tests[@]}")

for file in "${cpp[@]}"; do
  read -r first <"$file" || true
  if [[ $first != '// SPDX-License-Identifier: Apache-2.0' ]]; then
    report 'the first line is // SPDX-License-Identifier: Apache-2.0' <<<"$file:1"
  fi
  if [[ $file == *.hpp || $file == *.cuh ]] && ! grep -q '^#pragma once$' "$file"; then
    report 'a header has #pragma once' <<<"$file:1"
  fi
done

# What a file names of the standard library comes from a header that it includes, itself or through the project's own:
# one that another standard header happens to include is gone with the next compiler.
mapfile -t includes < <({ grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' "${cpp[@]}" || true; } |
  sed -E 's/^([^:]+):.*[<"]([^>"]+)[>"].*/\1 \2/')
# lacking HEADER FILE... → those of the files that do not get it
lacking() {
  local header=$1
  shift
  (($#)) || return 0
  { printf '%s\n' "${includes[@]}"; printf '%s\n' "$@"; } | awk -v header="$header" '
    NF == 1 { asked[$1]; next }
    { included[$1] = included[$1] " " $2 }
    $2 == header { has[$1] }
    END {
      do {
        grown = 0
        for (file in included) if (!(file in has)) {
          folder = file
          sub("[^/]*$", "", folder)
          count = split(included[file], names, " ")
          for (i = 1; i <= count; i++) {
            if (("src/" names[i]) in has || names[i] in has || (folder names[i]) in has) { has[file]; grown = 1; break }
          }
        }
      } while (grown)
      for (file in asked) if (!(file in has)) print file
    }' | sort
}
while read -r header regex; do
  mapfile -t users < <(grep -lE "$regex" "${cpp[@]}" || true)
  mapfile -t without < <(lacking "$header" "${users[@]}")
  report "include <$header>, here or in a header of the project that is included" \
    < <(matches "$regex" "${without[@]}" | sort -t : -k 1,1 -u)
done <<'END'
array std::array<
cstdint std::u?int(ptr|max|(_fast|_least)?(8|16|32|64))_t
functional std::function<
limits std::numeric_limits<
map std::(multi)?map<
memory std::(unique_ptr|shared_ptr|make_unique|make_shared)<
optional std::(optional<|nullopt)
set std::(multi)?set<
span std::span<
string std::(string\b|to_string\()
string_view std::string_view
variant std::(variant<|visit\()
vector std::vector<
END

report 'a name that says nothing; name it for the thing inside' \
  < <(files '*' | grep -E '(^|/)([a-z0-9_]*_)?(utils?|helpers?|managers?)(_test)?(\.[a-z]+|/|$)|(^|/)(common|core)(_test)?(\.[a-z]+|/|$)')

# The brackets keep this file from matching itself.
report 'a path or host of one machine; it does not exist elsewhere' < <(
  grep -rnIE --exclude-dir=.git --exclude-dir=build --exclude-dir=node_modules --exclude-dir=.cache \
    '(^|[^A-Za-z0-9_.])/(work|root|home|Users|farm)[/]|https?:[/]/[a-z.]*(debian|npm)[a-z.]*/' . |
    cut -d : -f 1,2 | sed 's|^\./||')

while read -r lines file; do
  if ((lines > hard_cap)); then
    report "$lines lines, the cap is $hard_cap; split it by idea" <<<"$file:1"
  elif ((lines > soft_cap)); then
    printf 'note: %s has %s lines (about %s is comfortable)\n' "$file" "$lines" "$soft_cap"
  fi
done < <(files '*.hpp' '*.cpp' '*.cu' '*.cuh' '*.ts' '*.py' '*.sh' '*.cmake' | xargs -r -d '\n' wc -l | grep -v ' total$')

exit "$failed"
