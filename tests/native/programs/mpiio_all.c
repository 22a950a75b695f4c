/* The rest of MPI-IO: nonblocking, split collective, shared pointers, ordered. Each rank writes and reads
 * blocks of 100 bytes. test_tracer_mpi_all.py lists the same. */
#include <mpi.h>
#include <string.h>

#define BLOCK 100

static char buffer[4096], other[4096];

int main(int argc, char **argv) {
    int rank, n;
    MPI_File file;
    MPI_Status status, statuses[2];
    MPI_Request requests[2];
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    memset(buffer, 'a' + rank, sizeof buffer);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "1048576");
    MPI_File_open(MPI_COMM_WORLD, "all.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_Info_free(&info);

    MPI_File_iwrite_at(file, (MPI_Offset)rank * BLOCK, buffer, BLOCK, MPI_BYTE, &requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_File_seek(file, (MPI_Offset)(n + rank) * BLOCK, MPI_SEEK_SET);
    MPI_File_iwrite(file, buffer, BLOCK, MPI_BYTE, &requests[0]);
    MPI_File_iread_at(file, (MPI_Offset)rank * BLOCK, other, BLOCK, MPI_BYTE, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek(file, (MPI_Offset)rank * BLOCK, MPI_SEEK_SET);
    MPI_File_iread(file, other, BLOCK, MPI_BYTE, &requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_File_iwrite_at_all(file, (MPI_Offset)rank * BLOCK, buffer, BLOCK, MPI_BYTE, &requests[0]);
    MPI_Wait(&requests[0], &status);

    MPI_File_write_at_all_begin(file, (MPI_Offset)rank * BLOCK, buffer, BLOCK, MPI_BYTE);
    MPI_File_write_at_all_end(file, buffer, &status);
    MPI_File_seek(file, (MPI_Offset)rank * BLOCK, MPI_SEEK_SET);
    MPI_File_read_all_begin(file, other, BLOCK, MPI_BYTE);
    MPI_File_read_all_end(file, other, &status);

    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_write_shared(file, buffer, BLOCK, MPI_BYTE, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_write_ordered(file, buffer, BLOCK, MPI_BYTE, &status);
    MPI_File_preallocate(file, 10000);
    MPI_File_set_atomicity(file, 1);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_File_delete("all.bin", MPI_INFO_NULL);
    }
    MPI_Finalize();
    return 0;
}
