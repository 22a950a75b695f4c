/* Which functions of a list the process has: by dlsym, and by weak references for some of MPI 4. Where the
 * MPI library has large counts, it writes a block with them. The list is a file with a name in each line. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define WEAK __attribute__((weak))
WEAK int MPI_Send_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
WEAK int MPI_Recv_c(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
WEAK int MPI_Isendrecv(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int,
                       MPI_Comm, MPI_Request *);
WEAK int MPI_Bcast_c(void *, MPI_Count, MPI_Datatype, int, MPI_Comm);
WEAK int MPI_File_write_at_c(MPI_File, MPI_Offset, const void *, MPI_Count, MPI_Datatype, MPI_Status *);

static void ask(FILE *names) {
    char name[200];
    printf("weak %d %d %d %d %d\n", MPI_Send_c != NULL, MPI_Recv_c != NULL, MPI_Isendrecv != NULL,
           MPI_Bcast_c != NULL, MPI_File_write_at_c != NULL);
    while (fscanf(names, "%199s", name) == 1) {
        printf("%s %d\n", name, dlsym(RTLD_DEFAULT, name) != NULL);
    }
}

static void large_counts(int rank) {
    MPI_File file;
    char block[100] = {0};
    MPI_Bcast_c(block, 100, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Send_c(block, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv_c(block, 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_File_open(MPI_COMM_WORLD, "large.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write_at_c(file, 100 * rank, block, 100, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *names = fopen(argv[1], "r");
    if (rank == 0) {
        ask(names);
    }
    fclose(names);
    if (MPI_File_write_at_c != NULL && MPI_Bcast_c != NULL && MPI_Send_c != NULL && MPI_Recv_c != NULL) {
        large_counts(rank);
    }
    MPI_Finalize();
    return 0;
}
