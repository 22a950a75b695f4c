"""Content, as POSIX promises: random reads, writes and truncations against a model in memory. Prints "as promised"."""

import mmap
import os
import random
import sys

os.makedirs(sys.argv[1])
os.chdir(sys.argv[1])

SIZE = 3_000_000
draw = random.Random(5)
model = bytearray()
fd = os.open("f", os.O_RDWR | os.O_CREAT)
for step in range(400):
    action, offset = draw.random(), draw.randrange(SIZE)
    length = draw.choice([1, 100, 4096, 8191, 65536, 300_000, 1_048_576])
    if action < 0.45:
        block = draw.randbytes(length)
        assert os.pwrite(fd, block, offset) == length
        model.extend(bytes(max(0, offset + length - len(model))))
        model[offset : offset + length] = block
    elif action < 0.9:
        assert os.pread(fd, length, offset) == bytes(model[offset : offset + length]), step
    elif action < 0.95:
        os.ftruncate(fd, offset)
        model = model[:offset] + bytes(max(0, offset - len(model)))
    else:
        os.fsync(fd)
        os.close(fd)
        fd = os.open("f", os.O_RDWR)
    assert os.fstat(fd).st_size == len(model), step
os.close(fd)

with open("f", "r+b") as stream, mmap.mmap(stream.fileno(), 0) as mapped:
    assert mapped[:] == bytes(model)
    mapped[10:20] = b"0123456789"
    mapped.flush()
with open("f", "rb") as stream:
    assert stream.read()[10:20] == b"0123456789"

for text in ("one", "two", "three"):
    with open("appended", "a") as stream:
        stream.write(text)
assert open("appended").read() == "onetwothree"

with open("appended", "w") as stream:  # shorter than before
    stream.write("4")
assert open("appended").read() == "4"

fd = os.open("sparse", os.O_RDWR | os.O_CREAT)
os.pwrite(fd, b"x", 5_000_000_000)  # beyond 32 bits
assert os.fstat(fd).st_size == 5_000_000_001
assert os.pread(fd, 3, 4_999_999_998) == b"\0\0x"
assert os.pread(fd, 10, 6_000_000_000) == b""
os.close(fd)
fd = os.open("v", os.O_RDWR | os.O_CREAT)
assert os.writev(fd, [b"ab", b"cd"]) == 4
assert os.pread(fd, 9, 0) == b"abcd"
os.close(fd)
print("as promised")
