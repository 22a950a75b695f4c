"""Messages of mpi4py, which takes the functions of MPI 4 where the MPI library has them."""

import signal

from mpi4py import MPI

signal.alarm(120)  # a message that never comes
world = MPI.COMM_WORLD
rank = world.Get_rank()
other = 1 - rank
if rank == 0:
    world.send({"key": 1}, dest=other)
else:
    assert world.recv(source=other) == {"key": 1}
block = bytearray(8)
world.Sendrecv(bytearray([rank] * 8), other, 0, block, other)
assert block == bytearray([other] * 8)
with open(f"rank{rank}.txt", "w") as file:
    file.write(MPI.Get_library_version())
