#!/usr/bin/env bash
# What scripts/package refuses, and what a package has: programs that run, a manual page without a fault for each
# command, completions that each shell can read, units that systemd accepts, and nothing that changes from run to run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

# shellcheck source=scripts/support/answers.sh
source scripts/support/answers.sh
# shellcheck source=scripts/support/prerequisites.sh
source scripts/support/prerequisites.sh

answers 0 scripts/package --help
answers 64 scripts/package --no-such-option
answers 64 scripts/package --programs /nowhere

programs=${BINDBUS_BIN:-.build/debug}
if ! command -v dpkg-shlibdeps >/dev/null || [[ ! -x $programs/bindhub ]]; then
  log "package.sh: no package is made: it needs dpkg-dev, and bindhub and bindpeer in $programs"
  exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fails() {
  log "package.sh: $*"
  exit 1
}

scripts/package --programs "$programs" --quick "$folder/first" 2>"$folder/log" || fails "$(cat "$folder/log")"
scripts/package --programs "$programs" --quick "$folder/second" 2>>"$folder/log" || fails "$(cat "$folder/log")"
package=$(echo "$folder"/first/bindbus_*.deb)
cmp "$package" "$folder/second/${package##*/}" || fails "two runs make different packages"
root=$folder/root
dpkg-deb --extract "$package" "$root"

for program in bindhub bindpeer; do
  version=$(dpkg-deb --field "$package" Version)
  [[ $("$root/usr/bin/$program" --version) == "$program $version, "* ]] || fails "$program has another version"
  bash -n "$root/usr/share/bash-completion/completions/$program" || fails "bash cannot read its completions"
  [[ -s $root/usr/share/zsh/vendor-completions/_$program ]] || fails "zsh has no completions"
  [[ -s $root/usr/share/fish/vendor_completions.d/$program.fish ]] || fails "fish has no completions"
  [[ -f $root/usr/share/man/man1/$program.1.gz ]] || fails "$program has no manual page"
done
[[ $(dpkg-deb --field "$package" Depends) == *libzmq5* ]] || fails "it does not depend on libzmq"

# Whoever gets the programs gets the licenses of all that is in them.
documents=$root/usr/share/doc/bindbus
sed -n 's/^    \.package(url: ".*\/\(.*\)", from.*/\1/p' Package.swift | while IFS= read -r name; do
  grep -q "$name" "$documents/NOTICE" || fails "NOTICE lacks $name"
  [[ -s $documents/licenses/$name-license.txt ]] || fails "the license of $name is missing"
done

# Each command has a page, and each page that another one names is there.
for page in "$root"/usr/share/man/man1/*.gz; do
  if command -v man >/dev/null; then
    said=$(man --warnings --local-file "$page" 2>&1 >/dev/null) || true
    [[ -z $said ]] || fails "${page##*/}: $said"
  fi
  zcat "$page" | sed -n 's/.*\\fB\(bind[a-z\\-]*\)\\fR(1).*/\1/p' | tr -d '\\' | while IFS= read -r named; do
    [[ -f $root/usr/share/man/man1/$named.1.gz ]] || fails "${page##*/} names $named(1), which is not there"
  done
done

if command -v systemd-analyze >/dev/null; then
  # The path of the program, and users of this machine, are not looked at.
  for unit in system/bindhub user/bindhub; do
    sed -e "s|/usr/bin/bindhub|$root/usr/bin/bindhub|" -e '/^Documentation/d' -e '/^User=/d' -e '/^Group=/d' \
      "$root/usr/lib/systemd/$unit.service" >"$folder/${unit%%/*}.service"
  done
  said=$(systemd-analyze verify "$folder/system.service" 2>&1) || true
  [[ -z $said ]] || fails "the unit of the system: $said"
  exposure=$(systemd-analyze security --offline=yes --threshold=20 "$folder/system.service" >/dev/null 2>&1 &&
    echo fine)
  [[ $exposure == fine ]] || fails "the unit of the system exposes more than 2.0 of 10"
fi
