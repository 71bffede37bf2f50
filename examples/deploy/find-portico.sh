# The scripts in this folder source this file, which sets the array `portico` to the command that they run: the command in
# PORTICO, else `portico` on the PATH, else the program of the checkout or package that contains this folder.
program=$(dirname "${BASH_SOURCE[0]}")/../../.build/portico.cjs
if [[ -n ${PORTICO:-} ]]; then
  read -ra portico <<<"$PORTICO"
elif [[ -n $(type -P portico) ]]; then
  portico=(portico)
elif [[ -e $program ]]; then
  portico=(node "$(realpath "$program")")
else
  echo "There is no portico on the PATH. Set PORTICO to the command, such as PORTICO='npx portico'." >&2
  exit 1
fi
