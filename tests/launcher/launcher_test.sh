#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The launchers ./strata and ./test, on a project of one file, with a package manager that only pretends.
# shellcheck disable=SC2016  # dollars in single quotes belong to the scripts that are written here
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/expect.sh
source "$root/tests/expect.sh"
unset CI CMAKE_PREFIX_PATH  # what the caller has set must not decide

# --- a small project -----------------------------------------------------------------------------
project=$scratch/project
mkdir -p "$project"/{cli,src,tools}
cp "$root"/{strata,test,CMakePresets.json} "$project"
cp "$root"/tools/{launch.sh,setup.sh,packages.tsv} "$project/tools"
cat >"$project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
add_executable(strata_cli cli/main.cpp)
set_target_properties(strata_cli PROPERTIES OUTPUT_NAME strata)
add_executable(strata_unit_tests cli/main.cpp)
add_custom_target(strata_fuzz)
enable_testing()
add_test(NAME passes COMMAND strata_unit_tests)
add_test(NAME skips COMMAND sh -c "echo skipped: no device; exit 77")
set_tests_properties(passes skips PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
CMAKE
# program WORD: the program prints the word, then its arguments in angle brackets.
program() {
  cat >"$project/cli/main.cpp" <<CPP
#include <cstdio>
int main(int count, char** arguments) {
  std::printf("$1");
  for (int i = 1; i < count; ++i) std::printf(" <%s>", arguments[i]);
}
CPP
}
program first

# --- a pretended machine -------------------------------------------------------------------------
# State is in files: which packages are installed, which apt knows, what apt-get was asked to do.
machine=$scratch/machine
mkdir -p "$machine/bin"
fake() {  # NAME: the script is on stdin
  { printf '#!/bin/bash\nmachine=%q\n' "$machine"; cat; } >"$machine/bin/$1"
  chmod +x "$machine/bin/$1"
}
fake dpkg-query <<<'sed "s/$/\tinstalled/" "$machine/installed"'
fake apt-cache <<<'grep -qxF -- "${@: -1}" "$machine/known"'
fake id <<<'cat "$machine/user"'
fake sudo <<<'exit 1'
fake apt-get <<'SH'
echo "$*" >>"$machine/asked"
case " $* " in
  *" -s "*) grep -qxF -- "${@: -1}" "$machine/known" ;;
  *" update "*) cut -f 2 "$machine/table" >"$machine/known" ;;
  *" install "*) printf '%s\n' "$@" >>"$machine/installed" ;;
esac
SH
export PATH=$machine/bin:$PATH
grep -v '^#' "$root/tools/packages.tsv" >"$machine/table"
fresh_machine() {  # everything installed and known, as root
  cut -f 2 "$machine/table" | tee "$machine/known" >"$machine/installed"
  echo 0 >"$machine/user"
  : >"$machine/asked"
}
lacking() {  # PACKAGE...
  local package
  for package; do sed -i "/^$package\$/d" "$machine/installed"; done
  rm -rf "$project/build"
}
expect_asked() { [[ $(<"$machine/asked") == *"$1"* ]] || not_as_expected "apt-get $1 expected, got: $(<"$machine/asked")"; }
expect_not_asked() { [[ $(<"$machine/asked") != *"$1"* ]] || not_as_expected "apt-get $1 not expected"; }
fresh_machine

# --- ./strata ------------------------------------------------------------------------------------
begin 'the first call builds, and stdout is only the result'
run "$project/strata" show 'two words' ''
expect_status 0
expect_out 'first <show> <two words> <>'
expect_err_has 'strata: building release'
expect_not_asked install

begin 'the second call only runs'
run "$project/strata"
expect_out first
expect_err ''

