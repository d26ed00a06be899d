#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `./strata setup` shows which parts of Strata this machine has; `--all` installs what the distribution offers.
# A script, because it has to work before there is a program.
set -euo pipefail
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=tools/launch.sh
source "$root/tools/launch.sh"

usage='usage: strata setup [--all] [--dry-run]
  Shows the packages Strata uses and which of them are installed.
  --all      install the missing ones, the optional ones included
  --dry-run  only print the command that would install them'

all=false dry_run=false
for argument; do
  case $argument in
    --all) all=true ;;
    --dry-run) dry_run=true ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) printf 'error: setup: unknown argument %s\n%s\n' "$argument" "$usage" >&2; exit 2 ;;
  esac
done

command -v dpkg-query >/dev/null ||
  fail "this is not a Debian system: install what docs/dependencies.md lists and set CMAKE_PREFIX_PATH"

show_group() {  # GROUP TITLE
  printf '%s\n' "$2"
  awk -F '\t' 'FILENAME == ARGV[1] { missing[$1]; next }
    { printf "  %-8s %-22s %s\n", ($1 in missing) ? "missing" : "present", $1, $2 }' \
    <(missing_packages "$1") <(packages "$1")
}

# NVIDIA's toolkit is not in Debian main, so setup can only look for it.
show_cuda() {
  local nvcc
  if nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null); then
    printf '  %-8s %-22s %s\n' present "CUDA toolkit" "$nvcc; cmake --preset cuda"
  else
    printf '  %-8s %-22s %s\n' missing "CUDA toolkit" "measures NVIDIA GPUs; not in Debian main, get it from NVIDIA"
  fi
}

can_install() { apt-get -s --no-install-recommends install "$@" >/dev/null 2>&1; }

# One package that does not fit must not keep the others out.
install_all() {
  local names known=() name
  mapfile -t names < <(missing_packages main test optional | cut -f 1)
  mkdir -p "$root/build"
  if ! $dry_run && root_command >/dev/null; then refresh_lists "${names[@]}"; fi
  for name in "${names[@]}"; do
    if can_install "$name"; then
      known+=("$name")
    else
      say "$name: not in this distribution, or in conflict with what is installed"
    fi
  done
  if ((${#known[@]} == 0)); then
    say "nothing to install"
  elif $dry_run; then
    echo "apt-get install --no-install-recommends ${known[*]}"
  else
    install_packages "${known[@]}"
    say "installed ${known[*]}"
  fi
}

if $all; then
  install_all
else
  show_group main "Needed by ./strata"
  show_group test "Needed by ./test"
  show_group optional "Optional"
  show_cuda
fi
