"""MPI-IO of mpi4py with known calls; test_tracer_wheel.py lists the same."""

from mpi4py import MPI

BLOCK = 1000

comm = MPI.COMM_WORLD
data = bytearray(BLOCK)
info = MPI.Info.Create()
info.Set("cb_buffer_size", "1048576")
file = MPI.File.Open(comm, "wheel.bin", MPI.MODE_CREATE | MPI.MODE_RDWR, info)
for i in range(4):
    file.Write_at((i * comm.size + comm.rank) * BLOCK, data)
comm.Barrier()
file.Read_at_all(comm.rank * BLOCK, data)
file.Iwrite_at(comm.rank * BLOCK, data).Wait()
file.Close()
