# shellcheck shell=bash
# Steps of a script: on a terminal one line with a running clock, elsewhere a line at the beginning and the end of each.
# The output of a step goes to a file, and is printed if the step fails. To be sourced in the checkout's folder, after
# prerequisites.sh; bash 3.2 or later. The script sets `steps_total`.

steps_total=0
steps_begun=0
steps_failed=()
steps_folder=.build/steps
steps_clock=''

# Set on a terminal that can overwrite a line; CI stores the output in a file.
steps_live=''
if [[ -t 2 && ${TERM:-dumb} != dumb && -z ${CI-} ]]; then steps_live=yes; fi

# 83 is 1:23.
steps_time() { printf '%d:%02d' "$(($1 / 60))" "$(($1 % 60))"; }

# Rewrites the line each second, until TERM or the end of the script.
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

# Removes the line.
steps_quiet() {
  if [[ -z $steps_clock ]]; then return; fi
  kill -TERM "$steps_clock" 2>/dev/null || true
  wait "$steps_clock" 2>/dev/null || true
  steps_clock=''
  printf '\r\033[K' >&2
}

# step NAME COMMAND...: runs the command, prints its duration, and records its name if it fails.
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

# Prints the output of a failed step: lines with an error, each with the next, which tells why, and the last lines.
steps_show() {
  if (($(wc -l <"$1") > 40)); then
    grep -aE -A 1 'recorded an issue|error: |FAILED' "$1" | cut -c 1-300 | head -n 40 >&2 || true
    log '…'
  fi
  tail -n 40 "$1" >&2
  log "   complete output: $1"
}

# Runs scripts/setup as a step; prints beforehand which tools it will install.
step_setup() {
  local missing
  missing=$(scripts/setup --check "$@" 2>&1 | grep '^setup: missing: ') || missing=''
  if [[ -n $missing ]]; then log "$missing; scripts/setup tries to install it (apt-get, brew, pip)"; fi
  step setup scripts/setup "$@"
}
