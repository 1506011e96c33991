# shellcheck shell=bash
# For checks of what scripts refuse. To be sourced in the checkout's folder.

# What the last command printed.
words=''

# answers CODE COMMAND...: the command ends with this code, or the check with 1.
answers() {
  local wanted=$1 code=0
  shift
  words=$("$@" 2>&1) || code=$?
  if ((code != wanted)); then
    printf '%s: %s ended with %s, not %s\n%s\n' "${0##*/}" "$*" "$code" "$wanted" "$words" >&2
    exit 1
  fi
}
