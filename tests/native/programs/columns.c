/* Columns of a matrix through a file view whose tiles lie over each other: a column's cells are far apart,
 * and the next column begins one cell further. Usage: columns ROWS COLUMNS (of each rank) */
#include <mpi.h>
#include <stdlib.h>

enum { CELL = 48 };

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const int rows = atoi(argv[1]), columns = atoi(argv[2]), size = rows * CELL;
    char *b = calloc(2, (size_t)size);
    MPI_Datatype cells, column;
    MPI_Type_vector(rows, CELL, columns * ranks * CELL, MPI_BYTE, &cells);
    MPI_Type_create_resized(cells, 0, CELL, &column);
    MPI_Type_commit(&column);
    MPI_File f;
    MPI_File_open(MPI_COMM_WORLD, "./columns.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_set_view(f, (MPI_Offset)rank * columns * CELL, MPI_BYTE, column, "native", MPI_INFO_NULL);
    for (int i = 0; i < columns; i++)
        MPI_File_write_all(f, b, size, MPI_BYTE, MPI_STATUS_IGNORE);
    for (int i = columns - 1; i >= 0; i--)
        MPI_File_read_at(f, (MPI_Offset)i * size, b, size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at(f, size / 2, b, size / 2, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_seek(f, size, MPI_SEEK_SET);
    MPI_File_read(f, b, size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_set_view(f, 0, MPI_BYTE, column, "native", MPI_INFO_NULL);
    for (int i = 0; rank == 0 && i < 2 * columns; i++) /* by halves */
        MPI_File_read_shared(f, b, size / 2, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&f);
    MPI_Type_free(&cells);
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
