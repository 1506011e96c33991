#!/usr/bin/env bash
# The tutorial and the pages for people who come from other systems say what happens, and a page that says anything else
# is found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

# shellcheck source=scripts/support/answers.sh
source scripts/support/answers.sh
# shellcheck source=scripts/support/prerequisites.sh
source scripts/support/prerequisites.sh

answers 0 Tests/Checks/guides --help
answers 64 Tests/Checks/guides --no-such-option

programs=${BINDBUS_BIN:-.build/debug}
if [[ ! -x $programs/bindhub || ! -x $programs/bindpeer || ! -d $programs/Modules ]]; then
  log "guides.sh: nothing is run: it needs bindhub, bindpeer and Modules in $programs"
  exit 0
fi
BINDBUS_PYTHON=$(python_with_zmq) || { log 'guides.sh: no python3 can import zmq; run scripts/setup' && exit 72; }
export BINDBUS_PYTHON

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# refused WORDS BLOCK: a page with this block is not as it says, and the reason contains the words.
refused() {
  printf '%s\n' "$2" >"$folder/page.md"
  answers 1 Tests/Checks/guides "$folder/page.md"
  if [[ $words != *"$1"* ]]; then
    log "guides.sh: not refused for '$1': $words"
    exit 1
  fi
}
fence='```'
refused 'what happens is' "<!-- typed -->
$fence
shell\$ echo one
two
$fence"
refused 'the page does not say' "<!-- typed -->
$fence
shell\$ echo one
shell\$ echo two
two
$fence"
refused 'say above this block what it is' "
$fence
shell\$ echo one
$fence"

Tests/Checks/guides
