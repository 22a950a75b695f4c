/* Each rank writes a stretch of its own in records that its file view shows one half of, from memory of which every
 * second record counts ("gaps") or from plain memory ("plain"). Usage: memory_gaps FILE gaps|plain */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD = 4096, CALLS = 4, PIECES = 4 };

int main(int argc, char **argv) {
    int rank;
    MPI_File file;
    MPI_Datatype seen, piece, memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int gaps = argc > 2 && strcmp(argv[2], "gaps") == 0;
    char *data = calloc(2 * PIECES, RECORD);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, (MPI_Offset)rank * 2 * CALLS * RECORD, data, 2 * CALLS * RECORD, MPI_BYTE,
                          MPI_STATUS_IGNORE); /* so that there is something to read */
    MPI_Type_contiguous(RECORD, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, 2 * RECORD, &seen);
    MPI_Type_commit(&seen);
    MPI_Type_vector(PIECES, RECORD / PIECES, 2 * RECORD / PIECES, MPI_BYTE, &memory);
    MPI_Type_commit(&memory);
    MPI_File_set_view(file, (MPI_Offset)rank * 2 * CALLS * RECORD, MPI_BYTE, seen, "native", MPI_INFO_NULL);
    for (int i = 0; i < CALLS; i++) {
        MPI_File_write_all(file, data, gaps ? 1 : RECORD, gaps ? memory : MPI_BYTE, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
    MPI_Type_free(&piece);
    MPI_Type_free(&seen);
    MPI_Type_free(&memory);
    free(data);
    MPI_Finalize();
    return 0;
}
