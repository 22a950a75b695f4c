/* A file as writers of restart and VTK files make it: rank 0 writes a header through a stream, all ranks
 * write behind it by collective calls of MPI-IO, and the last rank reads the header's begin and appends a
 * footer while it has the file open by MPI-IO, too. argv: file. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 921, BLOCK = 4096, BLOCKS = 4 };

int main(int argc, char **argv) {
    static char block[BLOCK];
    char begin[100];
    int rank, n_ranks;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    memset(block, 'a' + rank, sizeof block);
    if (rank == 0) {
        FILE *header = fopen(argv[1], "wb");
        fprintf(header, "%-*s", HEADER, "header");
        fclose(header);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    for (int i = 0; i < BLOCKS; i++) {
        MPI_Offset at = HEADER + (MPI_Offset)(i * n_ranks + rank) * BLOCK;
        MPI_File_write_at_all(file, at, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    if (rank == n_ranks - 1) {
        int fd = open(argv[1], O_RDWR);
        if (read(fd, begin, sizeof begin) != sizeof begin || memcmp(begin, "header", 6) != 0 ||
            pwrite(fd, "end.", 4, HEADER + (off_t)BLOCKS * n_ranks * BLOCK) != 4) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        close(fd);
    }
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
