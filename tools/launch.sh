# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What ./strata, ./test and `./strata setup` share: packages of the distribution, and one quiet build.
# Sourced, with `root` set to the repository. Everything here speaks on stderr: stdout belongs to the result.

: "${root:?the script that sources this sets it}"
readonly environment_error=3  # the program's exit code for "the environment lacks something"

say() { printf 'strata: %s\n' "$*" >&2; }
fail() { say "$@"; exit "$environment_error"; }

# --- packages ---------------------------------------------------------------------------------------

# packages GROUP... → "package<TAB>reason" lines of tools/packages.tsv, those for this kind of machine included
packages() {
  local group
  for group; do
    awk -F '\t' -v group="$group" -v here="$group:$(uname -m)" '$1 == group || $1 == here { print $2 "\t" $3 }' \
      "$root/tools/packages.tsv"
  done
}

# missing_packages GROUP... → the lines of those that are not installed
missing_packages() {
  awk -F '\t' 'FILENAME == ARGV[1] { status[$1] = $2; next } status[$1] != "installed"' \
    <(dpkg-query -W -f '${Package}\t${db:Status-Status}\n') <(packages "$@")
}

# Nobody is asked in CI, nor when there is nobody to answer.
can_ask() { [[ -t 0 && -t 2 && -z ${CI-} ]]; }

# Prints the command that runs the rest as root (nothing for root); fails when there is none.
root_command() {
  [[ $(id -u) == 0 ]] && return
  command -v sudo >/dev/null || return 1
  sudo -n true 2>/dev/null || can_ask || return 1
  echo sudo
}

# Whether apt has heard of all of these. Without package lists (a fresh container) it knows none at all.
apt_knows() {
  local name
  for name; do apt-cache show "$name" >/dev/null 2>&1 || return 1; done
}

# apt_get LOG ARGS... waits for another apt instead of failing, and takes no recommended extras: they would
# double the download.
apt_get() {
  local log=$1 prefix
  shift
  mapfile -t prefix < <(root_command)
  "${prefix[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qy --no-install-recommends -o DPkg::Lock::Timeout=600 "$@" >>"$log" 2>&1
}

# refresh_lists NAME...: asks the network only when the lists at hand lack something.
refresh_lists() {
  if apt_knows "$@"; then return; fi
  say "reading the package lists"
  apt_get "$root/build/packages.log" update || say "apt-get update failed; going on with the lists that are there"
}

# install_packages NAME... installs, or says what to do and ends with 3.
install_packages() {
  local line="apt-get install --no-install-recommends $*" log=$root/build/packages.log answer
  if ! command -v apt-get >/dev/null; then
    fail "no apt-get here: install these by other means, or set CMAKE_PREFIX_PATH to where they are"
  fi
  if ! root_command >/dev/null; then
    say "not root, and sudo does not work. Ask for this line, or set CMAKE_PREFIX_PATH (docs/building.md):"
    printf '%s\n' "$line" >&2
    exit "$environment_error"
  fi
  if can_ask; then
    read -r -p "strata: install them now with $line? [Y/n] " answer
    if [[ $answer == [nN]* ]]; then fail "nothing installed"; fi
  fi
  mkdir -p "$root/build"
  : >"$log"
  refresh_lists "$@"
  say "installing $# packages"
  # Lists that are old name files that are gone; one refresh cures it.
  apt_get "$log" install "$@" || { apt_get "$log" update && apt_get "$log" install "$@"; } ||
    log_failure "installing packages" "$log"
}

# ensure_packages GROUP... makes sure that the build will find what it needs. Whoever sets CMAKE_PREFIX_PATH
# (Spack, conda) brings the dependencies along, and a system without dpkg has other names for them: then CMake
# is the judge.
ensure_packages() {
  [[ -n ${CMAKE_PREFIX_PATH-} ]] && return
  command -v dpkg-query >/dev/null || return 0
  local missing
  missing=$(missing_packages "$@")
  [[ -n $missing ]] || return 0
  say "these packages are missing:"
  awk -F '\t' '{ printf "  %-22s %s\n", $1, $2 }' <<<"$missing" >&2
  local names
  mapfile -t names < <(cut -f 1 <<<"$missing")
  install_packages "${names[@]}"
}

# --- build ------------------------------------------------------------------------------------------

# log_failure WHAT LOG
log_failure() {
  tail -n 40 "$2" >&2
  fail "$1 failed; the whole log is in $2"
}

# Shows ninja's counter on a terminal; elsewhere the log has it all.
progress() {
  local line
  if [[ ! -t 2 || ${TERM:-dumb} == dumb ]]; then
    cat >/dev/null
    return
  fi
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      printf '\r\033[Kstrata: building %s of %s' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >&2
    fi
  done
  printf '\r\033[K' >&2
}

# lock PRESET: two first calls at once must not build in the same folder. Held until the file descriptor closes.
lock() {
  local file=$root/build/$1.lock there=""
  if [[ -x $root/build/$1/strata ]]; then
    there="; $root/build/$1/strata was built of other sources, and can be run as it is"
  fi
  # A failed exec would end the shell with bash's own words.
  { mkdir -p "$root/build" && : >>"$file"; } 2>/dev/null || fail "cannot write $file, so nothing can be built$there"
  exec 9>"$file"
  flock -n 9 || { say "another build of $1 is running; waiting for it"; flock 9; }
}

# compilers_at_once: one per core, as far as memory goes. The largest sources take 1.5 GB.
compilers_at_once() {
  local cores available_kb
  cores=$(nproc)
  available_kb=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo 2>/dev/null) || true
  local fit=$((${available_kb:-$((cores * 1500000))} / 1500000))
  if ((fit < 1)); then fit=1; fi
  echo $((fit < cores ? fit : cores))
}

# build PRESET [TARGET...] configures once and builds.
build() {
  local preset=$1 dir=$root/build/$1 log=$root/build/$1.log command target
  shift
  for command in cmake ninja; do
    command -v "$command" >/dev/null || fail "$command is not installed (needed to build Strata; docs/building.md)"
  done
  say "building $preset (log: $log)"
  : >"$log"
  # A cache made elsewhere (the tree was moved or copied) or by a configure step that failed is of no use.
  if [[ ! -f $dir/build.ninja ]] || ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt"; then
    if ! cmake -S "$root" --preset "$preset" --fresh >>"$log" 2>&1; then
      if [[ -n ${CMAKE_PREFIX_PATH-} ]]; then
        say "CMAKE_PREFIX_PATH is set, so packages of the distribution were not looked at"
      fi
      log_failure "configuring" "$log"
    fi
  fi
  local arguments=(--build "$dir" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(compilers_at_once)}")
  for target; do arguments+=(--target "$target"); done
  cmake "${arguments[@]}" 2>&1 | tee -a "$log" | progress || log_failure "building" "$log"
}
