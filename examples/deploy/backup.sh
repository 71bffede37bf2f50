#!/usr/bin/env bash
# Writes a home into one archive while its gateway runs: a consistent copy of the store, configuration, hooks, plugins
# and workspace. The archive holds secrets.
#   backup.sh ~/.portico /backups/portico-monday.tar.gz
set -euo pipefail
umask 077
home=${1:?the home} archive=${2:?the archive to write}
home=$(cd "$home" && pwd)
[[ $archive == /* ]] || archive=$PWD/$archive

copy=$(PORTICO_HOME=$home ${PORTICO:-portico} store backup --json | sed -n 's/.*"name": *"\([^"]*\)".*/\1/p')
trap 'rm -f "$home/state/backups/$copy" "$archive.part"' EXIT
cd "$home"
parts=("state/backups/$copy")
for part in portico.json .env hooks plugins transforms workspace; do
  if [[ -e $part ]]; then parts+=("$part"); fi
done
tar -czf "$archive.part" "${parts[@]}"
mv "$archive.part" "$archive"
