/* Numbers files by name and by what the name leads to: a file that takes the place of another is a new one.
 * By names alone a checkpoint that is written, renamed and read would be two files, and an input and what
 * replaces it would be one. */
#define _GNU_SOURCE
#include "files/files.h"
#include "hash.h"
#include "record/record.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Slots for names, by hash: at first, and at most, 48 MiB. Three quarters are used; a file past them gets a
 * new number at each call on its name, which the reader joins. */
#define SLOTS_FIRST (1u << 16)
#define SLOTS_MOST (1u << 21)
/* Further files under names that are known; the ones past it have the name's number. */
#define AGAIN_MAX (1u << 14)
#define BIRTHS 1024 /* remembered */

/* By the name's hash: the file that was met last under it. Where there were several, each also by the hash of
 * name and identity. */
static struct name {
    uint64_t hash, identity; /* identity 0: not known */
    int32_t file;
} * known;
static unsigned n_slots, n_known, n_again;
static int32_t next_file;
/* Births are told to a few ms only, and a freed inode is given out again at once: files that the process
 * makes are counted by inode and birth. */
static struct {
    uint64_t hash;
    uint32_t generation;
} births[BIRTHS];

void wt_files_start(void) {
    known = wt_reserve(SLOTS_FIRST * sizeof *known);
    n_slots = SLOTS_FIRST;
    if (known == NULL) {
        wt_stop("no memory for the names of files", ENOMEM);
    }
}

void wt_files_reset(void) {
    syscall(SYS_madvise, known, n_slots * sizeof *known, MADV_DONTNEED); /* zeros again */
    memset(births, 0, sizeof births);
    n_known = n_again = 0;
    next_file = 0;
    wt_mounts_reset();
}

static uint64_t mixed(uint64_t a, uint64_t b) {
    a = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
    a ^= a >> 32;
    return a ? a : 1;
}

static uint64_t birth_of(const struct wt_facts *facts) {
    return mixed(mixed(facts->device, facts->inode), facts->born_ns);
}

static uint32_t generation_of(const struct wt_facts *facts) {
    uint64_t hash = birth_of(facts);
    return births[hash % BIRTHS].hash == hash ? births[hash % BIRTHS].generation : 0;
}

void wt_file_made(struct wt_facts *facts) {
    uint64_t hash = birth_of(facts);
    uint32_t again = births[hash % BIRTHS].hash == hash;
    births[hash % BIRTHS].generation = again ? births[hash % BIRTHS].generation + 1 : 0;
    births[hash % BIRTHS].hash = hash;
    facts->made = true;
}

static uint64_t identity_of(const struct wt_facts *facts) {
    return facts == NULL || facts->inode == 0 ? 0 : mixed(birth_of(facts), generation_of(facts));
}

/* The slot of a hash, or the free one that it would take. */
static unsigned slot_of(uint64_t hash) {
    unsigned slot = (unsigned)hash % n_slots;
    while (known[slot].hash != 0 && known[slot].hash != hash) {
        slot = (slot + 1) % n_slots;
    }
    return slot;
}

static WT_COLD bool grow(void) {
    struct name *before = known, *more = NULL;
    unsigned n = n_slots;
    if (n < SLOTS_MOST) {
        more = wt_reserve(2 * n * sizeof *known);
    }
    if (more == NULL) {
        return false;
    }
    known = more;
    n_slots = 2 * n;
    for (unsigned i = 0; i < n; i++) {
        if (before[i].hash != 0) {
            known[slot_of(before[i].hash)] = before[i];
        }
    }
    syscall(SYS_munmap, before, n * sizeof *before);
    return true;
}

static void remember(uint64_t hash, uint64_t identity, int32_t file) {
    unsigned slot = slot_of(hash);
    if (known[slot].hash == 0) {
        if (n_known >= n_slots / 4 * 3) {
            if (!grow()) {
                return;
            }
            slot = slot_of(hash);
        }
        n_known++;
    }
    known[slot] = (struct name){.hash = hash, .identity = identity, .file = file};
}

