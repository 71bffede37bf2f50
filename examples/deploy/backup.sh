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
# 1: a file of the workspace changed while it was read, as they do while the gateway runs
tar -czf "$archive.part" "${parts[@]}" || (($? == 1))
mv "$archive.part" "$archive"
