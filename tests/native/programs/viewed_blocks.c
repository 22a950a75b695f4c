/* Blocks through file views, each transfer by a seek and a write, as IOR does: viewed_blocks SEGMENTS
 * TRANSFERS */
#include <mpi.h>
#include <stdlib.h>

enum { TRANSFER = 4096 };

int main(int argc, char **argv) {
    int rank, ranks;
    static char b[TRANSFER];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int segments = atoi(argv[1]), transfers = atoi(argv[2]), block = transfers * TRANSFER;
    MPI_Datatype one, tile;
    MPI_Type_contiguous(block, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, (MPI_Aint)block * ranks, &tile);
    MPI_Type_commit(&tile);
    MPI_File f;
    for (int reads = 0; reads < 2; reads++) {
        MPI_File_open(MPI_COMM_WORLD, "./viewed.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
        MPI_File_set_view(f, (MPI_Offset)rank * block, MPI_BYTE, tile, "native", MPI_INFO_NULL);
        for (int s = 0; s < segments; s++)
            for (int i = 0; i < transfers; i++) {
                MPI_File_seek(f, (MPI_Offset)s * block + (MPI_Offset)i * TRANSFER, MPI_SEEK_SET);
                if (reads)
                    MPI_File_read_all(f, b, TRANSFER, MPI_BYTE, MPI_STATUS_IGNORE);
                else
                    MPI_File_write_all(f, b, TRANSFER, MPI_BYTE, MPI_STATUS_IGNORE);
            }
        MPI_File_close(&f);
    }
    MPI_Type_free(&one);
    MPI_Type_free(&tile);
    MPI_Finalize();
    return 0;
}
