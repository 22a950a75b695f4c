/* The trace format of wavetank: version 1. The contract between native/tracer and src/wavetank/trace.
 *
 * A trace is a folder: index.json (written by `wavetank trace` when the program has ended) and one
 * part for every traced process, part-HOST-PID-N.wt. All integers are little endian
 * (a tail is in the byte order of the machine).
 *
 * part     = part_header block*
 * block    = block_header payload; the checksum covers the payload. A part that was cut short or
 *            damaged is good up to the first block whose magic, length or checksum is wrong.
 * META     = record*, record = type (1 byte) length (varint) fields. See enum wt_meta.
 * ROWS     = (group loops? times?)*. See "groups" and "loops and times" below.
 *
 * varint   = unsigned LEB128; svarint = zigzag varint; string = length (varint) bytes.
 *
 * Groups. A group holds up to WT_GROUP_ROWS rows as columns of bit-packed integers:
 *   magic 'G' (1 byte), mantissa (1 byte), n_rows (varint), n_keys (varint),
 *   n_keys x key (op varint, file + 1 varint, handle + 1 varint, view + 1 varint),
 *   base_seq, base_tick, base_subtick, base_ns (varints), then the columns of enum wt_column, in order:
 *     width (1 byte: bits of an entry, 0..64, plus WT_COLUMN_ABSOLUTE), shift (1 byte), minimum (svarint),
 *     ceil(n_rows * width / 8) bytes of entries, least significant bit first.
 *     A width of WT_COLUMN_PATCHED and more means that less. Then behind the entries: n_patches (varint),
 * n_patches x (place - place of the patch before, varint; bits of the entry above its width, varint). entry
 * -> value: (int64) minimum + (entry << shift). Columns hold differences from what the reader can predict, so
 * a regular program costs next to nothing: see enum wt_column. Times are logarithmic codes of `mantissa`
 * bits: code(v) = v below 2^(mantissa+1), else (exponent << mantissa | the top mantissa bits below the
 * leading one); WT_MANTISSA_EXACT: plain ns. The encoder follows the decoded clock, so errors do not add up.
 *
 * Loops and times, of the group before them. The rows of a group are each stored once,
 * however often a loop repeats them. Loops lie side by side or one inside another, up to WT_NEST deep, and
 * are listed outermost first, in the order of their first rows:
 *   magic 'L' (1 byte), n_loops (varint), n_loops x loop
 *   loop = first row - first row of the loop before (varint), rows (varint), repetitions (varint), then for
 * each of its rows the steps from one repetition to the next, as svarints: offset, view_offset, arg, tick,
 *     subtick, handle, file; and the last repetition's start and end minus the first one's, ns.
 *   Columns hold the first repetition, except WT_COL_BUSY of rows without a count. After the last row of an
 *   outermost loop the clock of the columns goes on at the loop's end.
 *   magic 'T' (1 byte), n_bytes (varint) of what follows, entry for each row of more than one operation, with
 *   the repetitions of the loops around it:
 *   entry = busy ns of all its operations (varint; only of rows in loops), first bucket (1 byte), n_buckets
 *     (1 byte), n_buckets x operations (varints). Bucket b counts operations of 2^b to 2^(b+1) - 1 ns;
 *     the first also 0 ns, the last also longer ones. n_buckets 0: not kept.
 */
#ifndef WAVETANK_TRACE_H
#define WAVETANK_TRACE_H

#include <stdint.h>

#define WT_VERSION 1
#define WT_PART_MAGIC "WTTRACE\n"
#define WT_BLOCK_MAGIC 0x4b4c4257u /* "WBLK" */
#define WT_MAX_PAYLOAD (1u << 20)  /* bytes; a longer length is damage */
#define WT_GROUP_ROWS 1024
#define WT_MANTISSA_EXACT 0xff
#define WT_COLUMN_PATCHED 65    /* width + this: entries may have higher bits, see groups */
#define WT_COLUMN_ABSOLUTE 0x80 /* offset column: entries are offsets, not differences */

struct wt_part_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size;   /* of this struct, bytes: the first block's place */
    uint64_t start_utc_ns;  /* CLOCK_REALTIME when the tracer started in this process */
    uint64_t start_mono_ns; /* CLOCK_MONOTONIC of the same moment: time zero of this part's times */
    uint32_t pid;
    uint32_t ppid;
    char host[64];
};

struct wt_block_header {
    uint32_t magic;
    uint32_t type;   /* enum wt_block */
    uint32_t length; /* payload, bytes */
    uint32_t crc32;  /* of the payload, polynomial of zlib */
};

