#!/usr/bin/env bash
# Makes a home of an archive of backup.sh. The home must be new, and no gateway runs on it.
#   restore.sh /backups/portico-monday.tar.gz ~/.portico
set -euo pipefail
umask 077
archive=${1:?the archive} home=${2:?the home to make}

# its log or journal alone would be taken for the copy's
if compgen -G "$home/state/portico.db*" > /dev/null; then
  echo "$home has a store already: move it away first" >&2
  exit 1
fi
mkdir -p "$home"
tar -xzf "$archive" -C "$home"
${PORTICO:-portico} store check "$home"/state/backups/*.db
# from a store on PostgreSQL too this is a file, which `portico store migrate --from file:… --to postgres://…` takes back
mv "$home"/state/backups/*.db "$home/state/portico.db"
