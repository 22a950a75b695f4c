"""Shell text that ends what has a mark in its environment, on nodes with processes that this machine does not see."""

from __future__ import annotations

PATIENT_TRIES = "20"  # of END, a tenth of a second each

# $1, $2: the mark and its value. Ends every process that has it in its environment; the dead have none any more.
# $3: tries (a tenth of a second each) before they are killed; at the first they are asked to end. 0 where left out.
# Both come apart, as sudo copies the command line into the environment of what it runs (SUDO_COMMAND).
END = """marked() {
  if printf 'a\\0b' | grep -qF b; then
    grep -lsF -- "$1=$2" /proc/[0-9]*/environ
  else  # busybox: to its grep a line ends at the first NUL
    for file in /proc/[0-9]*/environ; do
      if tr '\\0' '\\n' 2>/dev/null <"$file" | grep -qxF -- "$1=$2"; then echo "$file"; fi
    done
  fi
} 2>/dev/null
tries=0
while found=$(marked "$1" "$2"); [ -n "$found" ]; do
  signal=KILL
  if [ "$tries" -lt "${3:-0}" ]; then signal=0; [ "$tries" -gt 0 ] || signal=TERM; fi
  for file in $found; do
    pid=${file#/proc/}
    kill -"$signal" "${pid%/environ}" 2>/dev/null
  done
  tries=$((tries + 1))
  [ "$tries" -le 100 ] || { echo "processes do not end: $found" >&2; exit 1; }
  sleep 0.1 2>/dev/null || sleep 1
done
"""
