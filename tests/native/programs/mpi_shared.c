/* Calls by the shared file pointer and ordered ones, through a file view and without one. What a call writes
 * is made of one letter that says which call of which rank it is: the file tells where it went. Usage:
 * mpi_shared FILE */
#include <mpi.h>
#include <string.h>

static char letter = 'A', data[1000];

static const void *next(void) {
    memset(data, letter++, sizeof data);
    return data;
}

int main(int argc, char **argv) {
    int rank, n, size;
    MPI_File file;
    MPI_Request request;
    MPI_Datatype half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    letter = (char)('A' + rank * 8);
    size = 10 * (rank + 1);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_ordered(file, next(), size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_write_shared(file, next(), size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_iwrite_shared(file, next(), size, MPI_BYTE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_write_ordered(file, next(), size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_seek_shared(file, 1000, MPI_SEEK_SET);
    MPI_File_write_ordered_begin(file, next(), size, MPI_BYTE);
    MPI_File_write_ordered_end(file, data, MPI_STATUS_IGNORE);
    /* From byte 2000 on: 4 bytes of every 8. The shared pointer is at its beginning again. */
    MPI_Type_vector(1, 4, 4, MPI_BYTE, &half);
    MPI_Type_create_resized(half, 0, 8, &half);
    MPI_Type_commit(&half);
    MPI_File_set_view(file, 2000, MPI_BYTE, half, "native", MPI_INFO_NULL);
    MPI_File_write_ordered(file, next(), size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_write_shared(file, next(), size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_write_ordered(file, next(), size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Type_free(&half);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
