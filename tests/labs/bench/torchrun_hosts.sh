#!/usr/bin/env bash
# torchrun_hosts.sh: how a launcher behaves over two pretend hosts, in seconds: start, a host joining, an agent
# told to end (SIGTERM), a host losing power alone, and power loss with a worker failing 1 s later.
# LAUNCHER: the command (default: the torchrun of torch.sh); it takes torchrun's options. WAIT: longest wait, s (default 70).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
labs=$(dirname "$here")
launcher=${LAUNCHER:-$labs/torch.sh run torchrun} wait=${WAIT:-70}
export NETHOSTS_LAB=${NETHOSTS_LAB:-thosts}
n=$labs/nethosts.sh
d=$(mktemp -d)
trap '"$n" down; rm -rf "$d"' EXIT
cat >"$d/w.sh" <<'E'
#!/bin/sh
echo "$(date +%s.%N) $WORLD_SIZE"
exec sleep 600
E
chmod +x "$d/w.sh"
agent() {  # HOST NNODES: starts an agent, its pid in $!
  # shellcheck disable=SC2086
  "$n" exec "$1" $launcher --nnodes="$2" --max_restarts=5 --rdzv_backend=c10d --rdzv_endpoint=h1:29400 --rdzv_id=j$k \
    --nproc_per_node=2 --monitor_interval=0.1 --no_python "$d/w.sh" >>"$d/$1.out" 2>>"$d/$1.err" &
  disown $!
}
lines() { cat "$d/$1.out" 2>/dev/null | wc -l; }
until_lines() { local i; for ((i = 0; i < wait * 20; i++)); do [[ $(lines "$1") -ge $2 ]] && return 0; sleep 0.05; done; return 1; }
took() {  # WHAT SINCE HOST LINES: time from SINCE to the last of LINES start marks on HOST
  if until_lines "$3" "$4"; then sed -n "$4p" "$d/$3.out" | awk -v s="$2" -v w="$1" '{ printf "%s: %.2f s (world size %s)\n", w, $1 - s, $2 }'; else echo "$1: nothing in $wait s"; fi
}
now() { date +%s.%N; }
fresh() { "$n" down; "$n" up 2; rm -f "$d"/*.out "$d"/*.err; k=$((k + 1)); }
k=0
for _ in 1 2 3; do fresh; s=$(now); agent h1 2; agent h2 2; took "start of 2 hosts" "$s" h1 2; done
fresh; s=$(now); agent h1 1:2; took "start with 1 host of 1:2" "$s" h1 2
s=$(now); agent h2 1:2; b=$!; took "second host joins" "$s" h1 4
if kill -0 $b 2>/dev/null && [[ $(lines h1) -ge 4 ]]; then s=$(now); kill -TERM $b; took "SIGTERM of the second agent, first host goes on" "$s" h1 6; fi
fresh; agent h1 1:2; agent h2 1:2; until_lines h1 2; sleep 1; s=$(now); "$n" kill h2; took "power loss of a host alone" "$s" h1 4
fresh; agent h1 1:2; agent h2 1:2; until_lines h1 2; sleep 1; "$n" kill h2; sleep 1; s=$(now)
for w in $("$n" ps h1); do if [[ $(cat "/proc/$w/comm" 2>/dev/null) == sleep ]]; then break; fi; done
kill -9 "$w"; took "power loss, a worker failing 1 s later" "$s" h1 4
