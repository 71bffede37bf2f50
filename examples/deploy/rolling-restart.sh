#!/usr/bin/env bash
# Restarts the gateways on these ports one after another. Each must be ready before the next one stops.
#   rolling-restart.sh 18789 18793
set -euo pipefail

for port in "$@"; do
  # waits until running requests have ended
  ${RESTART:-systemctl restart} "portico@$port"
  for ((tries = 0; ; tries++)); do
    if curl -fsS -o /dev/null --max-time 2 "http://127.0.0.1:$port/ready" 2>/dev/null; then break; fi
    if ((tries == 300)); then
      echo "portico@$port is not ready after a minute: the others were left alone" >&2
      exit 1
    fi
    sleep 0.2
  done
  echo "portico@$port is ready"
done
