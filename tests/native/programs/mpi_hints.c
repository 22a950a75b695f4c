/* Hints given with every call that takes them. test_tracer_hints.py lists the same. */
#include <mpi.h>

static char data[10];

int main(int argc, char **argv) {
    MPI_File file;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "2097152");
    MPI_Info_set(info, "application_s_own", "a value with blanks");
    MPI_File_open(MPI_COMM_WORLD, "hints.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info);
    MPI_File_write_all(file, data, 10, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Info_delete(info, "application_s_own");
    MPI_File_set_info(file, info);
    MPI_File_close(&file);
    for (int i = 0; i < 3; i++) { /* none */
        MPI_File_open(MPI_COMM_WORLD, "hints.bin", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        MPI_File_close(&file);
    }
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