enum wt_block { WT_BLOCK_META = 1, WT_BLOCK_ROWS = 2 };

enum wt_meta {
    WT_META_FILE = 1,  /* id, size_before + 1 (0: did not exist or not known), mount id + 1, path (string) */
    WT_META_MOUNT = 2, /* id, mount point, file system type, source (strings) */
    WT_META_RANK = 3,  /* rank + 1 (0: no MPI), ranks, place (enum wt_rank_source), MPI library (string) */
    WT_META_COMMAND = 4, /* argc, argv (strings) */
    WT_META_VIEW = 5,    /* id, displacement, etype size, extent, n_runs, n_runs x (offset - end of the run
                            before, svarint; length) */
    WT_META_COMM =
        6, /* id, n_runs, n_runs x (first rank - end of the run before, svarint; number of ranks) */
    WT_META_INFO = 7,   /* file id, key, value (strings): an MPI hint; see WT_META_HINTS */
    WT_META_END = 8,    /* reason (enum wt_end), operations seen, operations missed, end ns */
    WT_META_NOTE = 9,   /* enum wt_note, detail (string) */
    WT_META_MOVED = 10, /* number of an operation within the process, bytes: said by the MPI_Status that came
                           later, when they are not those asked for */
    WT_META_CLOCK = 11, /* clock, reference clock, enum wt_clock_role, ns since this part's start, clock of
                           the reference at that moment - CLOCK_MONOTONIC here (ns, signed), round trip ns */
    WT_META_STRIPING = 12, /* file id, the bytes of its extended attribute lustre.lov (string) */
    WT_META_HINTS = 13,    /* set id, n, n x (key, value) (strings): hints of an MPI_Info; rows name sets, see
                              WT_ARGUMENTS */
    WT_META_FILE_HINTS = 14, /* file id, enum wt_hints, set id */
    WT_META_IDENTITY = 15,   /* file id, id of a file whose name it has (itself, or described before),
                                size_before + 1, device, inode, birth time (ns since 1970; 0: not known),
                                2 x generation + whether this open made the file. The generation counts files
                                of equal inode and birth that the process saw made */
    WT_META_SYMLINK = 16,    /* file id, path (string): the file's name is a symbolic link that leads there */
    WT_META_DIRECTORY = 17,  /* file id: it is a directory */
};

enum wt_rank_source { WT_RANK_NONE = 0, WT_RANK_ENVIRONMENT = 1, WT_RANK_MPI = 2 };
enum wt_hints { WT_HINTS_AT_OPEN = 1, WT_HINTS_WITH_VIEW = 2, WT_HINTS_SET = 3, WT_HINTS_IN_FORCE = 4 };
enum wt_clock_role { WT_CLOCK_REFERENCE = 1, WT_CLOCK_COMPARED = 2, WT_CLOCK_SHARED = 3 };
enum wt_end { WT_END_EXIT = 1, WT_END_EXEC = 2, WT_END_STOPPED = 3 };
enum wt_note {
    WT_NOTE_IO_URING = 1, /* the program used io_uring: not seen */
    WT_NOTE_MISSED = 2,   /* operations inside a signal handler that met the tracer at work */
    WT_NOTE_MAPPED = 3,   /* a file was written or read through memory: only the mapping is seen */
    WT_NOTE_OFFSETS = 4,  /* offsets of a shared file position may be off */
    WT_NOTE_STDIO = 5,    /* this C library's streams could not be hooked: stdio not seen */
    WT_NOTE_STOPPED = 6,  /* the tracer stopped, not the program; detail: why. In the tail */
    WT_NOTE_RAW = 7,      /* detail: a system call of I/O that was made by syscall(2): not seen */
    WT_NOTE_UNSEEN = 8,   /* detail: a program that this process started and that cannot be traced: static */
    WT_NOTE_UNLOADED = 9, /* detail: a program that was started without LD_PRELOAD in its environment */
    WT_NOTE_RIGHTS = 10,  /* detail: a program that was started and that gets other rights (setuid, setgid) */
    WT_NOTE_BYPASSED = 11,    /* detail: a library whose calls do not come by (RTLD_DEEPBIND, dlmopen) */
    WT_NOTE_OTHER_CLASS = 12, /* detail: a program of another word size that was started: not seen */
    WT_NOTE_GO = 13,          /* detail: a Go program that was started: seen only in what it does through C */
    WT_NOTE_OVERWRITTEN = 14, /* detail: mmap or mmap64, over which another library wrote: not seen since */
    WT_NOTE_LIBAIO = 15,      /* detail: a libaio whose functions a program asks dlsym for: not seen */
};
/* How the memory of one item of an MPI-IO call's data type lies. */
enum wt_memory {
    WT_MEMORY_UNKNOWN = 0,
    WT_MEMORY_PLAIN = 1, /* a predefined type without gaps: MPI_BYTE, MPI_DOUBLE */
    WT_MEMORY_WHOLE = 2, /* another type whose bytes fill its extent */
    WT_MEMORY_GAPS = 3,  /* size, extent and true extent differ, or it does not begin where it is said to */
};
/* This and more: memory with gaps, which the number less this tells: an item lies as a tile of that
 * WT_META_VIEW. */
