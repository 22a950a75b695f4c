"""Shell text that prepares and cleans a host; values only reach it as arguments. POSIX, with Linux's /proc."""

# Servers and mounts keep state in fixed places below /run, so a host has those of one cluster at a time.
LOCK = "/run/wavetank-host"

# $1: home, $2: mount point or nothing, $3: the lock, or nothing. Directories above the mount point that are made here
# are noted before.
PREPARE = """set -e
home=$1 at=$2 lock=$3
if [ -n "$lock" ] && [ -L "$lock" ] && [ ! -d "$lock" ]; then rm -f -- "$lock"; fi  # of a cluster that is gone
if [ -n "$at" ] && grep -q " $at " /proc/mounts; then
  echo "$at is mounted already: another cluster's? Give file_system.mount another path" >&2
  exit 1
fi
mkdir -m 755 -- "$home"
if [ -n "$lock" ] && ! ln -sn -- "$home" "$lock" 2>/dev/null; then
  rmdir -- "$home"
  echo "it serves or mounts another cluster, $(readlink -- "$lock"): take that one down, or another host" >&2
  exit 1
fi
mkdir -- "$home/daemons" "$home/log" "$home/programs" "$home/data"
if [ -n "$at" ]; then
  missing=$at
  while [ ! -d "$missing" ]; do
    echo "$missing" >>"$home/made"
    missing=$(dirname -- "$missing")
  done
  mkdir -p -- "$at"
fi
: >"$home/prepared"
"""

# $1: home, $2: mount point or nothing, $3: the lock. The home's name is of one cluster only: what is there is its own.
CLEAN = """home=$1 at=$2 lock=$3
[ -d "$home" ] || exit 0
tries=0
while [ -n "$at" ] && [ -e "$home/prepared" ] && grep -q " $at " /proc/mounts; do
  umount -l -- "$at" || exit 1
  tries=$((tries + 1))
  [ "$tries" -le 20 ] || exit 1
done
if grep -q " $home/" /proc/mounts; then
  echo "something is mounted below $home" >&2
  exit 1
fi
if [ -f "$home/made" ]; then
  while read -r directory; do rmdir -- "$directory" 2>/dev/null; done <"$home/made"
fi
if [ "$(readlink -- "$lock")" = "$home" ]; then rm -f -- "$lock"; fi
rm -rf -- "$home"
"""

# Addresses of this host on its networks. Samples: iproute2 6.1 ``2: eth0    inet 10.77.0.1/24 brd ...``;
# net-tools and busybox ``inet 10.77.0.1  netmask 255.255.255.0``, ``inet addr:10.77.0.1  Bcast:...``.
ADDRESSES = """{ ip -o addr show || ifconfig -a; } 2>/dev/null | tr -s ' /' '\\n\\n' | sed 's/^addr://'
true
"""

# $1: directory, $2: mount point or nothing, then words "p NAME" (a program), "f PATH" (a file) and "k NAME" (a module of the
# kernel). A line for each that is missing, "i" with what tells this machine from others, "o" with what its distribution is.
EXAMINE = """directory=$1 at=$2; shift 2
printf 'i %s %s\\n' "$(cat /proc/sys/kernel/random/boot_id)" "$(ls -l /proc/self/ns/pid | sed 's/.*-> //')"
printf 'o %s\\n' "$(grep -E '^ID(_LIKE)?=' /etc/os-release 2>/dev/null | tr '\\n' ';')"
kernel=/lib/modules/$(cat /proc/sys/kernel/osrelease)
[ -d "$directory" ] && [ -w "$directory" ] || printf 'd %s\\n' "$directory"
if [ -n "$at" ] && grep -q " $at " /proc/mounts; then printf 'm %s\\n' "$at"; fi
while [ $# -gt 1 ]; do
  case $1 in
    p) command -v -- "$2" >/dev/null 2>&1 || printf 'p %s\\n' "$2" ;;
    f) [ -e "$2" ] || printf 'f %s\\n' "$2" ;;
    k) [ -e "/sys/module/$2" ] || grep -qs "/$2[.]ko" "$kernel/modules.dep" "$kernel/modules.builtin" || printf 'k %s\\n' "$2" ;;
  esac
  shift 2
done
"""
# What our own scripts use besides the shell.
TOOLS = ("cat", "cut", "dd", "dirname", "env", "grep", "kill", "ln", "ls", "mkdir", "readlink", "rm", "rmdir", "sed",
         "setsid", "sleep", "stat", "timeout", "tr")  # fmt: skip

# $1: address of this host on the cluster's network, $2: a directory on its disk for data. Lines: "c" processors, "n" network device
# and its speed (Mbit/s; a device out of software has none), "d" number of the directory's file system's device.
FACTS = """address=$1 home=$2
printf 'c %s\\n' "$(grep -c '^cpu[0-9]' /proc/stat)"
{ ip -o addr show; } 2>/dev/null | tr -s ' /' '  ' | while read -r _ device _ at _; do
  [ "$at" = "$address" ] || continue
  printf 'n %s %s\\n' "${device%%@*}" "$(cat "/sys/class/net/${device%%@*}/speed" 2>/dev/null)"
done
printf 'd %s\\n' "$(stat -c %d -- "$home")"
"""

# $1: seconds between readings. Prints the host's counters until nobody reads them any more: then cat fails.
COUNTERS = """every=$1
while cat /proc/uptime /proc/stat /proc/net/dev /proc/diskstats && echo =; do
  sleep "$every" 2>/dev/null || sleep 1
done 2>/dev/null
true
"""
