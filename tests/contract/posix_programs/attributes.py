"""Attributes, as POSIX promises. Prints "as promised"."""

import os
import stat
import sys

os.makedirs(sys.argv[1])
os.chdir(sys.argv[1])

os.umask(0o022)
open("c", "w").close()
assert stat.S_IMODE(os.stat("c").st_mode) == 0o644
os.chmod("c", 0o4750)
assert stat.S_IMODE(os.stat("c").st_mode) == 0o4750
os.utime("c", ns=(1_500_000_000_123_000_000, 1_600_000_000_456_000_000))
found = os.stat("c")
assert (found.st_atime_ns // 1000, found.st_mtime_ns // 1000) == (
    1_500_000_000_123_000,
    1_600_000_000_456_000,
)
with open("c", "w") as stream:
    stream.write("changed")
assert os.stat("c").st_mtime_ns > found.st_mtime_ns
if os.geteuid() == 0:
    os.chown("c", 12, 34)
    assert (os.stat("c").st_uid, os.stat("c").st_gid) == (12, 34)
os.truncate("c", 3)
assert open("c").read() == "cha"
assert os.stat("c").st_blocks > 0
space = os.statvfs(".")
assert space.f_blocks * space.f_frsize > space.f_bavail * space.f_frsize > 0
assert space.f_namemax == 255
assert stat.S_ISDIR(os.stat(".").st_mode)
assert not os.access("nothing", os.F_OK)
print("as promised")