#define WT_MEMORY_VIEW 4

enum wt_column {
    WT_COL_KEY = 0, /* index into the group's keys */
    WT_COL_COUNT,   /* count - 1 */
    WT_COL_SIZE,    /* bytes requested */
    WT_COL_SHORT,   /* count * size - moved */
    WT_COL_OFFSET,  /* offset - end of the key's last row in this group (0 at first); or the offset itself */
    WT_COL_DISP,    /* count > 1: disp - size, else 0 */
    WT_COL_VIEW_OFFSET,  /* view_offset - end of the key's last row in the view; 0 without a view */
    WT_COL_VIEW_DISP,    /* count > 1: view_disp - size, else 0; 0 without a view */
    WT_COL_TICK,         /* tick - last tick of the row before */
    WT_COL_TICK_STEP,    /* count > 1, else 0 */
    WT_COL_SUBTICK,      /* subtick - what follows from the row before */
    WT_COL_SUBTICK_STEP, /* count > 1: subtick_step - (tick_step == 0), else 0 */
    WT_COL_ARG,          /* see WT_ARGUMENTS */
    WT_COL_ERROR,        /* errno */
    WT_COL_GAP,          /* |start - end of the row before|, coded, times 2; plus 1 if it started earlier */
    WT_COL_ELAPSED,      /* end - start, coded */
    WT_COL_BUSY,         /* count > 1: busy, coded; else 0 */
    WT_N_COLUMNS
};

/* What has not been written to the part yet, in a file of its own (part-....tail) that is mapped into the
 * process: the kernel keeps it when the process is killed. It goes when the process ends in order. A reader
 * takes the part's blocks up to part_length, then meta, rows_coded, rows with their loops, and the open row.
 *
 * Why a mapped file, and no timer that flushes: a batch system kills, a program calls _exit. A timer would
 * need a thread or a signal in the application, and lose what came since the last flush. Stores into a shared
 * mapping are the kernel's at once. A crash of the node loses what was not written back.
 *
 * Why rows as the tracer works on them, and not coded: coding takes a whole group, and a kill leaves no time.
 * Times stay in units of the clock, with two anchors.
 *
 * Why two halves: folding rewrites rows that are there already. It reads one half and writes the other, and
 * one store makes that one valid, with the number of its rows. A kill at any moment leaves one that is whole.
 *
 * Why the file's space is had before it is mapped: on a full disk a store into the mapping would end the
 * application. */
#define WT_TAIL_MAGIC "WTTAIL\n"
/* A tail of one page, in its place on a full disk: header and records only, part_length UINT64_MAX while the
 * part is whole. Where not even that could be had, a part that is not whole ends with this name. */
#define WT_STOPPED ".stopped.wt"
#define WT_NEST 3 /* loops around a row, at most */
#define WT_TIMES_BUCKETS 32
#define WT_PAUSE_NS 1000000000u /* a pause this long ends rows; in a loop it is in every repetition */
#define WT_PAUSE_SEEN_NS                                                                                     \
    100000000u             /* so does one this long that is more than a WT_PAUSE_SHARE-th of the time */
#define WT_PAUSE_SHARE 256 /* since the process's first operation; readers need not see it */
#define WT_ROWS_BYTES (64u << 10) /* coded rows are written when they have grown past this */
#define WT_BLOCK_BYTES (8u << 10) /* a block of rows ends with the group that takes it to this size */
#define WT_META_BYTES (64u << 10)
#define WT_META_LARGEST (900u << 10) /* one record, at most: a view of 65536 runs */
/* At most: 17 columns and keys, the loops of every row, and its times. */
#define WT_GROUP_MAX_BYTES                                                                                   \
    (WT_GROUP_ROWS * (8u * 17u + 24u + WT_NEST * 96u + WT_TIMES_BUCKETS * 5u + 12u) + 1024u)

struct wt_row { /* a fold; FoldTable in schema.py */
    uint64_t count;
    int64_t size, moved, offset, disp, view_offset, view_disp, arg;
    uint64_t tick, subtick, tick_last, subtick_last, tick_step, subtick_step;
    uint64_t start, end, busy; /* clock units */
    uint32_t op;
    int32_t file, handle, view, error;
    uint16_t depth;  /* loops around it; those of its wt_nest are valid */
    uint16_t paused; /* a pause that ends rows lies before it */
};