int32_t wt_file_if_same(const char *path, const struct wt_facts *facts) {
    uint64_t identity = identity_of(facts);
    const struct name *name = &known[slot_of(wt_hash(path, strlen(path)))];
    return name->hash != 0 && identity != 0 && name->identity == identity ? name->file : WT_UNKNOWN;
}

bool wt_file_is_known(const char *path) {
    return known[slot_of(wt_hash(path, strlen(path)))].hash != 0;
}

static void describe_identity(int32_t file, int32_t of_name, const struct wt_facts *facts,
                              int64_t size_before, bool size_known) {
    wt_meta_begin(WT_META_IDENTITY);
    wt_meta_number((uint64_t)file);
    wt_meta_number((uint64_t)of_name);
    wt_meta_number(size_known ? (uint64_t)size_before + 1 : 0);
    wt_meta_number(facts->device);
    wt_meta_number(facts->inode);
    wt_meta_number(facts->born_ns);
    wt_meta_number(2u * generation_of(facts) + facts->made);
    wt_meta_end();
    if (S_ISDIR(facts->mode)) {
        wt_meta_begin(WT_META_DIRECTORY);
        wt_meta_number((uint64_t)file);
        wt_meta_end();
    }
}

/* A name leads to another file than before: to a new one, or to one that it led to once. */
static int32_t another_file(unsigned slot, uint64_t identity, const struct wt_facts *facts,
                            int64_t size_before, bool size_known) {
    uint64_t hash = known[slot].hash;
    int32_t before = known[slot].file;
    unsigned other = slot_of(mixed(hash, identity));
    int32_t file = known[other].hash != 0 ? known[other].file : WT_UNKNOWN;
    if (file == WT_UNKNOWN) {
        if (n_again >= AGAIN_MAX) {
            return before;
        }
        n_again++;
        file = next_file++;
        describe_identity(file, before, facts, size_before, size_known);
        remember(mixed(hash, known[slot].identity), known[slot].identity, before);
        remember(mixed(hash, identity), identity, file);
        slot = slot_of(hash); /* there may be more slots now */
    }
    known[slot].identity = identity;
    known[slot].file = file;
    return file;
}

int32_t wt_file_of_path(const char *path, const struct wt_facts *facts, int64_t size_before,
                        bool size_known) {
    uint64_t hash = wt_hash(path, strlen(path)), identity = identity_of(facts);
    unsigned slot = slot_of(hash);
    if (known[slot].hash != 0) {
        if (identity == 0 || known[slot].identity == identity) {
            return known[slot].file;
        }
        if (known[slot].identity != 0) {
            return another_file(slot, identity, facts, size_before, size_known);
        }
        known[slot].identity = identity;
        describe_identity(known[slot].file, known[slot].file, facts, size_before, size_known);
        return known[slot].file;
    }
    if (!wt_path_kept(path)) {
        return WT_UNKNOWN;
    }
    int32_t file = next_file++;
    remember(hash, identity, file);
    int32_t mount = wt_mount_of(path);
    wt_meta_begin(WT_META_FILE);
    wt_meta_number((uint64_t)file);
    wt_meta_number(size_known ? (uint64_t)size_before + 1 : 0);
    wt_meta_number((uint64_t)(mount + 1));
    wt_meta_string(path);
    wt_meta_end();
    if (identity != 0) {
        describe_identity(file, file, facts, size_before, size_known);
        wt_folder_is_plain(path);
    }
    wt_describe_striping(file, mount, path);
    return file;
}

int32_t wt_file_of_link(const char *link, const char *target, const struct wt_facts *facts,
                        int64_t size_before, bool size_known) {
    unsigned slot = slot_of(wt_hash(link, strlen(link)));
    uint64_t identity = identity_of(facts);
    bool said = known[slot].hash != 0 && identity != 0 && known[slot].identity == identity;
    int32_t file = wt_file_of_path(link, facts, size_before, size_known);
    if (file != WT_UNKNOWN && !said) {
        wt_meta_begin(WT_META_SYMLINK);
        wt_meta_number((uint64_t)file);
        wt_meta_string(target);
        wt_meta_end();
    }
    return file;
}
