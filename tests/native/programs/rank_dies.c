/* Each rank writes 20 blocks of 1000 bytes; rank 2 kills itself behind its tenth. Usage: mpirun -n N
 * rank_dies FILE */
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static char block[1000];
    int rank;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    for (int i = 0; i < 20; i++) {
        if (rank == 2 && i == 10) {
            sleep(1); /* the others write all of theirs */
            raise(SIGKILL);
        }
        MPI_File_write_at(file, (MPI_Offset)(rank * 20 + i) * 1000, block, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
