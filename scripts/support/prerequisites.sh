# shellcheck shell=bash
# Finds the tools and libraries that Bindbus needs. To be sourced by scripts; bash 3.2 or later.
# Every function prints its result, or prints nothing and returns 1.

# Messages of the scripts go to stderr, because stdout is for data.
log() { printf '%s\n' "$*" >&2; }

# at_least 6.2 6.10.1: is the second version the first or a later one? Compares major and minor only.
at_least() {
  local wanted_major=${1%%.*} wanted_minor=${1#*.} major=${2%%.*} minor=${2#*.}
  minor=${minor%%.*}
  ((major > wanted_major || (major == wanted_major && minor >= wanted_minor)))
}

# Options for all builds in .build, separated by spaces: a build with others compiles everything again.
read -ra build_options <<<"${BINDBUS_BUILD_OPTIONS-}"

# The version of the Swift compiler that is first in PATH.
swift_version() {
  command -v swift >/dev/null || return 1
  local words
  words=$(swift --version 2>/dev/null) || return 1
  [[ $words =~ Swift\ version\ ([0-9]+\.[0-9]+(\.[0-9]+)?) ]] || return 1
  printf '%s\n' "${BASH_REMATCH[1]}"
}

# The folder of zmq.h; searched in the order of compilers.
libzmq_include() {
  local folder
  for folder in /usr/local/include /usr/include /opt/homebrew/include; do
    if [[ -f $folder/zmq.h ]]; then
      printf '%s\n' "$folder"
      return 0
    fi
  done
  command -v pkg-config >/dev/null || return 1
  folder=$(pkg-config --variable=includedir libzmq 2>/dev/null) || return 1
  [[ -f $folder/zmq.h ]] && printf '%s\n' "$folder"
}

# nghttp2_include: the folder with nghttp2/nghttp2.h.
nghttp2_include() {
  local folder
  for folder in /usr/local/include /usr/include /opt/homebrew/include; do
    if [[ -f $folder/nghttp2/nghttp2.h ]]; then
      printf '%s\n' "$folder"
      return 0
    fi
  done
  return 1
}

# libzmq_version FOLDER: the version that the header in this folder declares.
libzmq_version() {
  local hash name value major='' minor='' patch=''
  while read -r hash name value _; do
    [[ $hash == '#define' ]] || continue
    case $name in
      ZMQ_VERSION_MAJOR) major=$value ;;
      ZMQ_VERSION_MINOR) minor=$value ;;
      ZMQ_VERSION_PATCH) patch=$value ;;
    esac
  done <"$1/zmq.h"
  [[ -n $major && -n $minor ]] && printf '%s.%s.%s\n' "$major" "$minor" "${patch:-0}"
}

# The folder of sqlite3.h; searched in the order of compilers. On macOS it comes with the compiler.
sqlite_include() {
  local folder
  for folder in /usr/local/include /usr/include; do
    if [[ -f $folder/sqlite3.h ]]; then
      printf '%s\n' "$folder"
      return 0
    fi
  done
  if command -v xcrun >/dev/null; then
    folder=$(xcrun --show-sdk-path 2>/dev/null)/usr/include
  else
    command -v pkg-config >/dev/null || return 1
    folder=$(pkg-config --variable=includedir sqlite3 2>/dev/null) || return 1
  fi
  [[ -f $folder/sqlite3.h ]] && printf '%s\n' "$folder"
}

# sqlite_version FOLDER: the version that the header in this folder declares.
sqlite_version() {
  local hash name value
  while read -r hash name value _; do
    if [[ $hash == '#define' && $name == SQLITE_VERSION ]]; then
      value=${value%\"}
      printf '%s\n' "${value#\"}"
      return 0
    fi
  done <"$1/sqlite3.h"
  return 1
}

# first_python STATEMENT CANDIDATE...: the path of the first Python 3 in which the statement succeeds.
first_python() {
  local candidate found
  local -r look="import sys; $1; print(sys.executable)"
  shift
  for candidate in "$@"; do
    found=$("$candidate" -c "$look" 2>/dev/null) || continue
    printf '%s\n' "$found"
    return 0
  done
  return 1
}

# The first Python 3 that can import zmq. BINDBUS_PYTHON is tried first, and last the environment that scripts/setup
# creates with pip. The first python3 in PATH need not be the system's.
python_with_zmq() {
  local checkout
  checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  first_python 'import zmq' "${BINDBUS_PYTHON:-}" python3 /usr/bin/python3 /usr/local/bin/python3 \
    /opt/homebrew/bin/python3 "$checkout/.build/python/bin/python3"
}

# A broker of MQTT, where packages of systems place it.
mosquitto_path() {
  local candidate
  for candidate in /usr/sbin/mosquitto /usr/local/sbin/mosquitto /opt/homebrew/sbin/mosquitto; do
    if [[ -x $candidate ]]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# The first Python 3 that can make pages of Markdown and of code; scripts/setup --docs installs what it needs.
python_with_markdown() {
  local checkout
  checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  first_python 'import markdown_it, pygments' "${BINDBUS_DOCS_PYTHON:-}" python3 /usr/bin/python3 \
    /usr/local/bin/python3 /opt/homebrew/bin/python3 "$checkout/.build/docs-python/bin/python3"
}

# Other versions of mypy have other findings. Earlier ones of setuptools make wheels only with the package wheel.
mypy_version=2.4.1
# shellcheck disable=SC2034  # scripts/setup reads it.
setuptools_needed=70.1

# The first Python 3 with this mypy, pip and a setuptools that makes wheels. BINDBUS_PYTHON_TOOLS is tried first;
# scripts/setup --python creates that of this checkout.
python_with_mypy() {
  local checkout
  local -r look="import setuptools.command.bdist_wheel, pip, mypy.version
mypy.version.__version__ == '$mypy_version' or sys.exit(1)"
  checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  first_python "$look" "${BINDBUS_PYTHON_TOOLS:-}" "$checkout/.build/python-tools/bin/python3" python3 /usr/bin/python3
}

# A browser that can run headless. BINDBUS_CHROMIUM is tried first, then the browser without windows: it runs the same
# pages with half the work. Each must report a version, because on some systems `chromium-browser` only prints how to
# install it.
chromium_path() {
  local candidate
  for candidate in "${BINDBUS_CHROMIUM:-}" chromium-headless-shell chromium chromium-browser google-chrome \
    google-chrome-stable \
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' \
    /Applications/Chromium.app/Contents/MacOS/Chromium; do
    candidate=$(command -v "$candidate" 2>/dev/null) || continue
    [[ -n $(chromium_version "$candidate") ]] || continue
    printf '%s\n' "$candidate"
    return 0
  done
  return 1
}

# chromium_version PATH: the version that this browser reports.
chromium_version() {
  local words
  words=$("$1" --version 2>/dev/null) || return 1
  [[ $words =~ ([0-9]+(\.[0-9]+)+) ]] || return 1
  printf '%s\n' "${BASH_REMATCH[1]}"
}

# The first Python 3 that can import playwright; scripts/setup --browser creates that of this checkout.
python_with_playwright() {
  local checkout
  checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  first_python 'import playwright.sync_api' "${BINDBUS_BROWSER_PYTHON:-}" "$checkout/.build/browser/bin/python3" \
    python3 /usr/bin/python3
}
