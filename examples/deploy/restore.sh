#!/usr/bin/env bash
# Makes a home of an archive of backup.sh. The home must be new or empty; where something fails, it stays as it was.
#   restore.sh /backups/portico-monday.tar.gz ~/.portico
set -euo pipefail
umask 077
. "$(dirname "${BASH_SOURCE[0]}")/find-portico.sh"

archive=${1:?the archive} home=${2:?the home to make}
home=${home%/}

# the store's log or journal alone would be taken for the copy's, and a configuration be gone
if [[ -e $home && ! -d $home ]] || [[ -d $home && -n $(ls -A "$home") ]]; then
  echo "$home is not empty: move it away first" >&2
  exit 1
fi
part=$home.part-$$
trap 'rm -rf "$part"' EXIT
mkdir -p "$part"
tar -xzf "$archive" -C "$part"
"${portico[@]}" store check "$part"/state/backups/*.db
# from a store on PostgreSQL too this is a file, which `portico store migrate --from file:… --to postgres://…` takes back
mv "$part"/state/backups/*.db "$part/state/portico.db"
mkdir -p "$home"
shopt -s dotglob
mv "$part"/* "$home"
