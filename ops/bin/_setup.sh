# shellcheck shell=bash
# Sourced by the commands beside it. `setup PROFILE` makes .venv in the checkout, once, with what the profile
# needs; where apt packages are missing it installs them (root) or names them (anyone else). All it says goes
# to standard error.
#
#   dev    what runs the service and makes the generated code
#   bench  that, and numpy
#   test   everything
#
# Environment: PYTHON names the interpreter to use (3.11 or newer).

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd -P)
venv=$root/.venv

say() {
  printf 'graphsvc: %s\n' "$*" >&2
}

fail() {
  printf 'graphsvc: %s\n' "$*" >&2
  exit 1
}

setup() {
  local profile=$1
  require_apt_packages "$profile"
  if is_set_up "$profile"; then return; fi
  [ -w "$root" ] || fail "cannot write $root: make the checkout your own (chown) or clone it afresh"
  # One setup at a time in a checkout; who waited finds it done.
  (
    flock 9
    if ! is_set_up "$profile"; then install "$profile"; fi
  ) 9<"$root"
}

require_apt_packages() {
  local missing=() python
  if [ "$1" = test ]; then
    command -v redis-server >/dev/null || missing+=(redis-server)
    command -v h2load >/dev/null || missing+=(nghttp2-client)
  fi
  if ! is_set_up "$1" && ! can_keep_venv; then
    python=$(pick_python)
    "$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
  fi
  if [ ${#missing[@]} != 0 ]; then install_apt_packages "${missing[@]}"; fi
}

# Whether the profile's stamp is that of this checkout, at this place, with these requirements.
is_set_up() {
  [ -x "$venv/bin/python" ] && [ ! -e "$venv/.unfinished" ] &&
    [ "$(cat "$venv/.set-up-$1" 2>/dev/null)" = "$(fingerprint)" ] && is_wanted_python
}

fingerprint() {
  { echo "$root" "$(python_version "$venv/bin/python")" && cat "$root/pyproject.toml" "$root/ops/constraints.txt"; } |
    sha256sum
}

python_version() {
  "$1" -c 'import platform; print(platform.python_implementation(), platform.python_version(), platform.machine())'
}

is_wanted_python() {
  [ -z "${PYTHON-}" ] || [ "$(python_version "$PYTHON")" = "$(python_version "$venv/bin/python")" ]
}

install() {
  local profile=$1 extras
  case $profile in
    dev) extras=stubs ;;
    bench) extras=stubs,bench ;;
    test) extras=dev ;;
  esac
  if ! can_keep_venv; then make_venv; fi
  say "installing what '$profile' needs into $venv (once; about a minute)"
  # A setup that is cut off leaves this mark, and the next one begins anew.
  touch "$venv/.unfinished"
  # The build tool comes from the same constraints, not from a download of its own.
  if pip_install hatchling editables && pip_install --no-build-isolation --editable "${root}[$extras]"; then
    echo "$root" >"$venv/.made-at"
    stamp "$profile"
    rm "$venv/.unfinished"
  else
    rm "$venv/.unfinished"
    fail "pip could not install what '$profile' needs (its messages stand above); mend that and run this again"
  fi
}

pip_install() {
  "$venv/bin/python" -m pip install --progress-bar off --disable-pip-version-check \
    --constraint "$root/ops/constraints.txt" "$@" | sed -unE '/^(Collecting|Successfully installed)/p' >&2
}

# Notes that a profile, and those it contains, are set up.
stamp() {
  local profile
  case $1 in
    dev) set -- dev ;;
    bench) set -- dev bench ;;
    test) set -- dev bench test ;;
  esac
  for profile in "$@"; do fingerprint >"$venv/.set-up-$profile"; done
}

# Whether .venv is whole, made for this place, and of the Python asked for.
can_keep_venv() {
  [ -x "$venv/bin/python" ] && [ ! -e "$venv/.unfinished" ] &&
    [ "$(cat "$venv/.made-at" 2>/dev/null || echo "$root")" = "$root" ] &&
    is_recent_python "$venv/bin/python" && "$venv/bin/python" -c 'import pip' 2>/dev/null && is_wanted_python
}

make_venv() {
  local python
  python=$(pick_python)
  say "making $venv with $("$python" --version) ($python)"
  rm -rf "$venv"
  mkdir "$venv"
  touch "$venv/.unfinished"
  "$python" -m venv "$venv"
  rm "$venv/.unfinished"
}

is_recent_python() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# Prints the base interpreter, so that an activated .venv is never made from itself.
pick_python() {
  local name names=(python3 python3.14 python3.13 python3.12 python3.11)
  if [ -n "${PYTHON-}" ]; then names=("$PYTHON"); fi
  for name in "${names[@]}"; do
    if is_recent_python "$name"; then
      "$name" -c 'import sys; print(sys._base_executable)'
      return
    fi
  done
  fail "needs Python 3.11 or newer, and ${names[*]} is not: install it, or name one with PYTHON=/path/to/python3"
}

install_apt_packages() (
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    fail "missing here: $* (Debian's names). As root: apt-get install --no-install-recommends $*; then run this again"
  fi
  say "installing Debian's $*"
  # No service starts: tests start their own servers, on ports of their own.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
  apt=(apt-get -qq -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0)
  "${apt[@]}" update </dev/null >&2
  "${apt[@]}" install --yes --no-install-recommends "$@" </dev/null >&2
  if [ -d /run/systemd/system ] && [[ " $* " = *" redis-server "* ]]; then
    systemctl disable --quiet redis-server
  fi
)