struct wt_around {                                   /* a loop, as one of its rows has it */
    uint64_t n;                                      /* repetitions, 3 or more */
    uint32_t rows, at;                               /* rows of its body, and this one's place among them */
    int64_t offset, view_offset, arg, tick, subtick; /* from one repetition to the next */
    int64_t start, end; /* of the last repetition minus the first one's, clock units */
    int32_t handle, file;
};

struct wt_nest {                      /* of a row */
    struct wt_around around[WT_NEST]; /* the innermost loop first */
    uint32_t times[WT_TIMES_BUCKETS]; /* operations by their time; of rows of more than one operation */
};

struct wt_tail {
    char magic[8];
    uint32_t version;
    uint32_t rows_at, coded_at, meta_at; /* offsetof rows, rows_coded, meta */
    uint64_t part_length;                /* bytes */
    uint64_t seq_of_first;               /* of rows[0] */
    uint64_t older_units, older_ns, newer_units,
        newer_ns;                     /* clock units and ns since tracer start: two anchors */
    uint64_t missed;                  /* operations after the tracer could write no more */
    uint32_t n_rows, half;            /* the rows are rows[half][0..n_rows); both change at once */
    uint32_t has_open, n_coded_bytes; /* rows[half][n_rows] is the open row */
    uint32_t n_meta_bytes, nests_at;  /* offsetof nests */
    struct wt_row rows[2][WT_GROUP_ROWS + 1];
    struct wt_nest nests[2][WT_GROUP_ROWS + 1];
    uint8_t rows_coded[WT_ROWS_BYTES + WT_GROUP_MAX_BYTES];
    uint8_t meta[WT_META_BYTES + WT_META_LARGEST];
};

/* X(code, NAME, "name", level, kind, collective). Levels: 1 POSIX, 2 MPI-IO, 3 MPI. A code is never reused.
 */
