# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A handful of checks for tests written in shell. Sourced; a test ends with `finish`.

failures=0 subject=
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# begin WHAT: names what the next expectations are about.
begin() { subject=$1; }
finish() { exit "$((failures > 0))"; }

# run COMMAND...: keeps $status, $out and $err for the expectations that follow.
run() {
  status=0
  "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  out=$(<"$scratch/out") err=$(<"$scratch/err")
}

not_as_expected() {
  printf 'FAILED: %s: %s\n  status: %s\n  stdout: %s\n  stderr: %s\n' "$subject" "$1" "$status" "$out" "$err"
  failures=$((failures + 1))
}

expect_status() { [[ $status == "$1" ]] || not_as_expected "status $1 expected"; }
expect_out() { [[ $out == "$1" ]] || not_as_expected "stdout \"$1\" expected"; }
expect_out_has() { [[ $out == *"$1"* ]] || not_as_expected "\"$1\" expected on stdout"; }
expect_err() { [[ $err == "$1" ]] || not_as_expected "stderr \"$1\" expected"; }
expect_err_has() { [[ $err == *"$1"* ]] || not_as_expected "\"$1\" expected on stderr"; }
expect_err_lacks() { [[ $err != *"$1"* ]] || not_as_expected "\"$1\" not expected on stderr"; }