begin 'a call costs less than 50 ms of processor time'
best=1000000
TIMEFORMAT='%3U %3S'
for _ in {1..10}; do
  read -r user system < <({ time "$project/strata" >/dev/null; } 2>&1)
  took=$((10#${user/./} + 10#${system/./}))
  if ((took < best)); then best=$took; fi
done
((best < 50)) || not_as_expected "best of ten took $best ms"

begin 'it works through a symbolic link, from elsewhere, and from a path with a space'
mkdir -p "$scratch/else where"
ln -s "$project/strata" "$scratch/else where/link"
cd "$scratch/else where"
run ./link
expect_out first
expect_err ''
cd "$scratch"

begin 'a newer source is built'
program second
run "$project/strata"
expect_status 0
expect_out second

begin 'where nothing can be built, that is said, and that there is a program'
touch "$project/cli/main.cpp"
mv "$project/build/release.lock" "$scratch/lock"
mkdir "$project/build/release.lock"  # root may write every file, but no folder
run "$project/strata"
expect_status 3
expect_err_has 'cannot write'
expect_err_has 'can be run as it is'
rmdir "$project/build/release.lock"
run "$project/strata"
expect_status 0

begin 'a newer test is not a reason to build'
touch "$project/src/a_test.cpp"
run "$project/strata"
touch "$project/src/a_test.cpp"
run "$project/strata"
expect_err ''

begin 'a source that went is a reason to build'
rm "$project/src/a_test.cpp"
run "$project/strata"
expect_err_has 'building'
expect_out second

begin 'an error in the source is shown, with the log, and ends with 3'
program 'third" + nonsense + "'
run "$project/strata"
expect_status 3
expect_out ''
expect_err_has 'nonsense'
expect_err_has "the whole log is in $project/build/release.log"

begin 'two calls at once'
program both
"$project/strata" >"$scratch/other" 2>/dev/null &
run "$project/strata"
wait $!
expect_out both
[[ $(<"$scratch/other") == both ]] || not_as_expected 'the other call failed'

begin 'a tree that was moved is built again'
mv "$project" "$scratch/moved"
project=$scratch/moved
program moved
run "$project/strata"
expect_status 0
expect_out moved

# --- packages ------------------------------------------------------------------------------------
begin 'missing packages are named with their reason and installed'
lacking libfmt-dev libcli11-dev
run "$project/strata"
expect_status 0
expect_out moved
expect_err_has 'formats text'
expect_asked '--no-install-recommends -o DPkg::Lock::Timeout=600 install libfmt-dev libcli11-dev'
expect_not_asked update

begin 'packages of the tests are not for ./strata'
fresh_machine
lacking libgtest-dev
run "$project/strata"
expect_status 0
expect_not_asked libgtest-dev

begin 'a machine without package lists reads them first'
fresh_machine
lacking libfmt-dev
: >"$machine/known"
run "$project/strata"
expect_status 0
expect_asked update
expect_asked 'install libfmt-dev'

begin 'without root and sudo the one line is printed, and nothing is built'
fresh_machine
lacking libfmt-dev libcli11-dev
echo 1000 >"$machine/user"
run "$project/strata"
expect_status 3
expect_out ''
expect_err_has $'\napt-get install --no-install-recommends libfmt-dev libcli11-dev'
expect_err_lacks 'building release'

begin 'with CMAKE_PREFIX_PATH the distribution is not asked'
run env CMAKE_PREFIX_PATH=/nowhere "$project/strata"
expect_status 0
expect_out moved
expect_not_asked install

begin 'sudo that works is used'
fresh_machine
lacking libfmt-dev
echo 1000 >"$machine/user"
fake sudo <<<'if [[ $1 == -n ]]; then shift; fi; exec "$@"'
run "$project/strata"
expect_status 0
expect_asked 'install libfmt-dev'

begin 'a person is asked, CI is not'
if command -v script >/dev/null; then
  fresh_machine
  lacking libfmt-dev
  status=0
  script -qefc "$project/strata" /dev/null <<<'n' >"$scratch/out" 2>&1 || status=$?
  out=$(<"$scratch/out") err=
  expect_status 3
  expect_out_has 'install them now'
  expect_not_asked install
  status=0
  CI=true script -qefc "$project/strata" /dev/null <<<'n' >"$scratch/out" 2>&1 || status=$?
  out=$(<"$scratch/out")
  expect_status 0
  expect_asked 'install libfmt-dev'
fi

# --- ./strata setup ------------------------------------------------------------------------------
begin 'setup shows what is there'
fresh_machine
lacking graphviz
run "$project/strata" setup
expect_status 0
expect_out_has 'present  libfmt-dev'
expect_out_has 'missing  graphviz'
expect_not_asked install

begin 'setup --all installs what the distribution has'
lacking chromium
sed -i /chromium/d "$machine/known"
run "$project/strata" setup --all --dry-run
expect_out 'apt-get install --no-install-recommends graphviz'
expect_err_has 'chromium: not in this distribution'
run "$project/strata" setup --all
expect_status 0
expect_asked 'install graphviz'

begin 'setup refuses what it does not know'
run "$project/strata" setup --everything
expect_status 2
expect_err_has 'usage: strata setup'

# --- ./test --------------------------------------------------------------------------------------
begin 'test builds, runs, says what was skipped, and goes on to the sanitizers'
fresh_machine
lacking libgtest-dev
run "$project/test"
expect_status 0
expect_asked 'install libgtest-dev'
expect_err_has 'strata: 1 skipped'
expect_err_has '1 x no device'
expect_err_has 'building asan'

begin 'test --quick leaves the sanitizers out; other arguments go to ctest'
run "$project/test" --quick -R passes
expect_status 0
expect_err_has 'strata: 0 skipped'
expect_err_lacks 'asan'

begin 'no test at all is an error'
run "$project/test" --quick -R nothing_of_this_name
((status != 0)) || not_as_expected 'a failure expected'

begin 'a test that fails fails the run'
echo 'add_test(NAME fails COMMAND false)' >>"$project/CMakeLists.txt"
run "$project/test"
((status != 0)) || not_as_expected 'a failure expected'
expect_err_lacks 'building asan'

finish