#define WT_OPS(X)                                                                                            \
    X(1, OPEN, "open", 1, OPEN, 0)                                                                           \
    X(2, CLOSE, "close", 1, CLOSE, 0)                                                                        \
    X(3, READ, "read", 1, READ, 0)                                                                           \
    X(4, WRITE, "write", 1, WRITE, 0)                                                                        \
    X(5, PREAD, "pread", 1, READ, 0)                                                                         \
    X(6, PWRITE, "pwrite", 1, WRITE, 0)                                                                      \
    X(7, READV, "readv", 1, READ, 0)                                                                         \
    X(8, WRITEV, "writev", 1, WRITE, 0)                                                                      \
    X(9, PREADV, "preadv", 1, READ, 0)                                                                       \
    X(10, PWRITEV, "pwritev", 1, WRITE, 0)                                                                   \
    X(11, LSEEK, "lseek", 1, SEEK, 0)                                                                        \
    X(12, FSYNC, "fsync", 1, SYNC, 0)                                                                        \
    X(13, FDATASYNC, "fdatasync", 1, SYNC, 0)                                                                \
    X(14, SYNC_FILE_RANGE, "sync_file_range", 1, SYNC, 0)                                                    \
    X(15, TRUNCATE, "truncate", 1, RESIZE, 0)                                                                \
    X(16, FTRUNCATE, "ftruncate", 1, RESIZE, 0)                                                              \
    X(17, FALLOCATE, "fallocate", 1, RESIZE, 0)                                                              \
    X(18, DUP, "dup", 1, OTHER, 0)                                                                           \
    X(19, STAT, "stat", 1, STAT, 0)                                                                          \
    X(20, FSTAT, "fstat", 1, STAT, 0)                                                                        \
    X(21, ACCESS, "access", 1, STAT, 0)                                                                      \
    X(22, UNLINK, "unlink", 1, NAMESPACE, 0)                                                                 \
    X(23, RENAME, "rename", 1, NAMESPACE, 0)                                                                 \
    X(24, MKDIR, "mkdir", 1, NAMESPACE, 0)                                                                   \
    X(25, RMDIR, "rmdir", 1, NAMESPACE, 0)                                                                   \
    X(26, LINK, "link", 1, NAMESPACE, 0)                                                                     \
    X(27, MMAP, "mmap", 1, MAP, 0)                                                                           \
    X(28, MUNMAP, "munmap", 1, MAP, 0)                                                                       \
    X(29, MSYNC, "msync", 1, SYNC, 0)                                                                        \
    X(30, SENDFILE_READ, "sendfile", 1, READ, 0)                                                             \
    X(31, SENDFILE_WRITE, "sendfile_to", 1, WRITE, 0)                                                        \
    X(32, COPY_READ, "copy_file_range", 1, READ, 0)                                                          \
    X(33, COPY_WRITE, "copy_file_range_to", 1, WRITE, 0)                                                     \
    X(34, AIO_READ, "aio_read", 1, READ, 0)                                                                  \
    X(35, AIO_WRITE, "aio_write", 1, WRITE, 0)                                                               \
    X(36, AIO_FSYNC, "aio_fsync", 1, SYNC, 0)                                                                \
    X(37, SYMLINK, "symlink", 1, NAMESPACE, 0)                                                               \
    X(38, READDIR, "readdir", 1, STAT, 0)                                                                    \
    X(39, CHMOD, "chmod", 1, NAMESPACE, 0)                                                                   \
    X(40, FCHMOD, "fchmod", 1, NAMESPACE, 0)                                                                 \
    X(41, CHOWN, "chown", 1, NAMESPACE, 0)                                                                   \
    X(42, FCHOWN, "fchown", 1, NAMESPACE, 0)                                                                 \
    X(43, UTIME, "utime", 1, NAMESPACE, 0)                                                                   \
    X(44, FUTIME, "futime", 1, NAMESPACE, 0)                                                                 \
    X(45, READLINK, "readlink", 1, STAT, 0)                                                                  \
    X(46, MKNOD, "mknod", 1, NAMESPACE, 0)                                                                   \
    X(47, FCNTL, "fcntl", 1, OTHER, 0) /* F_SETFL alone: other flags of what is open */                      \
    X(60, FILE_OPEN, "MPI_File_open", 2, OPEN, 1)                                                            \
    X(61, FILE_CLOSE, "MPI_File_close", 2, CLOSE, 1)                                                         \
    X(62, FILE_READ, "MPI_File_read", 2, READ, 0)                                                            \
    X(63, FILE_WRITE, "MPI_File_write", 2, WRITE, 0)                                                         \
    X(64, FILE_READ_ALL, "MPI_File_read_all", 2, READ, 1)                                                    \
    X(65, FILE_WRITE_ALL, "MPI_File_write_all", 2, WRITE, 1)                                                 \
    X(66, FILE_READ_AT, "MPI_File_read_at", 2, READ, 0)                                                      \
    X(67, FILE_WRITE_AT, "MPI_File_write_at", 2, WRITE, 0)                                                   \
    X(68, FILE_READ_AT_ALL, "MPI_File_read_at_all", 2, READ, 1)                                              \
    X(69, FILE_WRITE_AT_ALL, "MPI_File_write_at_all", 2, WRITE, 1)                                           \
    X(70, FILE_READ_SHARED, "MPI_File_read_shared", 2, READ, 0)                                              \
    X(71, FILE_WRITE_SHARED, "MPI_File_write_shared", 2, WRITE, 0)                                           \
    X(72, FILE_READ_ORDERED, "MPI_File_read_ordered", 2, READ, 1)                                            \
    X(73, FILE_WRITE_ORDERED, "MPI_File_write_ordered", 2, WRITE, 1)                                         \
    X(74, FILE_IREAD, "MPI_File_iread", 2, READ, 0)                                                          \
    X(75, FILE_IWRITE, "MPI_File_iwrite", 2, WRITE, 0)                                                       \
    X(76, FILE_IREAD_AT, "MPI_File_iread_at", 2, READ, 0)                                                    \
    X(77, FILE_IWRITE_AT, "MPI_File_iwrite_at", 2, WRITE, 0)                                                 \
    X(78, FILE_IREAD_ALL, "MPI_File_iread_all", 2, READ, 1)                                                  \
    X(79, FILE_IWRITE_ALL, "MPI_File_iwrite_all", 2, WRITE, 1)                                               \
    X(80, FILE_IREAD_AT_ALL, "MPI_File_iread_at_all", 2, READ, 1)                                            \
    X(81, FILE_IWRITE_AT_ALL, "MPI_File_iwrite_at_all", 2, WRITE, 1)                                         \
    X(82, FILE_IREAD_SHARED, "MPI_File_iread_shared", 2, READ, 0)                                            \
    X(83, FILE_IWRITE_SHARED, "MPI_File_iwrite_shared", 2, WRITE, 0)                                         \
    X(84, FILE_READ_ALL_BEGIN, "MPI_File_read_all_begin", 2, READ, 1)                                        \
    X(85, FILE_WRITE_ALL_BEGIN, "MPI_File_write_all_begin", 2, WRITE, 1)                                     \
    X(86, FILE_READ_AT_ALL_BEGIN, "MPI_File_read_at_all_begin", 2, READ, 1)                                  \
    X(87, FILE_WRITE_AT_ALL_BEGIN, "MPI_File_write_at_all_begin", 2, WRITE, 1)                               \
    X(88, FILE_READ_ORDERED_BEGIN, "MPI_File_read_ordered_begin", 2, READ, 1)                                \
    X(89, FILE_WRITE_ORDERED_BEGIN, "MPI_File_write_ordered_begin", 2, WRITE, 1)                             \
    X(90, FILE_SPLIT_END, "MPI_File_end", 2, OTHER, 1)                                                       \
    X(91, FILE_SEEK, "MPI_File_seek", 2, SEEK, 0)                                                            \
    X(92, FILE_SEEK_SHARED, "MPI_File_seek_shared", 2, SEEK, 1)                                              \
    X(93, FILE_SET_VIEW, "MPI_File_set_view", 2, VIEW, 1)                                                    \
    X(94, FILE_SET_SIZE, "MPI_File_set_size", 2, RESIZE, 1)                                                  \
    X(95, FILE_PREALLOCATE, "MPI_File_preallocate", 2, RESIZE, 1)                                            \
    X(96, FILE_SYNC, "MPI_File_sync", 2, SYNC, 1)                                                            \
    X(97, FILE_DELETE, "MPI_File_delete", 2, NAMESPACE, 0)                                                   \
    X(98, FILE_SET_ATOMICITY, "MPI_File_set_atomicity", 2, OTHER, 1)                                         \
    X(99, FILE_SET_INFO, "MPI_File_set_info", 2, OTHER, 1)                                                   \
    X(100, FILE_WAIT, "MPI_Wait", 2, OTHER, 0)                                                               \
    X(101, FILE_TEST, "MPI_Test", 2, OTHER, 0)                                                               \
    X(200, BARRIER, "MPI_Barrier", 3, SYNC_RANKS, 1)                                                         \
    X(201, ALLREDUCE, "MPI_Allreduce", 3, SYNC_RANKS, 1)                                                     \
    X(202, ALLGATHER, "MPI_Allgather", 3, SYNC_RANKS, 1)                                                     \
    X(203, ALLGATHERV, "MPI_Allgatherv", 3, SYNC_RANKS, 1)                                                   \
    X(204, ALLTOALL, "MPI_Alltoall", 3, SYNC_RANKS, 1)                                                       \
    X(205, ALLTOALLV, "MPI_Alltoallv", 3, SYNC_RANKS, 1)                                                     \
    X(206, ALLTOALLW, "MPI_Alltoallw", 3, SYNC_RANKS, 1)                                                     \
    X(207, REDUCE_SCATTER, "MPI_Reduce_scatter", 3, SYNC_RANKS, 1)                                           \
    X(208, REDUCE_SCATTER_BLOCK, "MPI_Reduce_scatter_block", 3, SYNC_RANKS, 1)                               \
    X(209, BCAST, "MPI_Bcast", 3, SYNC_RANKS, 1)                                                             \
    X(210, REDUCE, "MPI_Reduce", 3, SYNC_RANKS, 1)                                                           \
    X(211, GATHER, "MPI_Gather", 3, SYNC_RANKS, 1)                                                           \
    X(212, GATHERV, "MPI_Gatherv", 3, SYNC_RANKS, 1)                                                         \
    X(213, SCATTER, "MPI_Scatter", 3, SYNC_RANKS, 1)                                                         \
    X(214, SCATTERV, "MPI_Scatterv", 3, SYNC_RANKS, 1)                                                       \
    X(215, SCAN, "MPI_Scan", 3, SYNC_RANKS, 1)                                                               \
    X(216, EXSCAN, "MPI_Exscan", 3, SYNC_RANKS, 1)                                                           \
    X(217, COMM_DUP, "MPI_Comm_dup", 3, SYNC_RANKS, 1)                                                       \
    X(218, COMM_SPLIT, "MPI_Comm_split", 3, SYNC_RANKS, 1)                                                   \
    X(219, COMM_CREATE, "MPI_Comm_create", 3, SYNC_RANKS, 1)                                                 \
    X(220, INIT, "MPI_Init", 3, SYNC_RANKS, 1)                                                               \
    X(221, FINALIZE, "MPI_Finalize", 3, SYNC_RANKS, 1)                                                       \
    X(110, IBARRIER, "MPI_Ibarrier", 3, SYNC_RANKS, 1)                                                       \
    X(111, IALLREDUCE, "MPI_Iallreduce", 3, SYNC_RANKS, 1)                                                   \
    X(112, IALLGATHER, "MPI_Iallgather", 3, SYNC_RANKS, 1)                                                   \
    X(113, IALLGATHERV, "MPI_Iallgatherv", 3, SYNC_RANKS, 1)                                                 \
    X(114, IALLTOALL, "MPI_Ialltoall", 3, SYNC_RANKS, 1)                                                     \
    X(115, IALLTOALLV, "MPI_Ialltoallv", 3, SYNC_RANKS, 1)                                                   \
    X(116, IALLTOALLW, "MPI_Ialltoallw", 3, SYNC_RANKS, 1)                                                   \
    X(117, IREDUCE_SCATTER, "MPI_Ireduce_scatter", 3, SYNC_RANKS, 1)                                         \
    X(118, IREDUCE_SCATTER_BLOCK, "MPI_Ireduce_scatter_block", 3, SYNC_RANKS, 1)                             \
    X(119, IBCAST, "MPI_Ibcast", 3, SYNC_RANKS, 1)                                                           \
    X(120, IREDUCE, "MPI_Ireduce", 3, SYNC_RANKS, 1)                                                         \
    X(121, IGATHER, "MPI_Igather", 3, SYNC_RANKS, 1)                                                         \
    X(122, IGATHERV, "MPI_Igatherv", 3, SYNC_RANKS, 1)                                                       \
    X(123, ISCATTER, "MPI_Iscatter", 3, SYNC_RANKS, 1)                                                       \
    X(124, ISCATTERV, "MPI_Iscatterv", 3, SYNC_RANKS, 1)                                                     \
    X(125, ISCAN, "MPI_Iscan", 3, SYNC_RANKS, 1)                                                             \
    X(126, IEXSCAN, "MPI_Iexscan", 3, SYNC_RANKS, 1)                                                         \
    X(127, NEIGHBOR_ALLGATHER, "MPI_Neighbor_allgather", 3, SYNC_RANKS, 1)                                   \
    X(128, NEIGHBOR_ALLGATHERV, "MPI_Neighbor_allgatherv", 3, SYNC_RANKS, 1)                                 \
    X(129, NEIGHBOR_ALLTOALL, "MPI_Neighbor_alltoall", 3, SYNC_RANKS, 1)                                     \
    X(130, NEIGHBOR_ALLTOALLV, "MPI_Neighbor_alltoallv", 3, SYNC_RANKS, 1)                                   \
    X(131, NEIGHBOR_ALLTOALLW, "MPI_Neighbor_alltoallw", 3, SYNC_RANKS, 1)                                   \
    X(132, INEIGHBOR_ALLGATHER, "MPI_Ineighbor_allgather", 3, SYNC_RANKS, 1)                                 \
    X(133, INEIGHBOR_ALLGATHERV, "MPI_Ineighbor_allgatherv", 3, SYNC_RANKS, 1)                               \
    X(134, INEIGHBOR_ALLTOALL, "MPI_Ineighbor_alltoall", 3, SYNC_RANKS, 1)                                   \
    X(135, INEIGHBOR_ALLTOALLV, "MPI_Ineighbor_alltoallv", 3, SYNC_RANKS, 1)                                 \
    X(136, INEIGHBOR_ALLTOALLW, "MPI_Ineighbor_alltoallw", 3, SYNC_RANKS, 1)                                 \
    X(137, COMM_DUP_WITH_INFO, "MPI_Comm_dup_with_info", 3, SYNC_RANKS, 1)                                   \
    X(138, COMM_IDUP, "MPI_Comm_idup", 3, SYNC_RANKS, 1)                                                     \
    X(139, COMM_SPLIT_TYPE, "MPI_Comm_split_type", 3, SYNC_RANKS, 1)                                         \
    X(140, COMM_CREATE_GROUP, "MPI_Comm_create_group", 3, SYNC_RANKS, 1)                                     \
    X(141, CART_CREATE, "MPI_Cart_create", 3, SYNC_RANKS, 1)                                                 \
    X(142, CART_SUB, "MPI_Cart_sub", 3, SYNC_RANKS, 1)                                                       \
    X(143, GRAPH_CREATE, "MPI_Graph_create", 3, SYNC_RANKS, 1)                                               \
    X(144, DIST_GRAPH_CREATE, "MPI_Dist_graph_create", 3, SYNC_RANKS, 1)                                     \
    X(145, DIST_GRAPH_CREATE_ADJACENT, "MPI_Dist_graph_create_adjacent", 3, SYNC_RANKS, 1)                   \
    X(146, INTERCOMM_MERGE, "MPI_Intercomm_merge", 3, SYNC_RANKS, 1)                                         \
    X(147, WIN_CREATE, "MPI_Win_create", 3, SYNC_RANKS, 1)                                                   \
    X(148, WIN_ALLOCATE, "MPI_Win_allocate", 3, SYNC_RANKS, 1)                                               \
    X(149, WIN_ALLOCATE_SHARED, "MPI_Win_allocate_shared", 3, SYNC_RANKS, 1)                                 \
    X(150, WIN_CREATE_DYNAMIC, "MPI_Win_create_dynamic", 3, SYNC_RANKS, 1)                                   \
    X(151, WIN_FENCE, "MPI_Win_fence", 3, SYNC_RANKS, 1)                                                     \
    X(152, WIN_FREE, "MPI_Win_free", 3, SYNC_RANKS, 1)                                                       \
    X(153, INTERCOMM_CREATE, "MPI_Intercomm_create", 3, SYNC_RANKS, 1)

