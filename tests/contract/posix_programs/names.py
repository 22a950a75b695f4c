"""Names, as POSIX promises: run in a new folder, given as argument. Prints "as promised"."""

import errno
import os
import sys


def fails_with(number, call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        assert error.errno in number, (call, arguments, error)
    else:
        raise AssertionError((call, arguments, "did not fail"))


os.makedirs(sys.argv[1])
os.chdir(sys.argv[1])

fd = os.open("a", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)
fails_with([errno.EEXIST], os.open, "a", os.O_CREAT | os.O_EXCL)
os.write(fd, b"hello")
os.rename("a", "b")
assert os.pread(fd, 5, 0) == b"hello"  # an open file keeps its content under its new name
assert not os.path.exists("a")
os.unlink("b")
assert os.pread(fd, 5, 0) == b"hello"  # and when it has no name any more
os.pwrite(fd, b"there", 5)
assert os.pread(fd, 10, 0) == b"hellothere"
os.close(fd)
assert os.listdir(".") == []

os.mkdir("d", 0o755)
names = {f"a-file-with-a-longer-name-{i:05d}" for i in range(1500)}  # several requests long
for name in names:
    open(f"d/{name}", "w").close()
assert set(os.listdir("d")) == names
fails_with([errno.ENOTEMPTY, errno.EEXIST], os.rmdir, "d")
for name in names:
    os.unlink(f"d/{name}")
os.rmdir("d")
fails_with([errno.ENOENT], os.stat, "d")
fails_with([errno.ENOENT], os.unlink, "d")

os.symlink("target/x", "s")
assert os.readlink("s") == "target/x"
with open("one", "w") as stream:
    stream.write("q")
os.link("one", "two")
assert os.stat("one").st_nlink == 2
assert os.stat("one").st_ino == os.stat("two").st_ino
os.unlink("one")
assert open("two").read() == "q"
os.mkfifo("fifo")
fails_with([errno.ENAMETOOLONG], open, "x" * 256, "w")
fails_with([errno.ENOTDIR], os.listdir, "two")
os.replace("two", "s")  # over an existing name
assert open("s").read() == "q"
print("as promised")
