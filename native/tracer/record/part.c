/* The process's part and its tail, as files. The part is opened for each flush and closed again: no
 * descriptor of ours is in the application's way, and none is lost when it closes all it does not know. The
 * tail is mapped, so that a kill leaves it: a reader takes from it what was not in the part yet. */
#include "record/part.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static char part_path[WT_PATH_BYTES + 160], tail_path[WT_PATH_BYTES + 160];

/* Where there is no room for a tail: a page in its place, which can only say that the part is not whole. It
 * has a tail's header and the record of why. */
#define PAGE_BYTES 4096
static struct wt_tail *page;

/* zlib's CRC-32, which a reader in any language has; eight bytes at once, by eight tables of 256. */
static uint32_t crc32_of(const uint8_t *bytes, size_t n) {
    static uint32_t table[8 * 256];
    for (uint32_t i = 0; i < 8 * 256 && table[8 * 256 - 1] == 0; i++) {
        uint32_t value = i < 256 ? i : table[i - 256];
        for (int bit = 0; bit < 8; bit++) {
            value = (value >> 1) ^ (value & 1 ? 0xedb88320u : 0);
        }
        table[i] = value;
    }
    uint32_t crc = 0xffffffffu;
    for (; n >= 8; n -= 8, bytes += 8) {
        uint64_t word = wt_get_word(bytes) ^ crc;
        crc = table[7 * 256 + (word & 0xff)] ^ table[6 * 256 + (word >> 8 & 0xff)] ^
              table[5 * 256 + (word >> 16 & 0xff)] ^ table[4 * 256 + (word >> 24 & 0xff)] ^
              table[3 * 256 + (word >> 32 & 0xff)] ^ table[2 * 256 + (word >> 40 & 0xff)] ^
              table[1 * 256 + (word >> 48 & 0xff)] ^ table[word >> 56];
    }
    for (; n > 0; n--) {
        crc = table[(crc ^ *bytes++) & 0xff] ^ (crc >> 8);
    }
    return ~crc;
}

static char *put_text(char *at, const char *text) {
    while (*text) {
        *at++ = *text++;
    }
    *at = 0;
    return at;
}

static char *put_decimal(char *at, unsigned value) {
    char digits[12];
    int n = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (n > 0) {
        *at++ = digits[--n];
    }
    *at = 0;
    return at;
}

static void host_name(char *out, size_t n) {
    if (gethostname(out, n) != 0) {
        put_text(out, "unknown");
    }
    out[n - 1] = 0;
    for (char *c = out; *c; c++) {
        if (*c == '/' || *c == ' ') {
            *c = '_';
        }
    }
}

static int raw_open(const char *path, int flags) {
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0644);
}

static bool put_all(int fd, const void *bytes, size_t n) {
    const char *at = bytes;
    while (n > 0) {
        ssize_t done = syscall(SYS_pwrite64, fd, at, n, (off_t)wt_tail->part_length);
        if (done <= 0) {
            if (done < 0 && errno == EINTR) {
                continue;
            }
            return false;
        }
        at += done;
        n -= (size_t)done;
        wt_tail->part_length += (uint64_t)done;
    }
    return true;
}

bool wt_part_create(void) {
    struct wt_part_header header = {.version = WT_VERSION,
                                    .header_size = sizeof header,
                                    .start_utc_ns = wt_start_utc_ns,
                                    .start_mono_ns = wt_start_mono_ns,
                                    .pid = (uint32_t)wt_pid,
                                    .ppid = (uint32_t)syscall(SYS_getppid)};
    memcpy(header.magic, WT_PART_MAGIC, sizeof header.magic);
    host_name(header.host, sizeof header.host);
    for (unsigned attempt = 0; attempt < 100000; attempt++) {
        char *at = put_text(part_path, wt_directory);
        at = put_text(at, "/part-");
        at = put_text(at, header.host);
        at = put_decimal(put_text(at, "-"), (unsigned)wt_pid);
        at = put_decimal(put_text(at, "-"), attempt);
        put_text(at, ".wt");
        int fd = raw_open(part_path, O_WRONLY | O_CREAT | O_EXCL);
        if (fd >= 0) {
            wt_tail->part_length = 0;
            bool ok = put_all(fd, &header, sizeof header);
            int error = errno;
            syscall(SYS_close, fd);
            errno = error;
            return ok;
        }
        if (errno != EEXIST) {
            return false;
        }
    }
    return false;
}

static bool put_zeros(int fd, size_t n) {
    static const char zeros[4096];
    for (size_t at = 0; at < n; at += sizeof zeros) {
        if (syscall(SYS_pwrite64, fd, zeros, sizeof zeros, (off_t)at) != sizeof zeros) {
            return false;
        }
    }
    return true;
}

