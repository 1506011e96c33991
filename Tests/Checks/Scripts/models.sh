#!/usr/bin/env bash
# How scripts/check-models refuses impossible requests and a missing spin, and that it fails where a fault is not found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

# shellcheck source=scripts/support/answers.sh
source scripts/support/answers.sh

answers 0 scripts/check-models --help
answers 64 scripts/check-models --no-such-option
answers 64 scripts/check-models NO_SUCH_FAULT

# A machine that has all that the script needs before it looks for spin.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for tool in bash dirname; do ln -s "$(command -v "$tool")" "$folder/$tool"; done
answers 72 env "PATH=$folder" bash scripts/check-models ACKNOWLEDGE_ON_SEND

if command -v spin >/dev/null && command -v cc >/dev/null; then
  # In a copy of the project, the same fault, and then a model in which it does nothing.
  mkdir -p "$folder/copy/Tests"
  cp -R scripts "$folder/copy"
  cp -R Tests/Models "$folder/copy/Tests"
  answers 0 "$folder/copy/scripts/check-models" ACKNOWLEDGE_ON_SEND
  sed -i.old 's/ifdef ACKNOWLEDGE_ON_SEND/ifdef NOTHING/' "$folder/copy/Tests/Models/append.pml"
  answers 1 "$folder/copy/scripts/check-models" ACKNOWLEDGE_ON_SEND
fi
