/* MPI_Info hints: those that the application gives, and those that the MPI library says are in force. Ranks
 * and opens mostly have the same ones: a set of hints is described once, and named by the files it is for. */
#define _GNU_SOURCE
#include "mpi/mpi_files.h"

#include <string.h>

#define SETS_MAX 1024
#define TEXT_BYTES (32u << 10) /* of one set; what is longer is cut at a hint */
#define SAID_MAX 1024

static char text[TEXT_BYTES]; /* key, value, key, value, ...: each with its zero */
static uint64_t sets[SETS_MAX];
static uint64_t n_sets;
static struct {
    int32_t file;
    uint32_t when;
    uint64_t set; /* + 1; 0: nothing said */
} said[SAID_MAX];

static struct {
    __typeof__(MPI_Info_get_nkeys) *n_keys;
    __typeof__(MPI_Info_get_nthkey) *key;
    __typeof__(MPI_Info_get) *get;
    __typeof__(MPI_Info_free) *free;
    __typeof__(MPI_File_get_info) *of_file;
} mpi;

static void start(void) {
    mpi.n_keys = (__typeof__(mpi.n_keys))wt_mpi_real("MPI_Info_get_nkeys");
    mpi.key = (__typeof__(mpi.key))wt_mpi_real("MPI_Info_get_nthkey");
    mpi.get = (__typeof__(mpi.get))wt_mpi_real("MPI_Info_get");
    mpi.free = (__typeof__(mpi.free))wt_mpi_real("MPI_Info_free");
    mpi.of_file = (__typeof__(mpi.of_file))wt_mpi_real("MPI_File_get_info");
}

/* Bytes of text; *n: how many hints. */
static size_t read_hints(MPI_Info info, uint64_t *n) {
    int n_keys = 0;
    size_t bytes = 0;
    *n = 0;
    if (mpi.n_keys(info, &n_keys) != MPI_SUCCESS) {
        return 0;
    }
    for (int i = 0; i < n_keys; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        int found = 0;
        if (mpi.key(info, i, key) != MPI_SUCCESS ||
            mpi.get(info, key, MPI_MAX_INFO_VAL, value, &found) != MPI_SUCCESS || !found) {
            continue;
        }
        size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
        if (bytes + key_bytes + value_bytes > TEXT_BYTES) {
            break;
        }
        memcpy(text + bytes, key, key_bytes);
        memcpy(text + bytes + key_bytes, value, value_bytes);
        bytes += key_bytes + value_bytes;
        ++*n;
    }
    return bytes;
}

static uint64_t hash_of(size_t bytes) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    }
    return hash;
}

static uint64_t set_of(size_t bytes, uint64_t n) {
    uint64_t hash = hash_of(bytes), number = 0;
    uint64_t known = n_sets < SETS_MAX ? n_sets : SETS_MAX;
    while (number < known && sets[number] != hash) {
        number++;
    }
    if (number < known) {
        return number;
    }
    number = n_sets++;
    if (number < SETS_MAX) { /* further ones are described each time */
        sets[number] = hash;
    }
    wt_lock();
    wt_meta_begin(WT_META_HINTS);
    wt_meta_number(number);
    wt_meta_number(n);
    for (const char *word = text; word < text + bytes; word += strlen(word) + 1) {
        wt_meta_string(word);
    }
    wt_meta_end();
    wt_unlock();
    return number;
}

static int64_t say(const struct wt_mpi_file *file, MPI_Info info, enum wt_hints when) {
    uint64_t n;
    int64_t said_set = WT_UNKNOWN;
    wt_mpi_lock();
    size_t bytes = read_hints(info, &n);
    if (n > 0) {
        uint64_t set = set_of(bytes, n);
        said_set = (int64_t)set;
        unsigned slot = ((unsigned)file->file * 4u + when) % SAID_MAX;
        if (said[slot].set != set + 1 || said[slot].file != file->file || said[slot].when != when) {
            said[slot].file = file->file;
            said[slot].when = when;
            said[slot].set = set + 1;
            wt_lock();
            wt_meta_begin(WT_META_FILE_HINTS);
            wt_meta_number((uint64_t)file->file);
            wt_meta_number(when);
            wt_meta_number(set);
            wt_meta_end();
            wt_unlock();
        }
    }
    wt_mpi_unlock();
    return said_set;
}

int64_t wt_mpi_hints_given(const struct wt_mpi_file *file, MPI_Info info, enum wt_hints when) {
    if (file == NULL || info == wt_mpi.info_null) {
        return WT_UNKNOWN;
    }
    if (mpi.n_keys == NULL) {
        start();
    }
    return say(file, info, when);
}

void wt_mpi_hints_in_force(const struct wt_mpi_file *file) {
    MPI_Info info;
    if (file == NULL) {
        return;
    }
    if (mpi.n_keys == NULL) {
        start();
    }
    if (mpi.of_file(file->key, &info) == MPI_SUCCESS && info != wt_mpi.info_null) {
        say(file, info, WT_HINTS_IN_FORCE);
        mpi.free(&info);
    }
}
