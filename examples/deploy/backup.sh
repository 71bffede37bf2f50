#!/usr/bin/env bash
# Writes a home into one archive while its gateway runs: a consistent copy of the store, and every other file of the
# home except for files that the gateway creates again (caches, logs) and browser profiles. The archive contains secrets.
#   backup.sh ~/.portico /backups/portico-monday.tar.gz [/etc/portico/portico.json]
# The third argument names a configuration outside the home, which becomes the portico.json of the archive.
set -euo pipefail
umask 077
. "$(dirname "${BASH_SOURCE[0]}")/find-portico.sh"

home=${1:?the home} archive=${2:?the archive to write} config=${3:-}
home=$(cd "$home" && pwd)
[[ $archive == /* ]] || archive=$PWD/$archive
[[ -z $config || $config == /* ]] || config=$PWD/$config

copy=$(PORTICO_HOME=$home "${portico[@]}" store backup --json | sed -n 's/.*"name": *"\([^"]*\)".*/\1/p')
trap 'rm -f "$home/state/backups/$copy" "$archive.part"' EXIT
cd "$home"
leave_out=(
  --exclude='./state/portico.db*'
  --exclude=./state/cache --exclude=./state/logs --exclude=./state/tmp --exclude=./state/browser
  --exclude=./state/gateway.json
)
for other in state/backups/*; do
  if [[ $other != "state/backups/$copy" ]]; then leave_out+=(--exclude="./$other"); fi
done
add=()
if [[ -n $config ]]; then
  leave_out+=(--exclude=./portico.json)
  add=(--transform="s|^${config#/}\$|./portico.json|" -C / "${config#/}")
fi
status=0
tar -czf "$archive.part" "${leave_out[@]}" . "${add[@]}" || status=$?
# Status 1 means that a file changed while it was read, which is normal while the gateway runs.
((status <= 1))
mv "$archive.part" "$archive"
