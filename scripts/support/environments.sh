# shellcheck shell=bash
# Python environments of this checkout, which scripts/setup makes with pip. To be sourced after prerequisites.sh.

can_make_environments() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

# pip_install FOLDER PACKAGE...: installs into a Python environment of this checkout, which requires no privileges.
# playwright would download its own browsers; the tests use the installed one.
pip_install() {
  local folder=$1
  shift
  can_make_environments || return 0
  # shellcheck disable=SC2034  # scripts/setup reads it.
  tried=yes
  log "setup: installing $* with pip into $folder"
  {
    python3 -m venv "$folder" &&
      PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 "$folder/bin/python3" -m pip install --quiet "$@"
  } >&2 || log "setup: pip install failed"
}
