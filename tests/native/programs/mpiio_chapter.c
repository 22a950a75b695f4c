/* Every routine of MPI 3.1's chapter 13 that opens, moves data, positions or changes a file. Each rank has
 * places of its own but for the calls by the shared pointer. What test_replay_mpi_chapter.py lists, is here.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512 };

static char b[8][BLOCK];
static int rank, n;
static MPI_File f;
static MPI_Status status;
static MPI_Request request;

static MPI_Offset mine(int row) {
    return ((MPI_Offset)row * n + rank) * BLOCK;
}

static void wait_one(void) {
    MPI_Wait(&request, &status);
}

static void at_explicit_offsets(void) {
    for (int i = 0; i < 3; i++)
        MPI_File_write_at(f, mine(i), b[0], BLOCK, MPI_BYTE, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(f, mine(0), b[1], BLOCK, MPI_BYTE, &status);
    MPI_File_write_at_all(f, mine(3), b[0], BLOCK / 4, MPI_INT, &status);
    MPI_File_read_at_all(f, mine(3), b[1], BLOCK, MPI_BYTE, &status);
    MPI_File_iwrite_at(f, mine(4), b[0], BLOCK, MPI_BYTE, &request);
    wait_one();
    MPI_File_iread_at(f, mine(4), b[1], BLOCK, MPI_BYTE, &request);
    wait_one();
    MPI_File_iwrite_at_all(f, mine(5), b[0], BLOCK, MPI_BYTE, &request);
    wait_one();
    MPI_File_iread_at_all(f, mine(5), b[1], BLOCK, MPI_BYTE, &request);
    wait_one();
    MPI_File_write_at_all_begin(f, mine(6), b[0], BLOCK, MPI_BYTE);
    MPI_File_write_at_all_end(f, b[0], &status);
    MPI_File_read_at_all_begin(f, mine(6), b[1], BLOCK, MPI_BYTE);
    MPI_File_read_at_all_end(f, b[1], &status);
}

static void by_own_pointers(void) {
    MPI_Offset place, bytes;
    MPI_File_seek(f, mine(7), MPI_SEEK_SET);
    MPI_File_write(f, b[0], BLOCK, MPI_BYTE, &status);
    MPI_File_get_position(f, &place);
    MPI_File_get_byte_offset(f, place, &bytes);
    MPI_File_seek(f, -BLOCK, MPI_SEEK_CUR);
    MPI_File_read(f, b[1], BLOCK, MPI_BYTE, &status);
    MPI_File_seek(f, mine(8), MPI_SEEK_SET);
    MPI_File_write_all(f, b[0], BLOCK, MPI_BYTE, &status);
    MPI_File_seek(f, mine(8), MPI_SEEK_SET);
    MPI_File_read_all(f, b[1], BLOCK, MPI_BYTE, &status);
    MPI_File_seek(f, mine(9), MPI_SEEK_SET);
    MPI_File_iwrite(f, b[0], BLOCK, MPI_BYTE, &request);
    wait_one();
    MPI_File_seek(f, mine(9), MPI_SEEK_SET);
    MPI_File_iread(f, b[1], BLOCK, MPI_BYTE, &request);
    wait_one();
    MPI_File_seek(f, mine(10), MPI_SEEK_SET);
    MPI_File_iwrite_all(f, b[0], BLOCK, MPI_BYTE, &request);
    wait_one();
    MPI_File_seek(f, mine(10), MPI_SEEK_SET);
    MPI_File_iread_all(f, b[1], BLOCK, MPI_BYTE, &request);
    wait_one();
    MPI_File_seek(f, mine(11), MPI_SEEK_SET);
    MPI_File_write_all_begin(f, b[0], BLOCK, MPI_BYTE);
    MPI_File_write_all_end(f, b[0], &status);
    MPI_File_seek(f, mine(11), MPI_SEEK_SET);
    MPI_File_read_all_begin(f, b[1], BLOCK, MPI_BYTE);
    MPI_File_read_all_end(f, b[1], &status);
}

/* Equal sizes, so that each rank's calls move the same bytes whoever comes first. */
static void by_the_shared_pointer(void) {
    MPI_Offset place;
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    MPI_File_write_shared(f, b[0], BLOCK, MPI_BYTE, &status);
    MPI_File_get_position_shared(f, &place);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    MPI_File_read_shared(f, b[1], BLOCK, MPI_BYTE, &status);
    MPI_File_iwrite_shared(f, b[0], BLOCK, MPI_BYTE, &request);
    wait_one();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    MPI_File_iread_shared(f, b[1], BLOCK, MPI_BYTE, &request);
    wait_one();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_write_ordered(f, b[0], BLOCK, MPI_BYTE, &status);
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    MPI_File_read_ordered(f, b[1], BLOCK, MPI_BYTE, &status);
    MPI_File_write_ordered_begin(f, b[0], BLOCK, MPI_BYTE);
    MPI_File_write_ordered_end(f, b[0], &status);
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    MPI_File_read_ordered_begin(f, b[1], BLOCK, MPI_BYTE);
    MPI_File_read_ordered_end(f, b[1], &status);
}

static void through_a_view(void) {
    MPI_Datatype tile, etype, filetype;
    MPI_Offset displacement, place, bytes;
    MPI_Aint extent;
    char representation[MPI_MAX_DATAREP_STRING];
    MPI_Type_vector(1, 16, 16, MPI_INT, &tile);
    MPI_Type_create_resized(tile, 0, (MPI_Aint)n * 64, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(f, (MPI_Offset)rank * 64, MPI_INT, tile, "native", MPI_INFO_NULL);
    MPI_File_get_view(f, &displacement, &etype, &filetype, representation);
    MPI_File_write_at_all(f, 32, b[0], 64, MPI_INT, &status);
    MPI_File_read_all(f, b[1], 32, MPI_INT, &status);
    MPI_File_get_position(f, &place);
    MPI_File_get_byte_offset(f, place, &bytes);
    MPI_File_get_type_extent(f, MPI_INT, &extent);
    MPI_Type_free(&tile);
}

int main(int argc, char **argv) {
    MPI_Info info, used;
    MPI_Group group;
    MPI_Offset size;
    int mode, atomic;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    memset(b, 'a' + rank, sizeof b);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "1048576");
    MPI_File_open(MPI_COMM_WORLD, "chapter.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f);
    MPI_File_set_info(f, info);
    MPI_Info_free(&info);
    MPI_File_get_info(f, &used);
    MPI_Info_free(&used);
    MPI_File_get_group(f, &group);
    MPI_Group_free(&group);
    MPI_File_get_amode(f, &mode);
    MPI_File_preallocate(f, 20 * BLOCK);
    MPI_File_set_size(f, (MPI_Offset)40 * n * BLOCK);
    MPI_File_get_size(f, &size);
    at_explicit_offsets();
    MPI_File_set_atomicity(f, 1);
    MPI_File_get_atomicity(f, &atomic);
    MPI_File_set_atomicity(f, 0);
    by_own_pointers();
    MPI_File_sync(f);
    by_the_shared_pointer();
    through_a_view();
    MPI_File_close(&f);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_File_delete("chapter.bin", MPI_INFO_NULL);
    MPI_Finalize();
    return 0;
}
