#!/usr/bin/env bash
# What `bindpeer stubs` prints of random descriptions compiles: Swift by the compiler, Python by mypy --strict and by
# running it, TypeScript by tsc if it is installed. BINDBUS_STUBS is the number of descriptions (40).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
# shellcheck source=scripts/support/prerequisites.sh
source scripts/support/prerequisites.sh

bin=${BINDBUS_BIN:-$(swift build --show-bin-path)}
python=$(python_with_zmq)
folder=$(mktemp -d)
hub=''
clean() {
  if [[ -n $hub ]]; then kill "$hub" 2>/dev/null && wait "$hub" 2>/dev/null || true; fi
  rm -rf "$folder"
}
trap clean EXIT

export BINDPEER_HUB=ipc://$folder/hub.sock
"$bin/bindhub" serve --listen "$BINDPEER_HUB" --store memory >"$folder/hub.log" 2>&1 &
hub=$!
"$python" Tests/Checks/descriptions.py "${BINDBUS_STUBS:-40}" >"$folder/described"
xargs -d '\n' -n 10 "$bin/bindpeer" set --timeout 30s <"$folder/described" >/dev/null

for language in swift python typescript; do
  "$bin/bindpeer" stubs t/ "--$language" --timeout 30s >"$folder/stubs.$language"
done
mv "$folder/stubs.swift" "$folder/Stubs.swift"
mv "$folder/stubs.python" "$folder/stubs.py"
mv "$folder/stubs.typescript" "$folder/stubs.ts"

maps=(-I Sources/CZMQ -I "$bin/Modules")
while IFS= read -r map; do maps+=(-I "$(dirname "$map")"); done < <(find -H "$bin" -path '*.build/module.modulemap')
swiftc -typecheck -swift-version 6 "${maps[@]}" "$folder/Stubs.swift"

checker=$(python_with_mypy)
MYPYPATH=Python/src "$checker" -m mypy --strict --cache-dir .build/mypy --python-executable "$python" \
  "$folder/stubs.py" >&2
PYTHONPATH=Python/src "$python" -B "$folder/stubs.py"

if command -v tsc >/dev/null; then
  cp Sources/BindingWeb/Pages/pages/bind.d.ts "$folder/bind.d.ts"
  sed -i "s#'/bind.mjs'#'./bind'#" "$folder/stubs.ts"
  tsc --strict --noEmit --target es2020 --lib es2020,dom "$folder/stubs.ts"
else
  log 'stubs.sh: TypeScript is not checked: tsc is not in PATH'
fi
types=$(grep -c '^struct ' "$folder/Stubs.swift")
log "stubs.sh: passed, $types types"
