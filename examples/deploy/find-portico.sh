# Sets the array `portico` to the command that a script of this folder runs; the script sources this file. The command is
# that of PORTICO, else `portico` on the PATH, else the program of the checkout or package that has this folder.
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