static void *map_file(int fd, size_t size) {
    if (syscall(SYS_fallocate, fd, 0, (off_t)0, (off_t)size) != 0 && !put_zeros(fd, size)) {
        syscall(SYS_ftruncate, fd, (off_t)0); /* what there was room for */
        return NULL;
    }
    void *memory = (void *)syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void use_page(void) {
    memcpy(page, wt_tail, offsetof(struct wt_tail, rows));
    page->version = WT_VERSION;
    page->rows_at = page->coded_at = page->meta_at = offsetof(struct wt_tail, rows);
    page->nests_at = offsetof(struct wt_tail, nests);
    page->part_length = UINT64_MAX; /* whole, as long as nothing else is said */
    page->n_rows = page->has_open = page->n_coded_bytes = page->n_meta_bytes = 0;
    memcpy(page->magic, WT_TAIL_MAGIC, sizeof page->magic);
}

/* The tail's space is taken before it is mapped: a full disk is met here, not as SIGBUS in the application.
 */
void wt_part_map_tail(void) {
    memcpy(tail_path, part_path, sizeof tail_path);
    memcpy(tail_path + strlen(tail_path) - strlen(".wt"), ".tail", sizeof ".tail");
    int fd = (int)syscall(SYS_openat, AT_FDCWD, tail_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
        tail_path[0] = 0;
        return;
    }
    void *memory = map_file(fd, (sizeof(struct wt_tail) + 4095) & ~(size_t)4095);
    page = memory == NULL ? map_file(fd, PAGE_BYTES) : NULL;
    syscall(SYS_close, fd);
    if (page != NULL) {
        use_page();
    } else if (memory == NULL) {
        syscall(SYS_unlinkat, AT_FDCWD, tail_path, 0);
        tail_path[0] = 0;
    }
    if (memory == NULL) {
        return;
    }
    struct wt_tail *mapped = memory;
    memcpy(mapped, wt_tail, offsetof(struct wt_tail, rows));
    mapped->version = WT_VERSION;
    mapped->rows_at = offsetof(struct wt_tail, rows);
    mapped->nests_at = offsetof(struct wt_tail, nests);
    mapped->coded_at = offsetof(struct wt_tail, rows_coded);
    mapped->meta_at = offsetof(struct wt_tail, meta);
    uint32_t half = wt_tail->half, n = wt_tail->n_rows + 1;
    memcpy(mapped->rows[half], wt_tail->rows[half], n * sizeof *wt_tail->rows[half]);
    memcpy(mapped->nests[half], wt_tail->nests[half], n * sizeof *wt_tail->nests[half]);
    memcpy(mapped->meta, wt_tail->meta, wt_tail->n_meta_bytes);
    memcpy(mapped->magic, WT_TAIL_MAGIC, sizeof mapped->magic); /* complete from here */
    wt_tail = mapped;
}

int wt_part_open(void) {
    return raw_open(part_path, O_WRONLY);
}

bool wt_part_put(int fd, enum wt_block type, const uint8_t *payload, size_t n) {
    struct wt_block_header header = {WT_BLOCK_MAGIC, type, (uint32_t)n, crc32_of(payload, n)};
    return n == 0 || (put_all(fd, &header, sizeof header) && put_all(fd, payload, n));
}

void wt_part_drop_tail(void) {
    if (tail_path[0]) {
        int saved = errno;
        syscall(SYS_unlinkat, AT_FDCWD, tail_path, 0);
        errno = saved;
    }
}

/* A reader knows a part by its name as not whole, where nothing else can be written. */
static void rename_part(void) {
    char stopped[sizeof part_path + sizeof WT_STOPPED];
    if (part_path[0] != 0) {
        memcpy(stopped, part_path, sizeof part_path);
        memcpy(stopped + strlen(stopped) - strlen(".wt"), WT_STOPPED, sizeof WT_STOPPED);
        syscall(SYS_renameat, AT_FDCWD, part_path, AT_FDCWD, stopped);
    }
}

uint64_t *wt_part_stopped(const uint8_t *note, size_t n, uint64_t n_missing) {
    if (wt_tail != &wt_own_tail) {
        return &wt_tail->missed;
    }
    if (page == NULL) {
        rename_part();
        return NULL;
    }
    if (n <= PAGE_BYTES - page->meta_at) {
        memcpy((uint8_t *)page + page->meta_at, note, n);
        page->n_meta_bytes = (uint32_t)n;
    }
    page->part_length = wt_tail->part_length;
    page->missed = n_missing;
    return &page->missed;
}

void wt_part_reset(void) {
    if (wt_tail != &wt_own_tail) {
        syscall(SYS_munmap, wt_tail, (sizeof(struct wt_tail) + 4095) & ~(size_t)4095);
        wt_tail = &wt_own_tail;
    }
    if (page != NULL) {
        syscall(SYS_munmap, page, PAGE_BYTES);
        page = NULL;
    }
    part_path[0] = tail_path[0] = 0;
}
