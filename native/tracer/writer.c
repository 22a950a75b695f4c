/* Puts blocks into the process's part. The part is opened for each flush and closed again: no descriptor of ours
 * is in the application's way, and none is lost when it closes all it does not know. */
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROWS_BYTES (64u << 10) /* a block is written when it has grown past this */
#define META_BYTES (64u << 10)

uint64_t wt_last_flush;
bool wt_part_wanted;

static uint8_t rows_block[ROWS_BYTES + WT_GROUP_MAX_BYTES];
static uint8_t meta_block[META_BYTES + (900u << 10)]; /* room for the largest view */
static uint8_t *meta_record; /* start of the open record's fields */
static size_t n_rows_bytes, n_meta_bytes;
static char part_path[WT_PATH_BYTES + 160];
static uint64_t part_length;

/* zlib's CRC-32, which a reader in any language has. */
static uint32_t crc32_of(const uint8_t *bytes, size_t n) {
    static uint32_t table[256];
    if (table[1] == 0) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t value = i;
            for (int bit = 0; bit < 8; bit++) {
                value = (value >> 1) ^ (value & 1 ? 0xedb88320u : 0);
            }
            table[i] = value;
        }
    }
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        crc = table[(crc ^ bytes[i]) & 0xff] ^ (crc >> 8);
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
        ssize_t done = syscall(SYS_pwrite64, fd, at, n, (off_t)part_length);
        if (done <= 0) {
            if (done < 0 && errno == EINTR) {
                continue;
            }
            return false;
        }
        at += done;
        n -= (size_t)done;
        part_length += (uint64_t)done;
    }
    return true;
}

static int create_part(void) {
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
            part_length = 0;
            if (!put_all(fd, &header, sizeof header)) {
                int error = errno;
                syscall(SYS_close, fd);
                errno = error;
                return -1;
            }
            return fd;
        }
        if (errno != EEXIST) {
            return -1;
        }
    }
    return -1;
}

static bool put_block(int fd, enum wt_block type, const uint8_t *payload, size_t n) {
    struct wt_block_header header = {WT_BLOCK_MAGIC, type, (uint32_t)n, crc32_of(payload, n)};
    return n == 0 || (put_all(fd, &header, sizeof header) && put_all(fd, payload, n));
}

void wt_writer_flush(void) {
    wt_last_flush = wt_now();
    bool idle = n_rows_bytes == 0 && part_path[0] == 0 && !wt_part_wanted;
    if (idle || (n_rows_bytes == 0 && n_meta_bytes == 0)) {
        return; /* a process that does no I/O and is no rank leaves no part */
    }
    int saved = errno;
    int fd = part_path[0] ? raw_open(part_path, O_WRONLY) : create_part();
    bool ok = fd >= 0 && put_block(fd, WT_BLOCK_META, meta_block, n_meta_bytes) &&
              put_block(fd, WT_BLOCK_ROWS, rows_block, n_rows_bytes);
    int error = errno;
    if (fd >= 0) {
        syscall(SYS_close, fd);
    }
    n_rows_bytes = n_meta_bytes = 0;
    if (!ok) {
        wt_stop("cannot write the trace", error);
    }
    errno = saved;
}

void wt_writer_reset(void) {
    wt_part_wanted = false;
    part_path[0] = 0;
    part_length = 0;
    n_rows_bytes = n_meta_bytes = 0;
    meta_record = NULL;
}

void wt_write_rows(const struct wt_row *rows, unsigned n_rows, uint64_t base_seq) {
    wt_clock_anchor();
    n_rows_bytes += wt_group_encode(rows, n_rows, base_seq, rows_block + n_rows_bytes);
    if (n_rows_bytes > ROWS_BYTES) {
        wt_writer_flush();
    }
}

/* A record's length comes before its fields: three bytes are kept for it. */
void wt_meta_begin(enum wt_meta type) {
    if (n_meta_bytes > META_BYTES) {
        wt_writer_flush();
    }
    meta_block[n_meta_bytes++] = (uint8_t)type;
    meta_record = meta_block + n_meta_bytes;
    n_meta_bytes += 3;
}

static bool meta_has_room(size_t n) { return n_meta_bytes + n + 16 <= sizeof meta_block; }

void wt_meta_number(uint64_t value) {
    if (meta_has_room(0)) {
        n_meta_bytes = (size_t)(wt_put_varint(meta_block + n_meta_bytes, value) - meta_block);
    }
}

void wt_meta_signed(int64_t value) { wt_meta_number(wt_zigzag(value)); }

void wt_meta_string(const char *text) {
    size_t n = strnlen(text, WT_PATH_BYTES);
    if (!meta_has_room(n + 16)) {
        n = 0;
    }
    wt_meta_number(n);
    memcpy(meta_block + n_meta_bytes, text, n);
    n_meta_bytes += n;
}

void wt_meta_end(void) {
    size_t n = n_meta_bytes - (size_t)(meta_record - meta_block) - 3;
    meta_record[0] = (uint8_t)(n | 0x80); /* a varint of always three bytes */
    meta_record[1] = (uint8_t)(n >> 7 | 0x80);
    meta_record[2] = (uint8_t)(n >> 14 & 0x7f);
    meta_record = NULL;
}
