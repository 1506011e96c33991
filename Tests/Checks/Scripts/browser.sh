#!/usr/bin/env bash
# How Tests/Browser/run, Tests/Browser/screenshots and scripts/setup refuse wrong usage or a missing browser. That
# they work is shown by Tests/Browser/run itself, which scripts/test runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

# shellcheck source=scripts/support/answers.sh
source scripts/support/answers.sh

# A PATH with everything that the scripts call except a browser.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for tool in bash cat dirname env uname; do ln -s "$(command -v "$tool")" "$folder/$tool"; done

answers 0 Tests/Browser/run --help
answers 64 Tests/Browser/run --no-such-option
answers 64 Tests/Browser/run --filter
answers 72 env -i PATH="$folder" Tests/Browser/run
[[ $words == *'scripts/setup --browser'* ]]
answers 0 Tests/Browser/screenshots --help
answers 64 Tests/Browser/screenshots --no-such-option
answers 64 Tests/Browser/screenshots --into /nonexistent
answers 72 env -i PATH="$folder" Tests/Browser/screenshots
answers 72 env -i PATH="$folder" scripts/setup --check --browser
[[ $words == *'chromium missing'* ]]
answers 64 scripts/setup --no-such-option
answers 72 env -i PATH="$folder" scripts/setup --check
[[ $words != *chromium* ]]
printf 'browser.sh: passed\n' >&2
