#!/usr/bin/env bash
# Restores a home from an archive of backup.sh. The home must be new or empty. If a step fails, it stays unchanged.
#   restore.sh /backups/portico-monday.tar.gz ~/.portico
set -euo pipefail
umask 077
. "$(dirname "${BASH_SOURCE[0]}")/find-portico.sh"

archive=${1:?the archive} home=${2:?the home to make}
home=${home%/}

# in an existing home, SQLite would apply the old store's log to the copy, and the configuration would be overwritten
if [[ -e $home && ! -d $home ]] || [[ -d $home && -n $(ls -A "$home") ]]; then
  echo "$home is not empty: move it away first" >&2
  exit 1
fi
part=$home.part-$$
trap 'rm -rf "$part"' EXIT
mkdir -p "$part"
tar -xzf "$archive" -C "$part"
"${portico[@]}" store check "$part"/state/backups/*.db
# The backup of a PostgreSQL store is a file, too. `portico store migrate --from file:… --to postgres://…` moves it back.
mv "$part"/state/backups/*.db "$part/state/portico.db"
mkdir -p "$home"
shopt -s dotglob
mv "$part"/* "$home"
