/* Writes 64 bytes from memory of different data types, each by one call: test_tracer_memory.py lists them. */
#include <mpi.h>

static char memory[4096];

static void write_by(MPI_File file, int count, MPI_Datatype type) {
    MPI_File_write(file, memory, count, type, MPI_STATUS_IGNORE);
}

static void write_and_free(MPI_File file, int count, MPI_Datatype type) {
    MPI_Type_commit(&type);
    write_by(file, count, type);
    MPI_Type_free(&type);
}

int main(int argc, char **argv) {
    MPI_File file;
    MPI_Datatype type, inner;
    MPI_Init(&argc, &argv);
    MPI_File_open(MPI_COMM_SELF, "memory.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    write_by(file, 64, MPI_BYTE);
    write_by(file, 8, MPI_DOUBLE);
    MPI_Type_contiguous(64, MPI_BYTE, &type);
    write_and_free(file, 1, type);
    MPI_Type_vector(4, 16, 16, MPI_BYTE, &type); /* blocks side by side */
    write_and_free(file, 1, type);
    MPI_Type_vector(4, 16, 32, MPI_BYTE, &type); /* a gap behind each but the last */
    write_and_free(file, 1, type);
    MPI_Type_contiguous(64, MPI_BYTE, &inner);
    MPI_Type_create_resized(inner, 0, 128, &type); /* the gap is behind the only item */
    write_and_free(file, 1, type);
    MPI_Type_free(&inner);
    int length = 64, place = 64;
    MPI_Type_indexed(1, &length, &place, MPI_BYTE, &type); /* in front of it */
    write_and_free(file, 1, type);
    write_by(file, 0, MPI_BYTE);
#if MPI_VERSION >= 4
    MPI_Type_contiguous_c(64, MPI_BYTE, &type);
    write_and_free(file, 1, type);
#endif
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
