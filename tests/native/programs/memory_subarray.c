/* Each rank writes the inside of an array with a border, of a size of its own, and reads it back into such an array:
 * at once, later, and through a file view. Usage: memory_subarray FILE. Fails where it reads something else. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 6, PART = 1 << 16, CALLS = 3 };

static double inside_of(const double *array, int row, int column) {
    return array[(row + 1) * (COLUMNS + 2) + column + 1];
}

int main(int argc, char **argv) {
    int rank, wrong = 0;
    MPI_File file;
    MPI_Datatype inner, seen;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int rows = 4 + rank, size = rows * COLUMNS * (int)sizeof(double);
    const int whole[] = {rows + 2, COLUMNS + 2}, part[] = {rows, COLUMNS}, first[] = {1, 1};
    const size_t n = (size_t)whole[0] * (size_t)whole[1];
    double *array = calloc(n, sizeof *array), *again = calloc(n, sizeof *again);
    for (size_t i = 0; i < n; i++) {
        array[i] = (double)(i + 1) + 1000 * rank;
    }
    MPI_Type_create_subarray(2, whole, part, first, MPI_ORDER_C, MPI_DOUBLE, &inner);
    MPI_Type_commit(&inner);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    const MPI_Offset own = (MPI_Offset)rank * PART;
    for (int i = 0; i < CALLS; i++) {
        MPI_File_write_at_all(file, own + i * size, array, 1, inner, MPI_STATUS_IGNORE);
    }
    MPI_File_iwrite_at(file, own + CALLS * size, array, 1, inner, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at_all(file, own + size, again, 1, inner, MPI_STATUS_IGNORE);
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            wrong |= inside_of(again, row, column) != inside_of(array, row, column);
        }
    }
    MPI_Type_vector(rows, COLUMNS, 2 * COLUMNS, MPI_DOUBLE, &seen);
    MPI_Type_commit(&seen);
    MPI_File_set_view(file, own + PART / 2, MPI_DOUBLE, seen, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, array, 1, inner, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&inner);
    MPI_Type_free(&seen);
    free(array);
    free(again);
    MPI_Finalize();
    return wrong;
}