/* What the arg of a row says, by operation. Of collectives (kind SYNC_RANKS) it is the communicator's number,
 * or -1 where that is not known; of MPI-IO calls that move data (READ, WRITE) it is enum wt_memory, or more;
 * of all others that are not here it is 0. MPI_File_open was given more than one thing: its size and moved
 * are the communicator's number + 1 (0: not known), its offset is the number of its hints (-1: not known). It
 * has no bytes and no place. X(NAME, what). */
#define WT_ARGUMENTS(X)                                                                                      \
    X(OPEN, FLAGS)         /* O_* of <fcntl.h> */                                                            \
    X(FCNTL, FLAGS)        /* those that F_SETFL can change */                                               \
    X(FILE_OPEN, MPI_MODE) /* MPI_MODE_* of <mpi.h> */                                                       \
    X(LSEEK, ORIGIN)       /* SEEK_SET, SEEK_CUR, SEEK_END of <unistd.h>, of MPI's calls too */              \
    X(FILE_SEEK, ORIGIN)                                                                                     \
    X(FILE_SEEK_SHARED, ORIGIN)                                                                              \
    X(TRUNCATE, NEW_SIZE) /* of the file, bytes */                                                           \
    X(FTRUNCATE, NEW_SIZE)                                                                                   \
    X(FALLOCATE, NEW_SIZE) /* the range's end */                                                             \
    X(FILE_SET_SIZE, NEW_SIZE)                                                                               \
    X(FILE_PREALLOCATE, NEW_SIZE)                                                                            \
    X(SYNC_FILE_RANGE, LENGTH) /* of the range, bytes */                                                     \
    X(MMAP, LENGTH)                                                                                          \
    X(MUNMAP, LENGTH)                                                                                        \
    X(MSYNC, LENGTH)                                                                                         \
    X(ACCESS, MODE) /* that was asked about */                                                               \
    X(MKDIR, MODE)                                                                                           \
    X(MKNOD, MODE)                                                                                           \
    X(CHMOD, MODE)                                                                                           \
    X(FCHMOD, MODE)                                                                                          \
    X(RENAME, NEW_NAME) /* 0: the row of the old name, 1: of the new one */                                  \
    X(LINK, NEW_NAME)                                                                                        \
    X(SYMLINK, NEW_NAME)                                                                                     \
    X(UTIME, TIMES_GIVEN) /* 0: the time is now */                                                           \
    X(FUTIME, TIMES_GIVEN)                                                                                   \
    X(READDIR, AT_END)      /* 1: no entry was left */                                                       \
    X(FILE_SET_VIEW, HINTS) /* their number + 1; 0: not known */                                             \
    X(FILE_SET_INFO, HINTS)                                                                                  \
    X(FILE_SET_ATOMICITY, ATOMIC) /* 0 or 1 */

enum wt_given_what { /* 0: nothing, or what is said above of collectives and of calls that move data */
                     WT_GIVEN_FLAGS = 1,
                     WT_GIVEN_MPI_MODE,
                     WT_GIVEN_ORIGIN,
                     WT_GIVEN_NEW_SIZE,
                     WT_GIVEN_LENGTH,
                     WT_GIVEN_MODE,
                     WT_GIVEN_NEW_NAME,
                     WT_GIVEN_TIMES_GIVEN,
                     WT_GIVEN_AT_END,
                     WT_GIVEN_HINTS,
                     WT_GIVEN_ATOMIC,
                     WT_GIVEN_REMOVAL,
};

#define WT_OP_ENUM(code, NAME, name, level, kind, collective) WT_OP_##NAME = code,
enum wt_op { WT_OPS(WT_OP_ENUM) };

#endif
