# shellcheck shell=bash
# Steps of a script: on a terminal one line that counts the time, elsewhere a line at the beginning of each and one at
# its end. What a step prints goes into a file of its own, and is shown where the step fails. To be sourced in the
# checkout's folder, after prerequisites.sh; bash 3.2 or later. `steps_total` is for the script to set.

steps_total=0
steps_begun=0
steps_failed=()
steps_folder=.build/steps
steps_clock=''

# A terminal on which a line can be written over; who asks for CI reads a file later.
steps_live=''
if [[ -t 2 && ${TERM:-dumb} != dumb && -z ${CI-} ]]; then steps_live=yes; fi

# 83 is 1:23.
steps_time() { printf '%d:%02d' "$(($1 / 60))" "$(($1 % 60))"; }

# Writes the line anew each second, until it is told to end or the script is gone.
steps_count() {
  local started=$SECONDS sleeper=''
  trap 'if [[ -n $sleeper ]]; then kill "$sleeper" 2>/dev/null; fi; exit 0' TERM
  while kill -0 "$$" 2>/dev/null; do
    printf '\r%s  %s\033[K' "$1" "$(steps_time "$((SECONDS - started))")" >&2
    sleep 1 &
    sleeper=$!
    wait "$sleeper"
  done
}

# Takes the line away.
steps_quiet() {
  if [[ -z $steps_clock ]]; then return; fi
  kill -TERM "$steps_clock" 2>/dev/null || true
  wait "$steps_clock" 2>/dev/null || true
  steps_clock=''
  printf '\r\033[K' >&2
}

# step NAME COMMAND...: runs it, tells how long it took, remembers its name when it failed.
step() {
  local name=$1 started=$SECONDS code=0 words log
  shift
  steps_begun=$((steps_begun + 1))
  words="step $steps_begun of $steps_total  $name"
  log=$steps_folder/${name//[!A-Za-z0-9._-]/-}.log
  mkdir -p "$steps_folder"
  if [[ -n $steps_live ]]; then
    steps_count "$words" &
    steps_clock=$!
  else
    log "$words"
  fi
  "$@" >"$log" 2>&1 || code=$?
  steps_quiet
  if ((code == 0)); then
    log "$words: ok, $(steps_time "$((SECONDS - started))")"
  else
    steps_failed+=("$name")
    log "$words: FAILED with $code, $(steps_time "$((SECONDS - started))")"
    steps_show "$log"
  fi
  return "$code"
}

# What a step that failed has to say: lines that name a fault, and the last ones.
steps_show() {
  if (($(wc -l <"$1") > 40)); then
    grep -aE 'recorded an issue|error: |FAILED' "$1" | cut -c 1-300 | head -n 20 >&2 || true
    log '…'
  fi
  tail -n 40 "$1" >&2
  log "   all of it: $1"
}

# Looks for what is needed, as a step; what it is about to install is said before.
step_setup() {
  local missing
  missing=$(scripts/setup --check "$@" 2>&1 | grep '^setup: missing: ') || missing=''
  if [[ -n $missing ]]; then log "$missing; scripts/setup installs what it may (apt-get, brew, pip)"; fi
  step setup scripts/setup "$@"
}
